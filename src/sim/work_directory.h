// WorkDirectory: where one kernel is compiled for the host.
#pragma once

#include <cstddef>
#include <filesystem>

namespace convt_jit::sim {

// A directory of our own under $TMPDIR, removed with all that is in it unless keep() was called. Its name holds this
// process's number and it is locked, so that what a killed process leaves can be told from what is in use.
class WorkDirectory {
public:
    // Throws CompileError. The first one of a process removes what others left.
    WorkDirectory();
    ~WorkDirectory();
    WorkDirectory(const WorkDirectory&) = delete;
    WorkDirectory& operator=(const WorkDirectory&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    // For a person to look at: neither this process nor any other removes it.
    void keep();

private:
    std::filesystem::path path_;
    int lock_ = -1;
    bool kept_ = false;
};

// Removes the work directories in `parent` whose processes are dead, but for those that were kept; returns how many.
std::size_t sweep_work_directories(const std::filesystem::path& parent);

}  // namespace convt_jit::sim
