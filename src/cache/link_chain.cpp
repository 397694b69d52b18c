#include "cache/link_chain.h"

#include <utility>

namespace convt_jit {

std::filesystem::path end_of_links(std::filesystem::path path, std::error_code& error,
                                   const std::function<void(const std::filesystem::path&)>& at_link) {
    constexpr int kMostLinks = 40;  // as the kernel has it
    error.clear();
    for (int links = 0; !error && std::filesystem::is_symlink(std::filesystem::symlink_status(path, error)); ++links) {
        if (at_link) at_link(path);
        if (links == kMostLinks) {
            error = std::make_error_code(std::errc::too_many_symbolic_link_levels);
        } else if (std::filesystem::path next = std::filesystem::read_symlink(path, error); !error) {
            path = path.parent_path() / std::move(next);  // an absolute one replaces the whole
        }
    }
    if (error == std::errc::no_such_file_or_directory || error == std::errc::not_a_directory) error.clear();
    return path;
}

}  // namespace convt_jit
