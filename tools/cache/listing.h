// Listing: `ls`, `show` and `stat`: what a cache holds.
#pragma once

#include "cache/place.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <vector>

namespace convt_jit::tools {

struct ShowOptions {
    std::string key;    // or what alone begins so
    std::string cubin;  // where its machine code goes; empty: nowhere
};

[[nodiscard]] int ls(const Place& place);
[[nodiscard]] int show(const Place& place, const ShowOptions& options);
[[nodiscard]] int stat(const Place& place);

[[nodiscard]] nlohmann::json to_json_object(const CacheEntry& entry);
// All that is known of it, a line each.
void print(const CacheEntry& entry);

// Folders whose entries an answer lacks.
[[nodiscard]] nlohmann::json to_json(const std::vector<CacheSkipped>& skipped);
void complain_of(const std::vector<CacheSkipped>& skipped);

}  // namespace convt_jit::tools
