// Places: where records are, as the environment says.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace convt_jit {

struct RecordPlaces {
    std::optional<std::string> user;  // a file or a directory; unset: there is no home
    std::vector<std::string> system;  // the same, read-only, asked in this order after the user's
    bool off = false;                 // no records at all, not even the shipped ones
};

// $CONVT_JIT_RECORDS ("off": none), else $XDG_DATA_HOME/convt_jit/records, else ~/.local/share/convt_jit/records.
// $CONVT_JIT_RECORDS_PATH, else convt_jit/records in each directory of $XDG_DATA_DIRS, else in /usr/local/share and
// /usr/share. Makes nothing.
[[nodiscard]] RecordPlaces record_places();

}  // namespace convt_jit
