// Where a chain of links ends, for what a user names outside of a cache: there, links are their owner's choice.
#pragma once

#include <filesystem>
#include <functional>
#include <system_error>

namespace convt_jit {

// The name that is no link any more; nothing need be there yet. `at_link` is shown each link on the way.
[[nodiscard]] std::filesystem::path end_of_links(std::filesystem::path path, std::error_code& error,
                                                 const std::function<void(const std::filesystem::path&)>& at_link = {});

}  // namespace convt_jit
