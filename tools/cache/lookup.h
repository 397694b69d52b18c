// Lookup: whether the directories that an engine asks hold what it wants, without an engine that asks.
#pragma once

#include "convt_jit/cache.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace convt_jit::tools {

// Why a directory does not serve what is wanted.
struct NotServed {
    std::string directory;
    std::string reason;  // "absent": there is no such directory; "unusable"; "no entry"; else as CacheUnused tells it
    std::string path;    // of what is there, within the directory
    std::string why;
};

struct Lookup {
    std::string directory;  // of the hit or of the nearest entry; empty: there is neither
    CacheExplanation explanation;
    std::vector<std::string> passed_over;  // directories that could not be asked, each with the reason
    std::vector<NotServed> reasons;        // of all that were asked before a hit, or of all
};

// "/c/ab/abcd.cubin: damaged: its checksum differs", in one line.
[[nodiscard]] std::string to_string(const NotServed& reason);
[[nodiscard]] nlohmann::json to_json(const std::vector<NotServed>& reasons);

// The first hit, else the nearest of all entries.
[[nodiscard]] Lookup look_up(const std::vector<std::string>& directories, const CacheWanted& wanted);

}  // namespace convt_jit::tools
