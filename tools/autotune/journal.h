// Journal: every measurement of a tune, a line each, so that a tuner that was killed goes on where it was. A search
// asks for the same measurements again as long as it gets the same answers, so that is all that must be kept.
#pragma once

#include "autotune/request.h"

#include <iosfwd>
#include <map>
#include <optional>
#include <string>

namespace convt_jit::tools {

// Whether a file with these lines is a journal, perhaps cut by the end of its process, or is to become one. What is
// anything else is somebody's, and nobody's to append to or to remove.
[[nodiscard]] bool is_journal(std::istream& lines);

// Throws UsageError where `path` names anything but a journal, or a file that is still to be made.
void expect_journal(const std::string& path);

class Journal {
public:
    // No path: nothing is kept. `setting`: card, driver and all else that measurements depend on beside their request;
    // lines of another one are not used. Lines that cannot be read, as the last one of a process that was killed, are
    // passed over, and so are answers that are none. Throws std::system_error where the file cannot be opened.
    Journal(std::string path, std::string setting);
    ~Journal();
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;

    [[nodiscard]] std::optional<Measurement> find(const Request& request) const;
    // A disk that is full does not stop a tune; it is told once.
    void add(const Request& request, const Measurement& measurement);
    [[nodiscard]] std::size_t size() const noexcept { return known_.size(); }
    // All was written where it belongs: the journal has served.
    void remove();

private:
    std::string path_, setting_;
    int file_ = -1;
    bool torn_ = false;  // its last line has no end
    bool told_ = false;
    std::map<std::string, Measurement> known_;
};

}  // namespace convt_jit::tools
