// Producers: who made the entries of a cache directory, so that a lookup needs to read none of its folders.
#pragma once

#include "cache/root.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace convt_jit {

// The producers of the entries in a cache: a name each in one small folder. Entries are found by key, and the key holds
// the producer; with this list a lookup tries one name per producer instead of reading folders. `failure` becomes why
// a list that is there cannot be read.
[[nodiscard]] std::vector<std::string> listed_producers(const Root& root, std::error_code* failure = nullptr);
// What the headers of all entries say, which takes longer.
[[nodiscard]] std::vector<std::string> producers_of_entries(const Root& root);
// The list; where it was lost, what the entries say.
[[nodiscard]] std::vector<std::string> known_producers(const Root& root, std::error_code* failure = nullptr);
// Makes the list anew where it was lost.
void register_producer(const Root& root, const std::string& producer);

// The file names of that list, each way. Nothing where it is not the name of a producer.
[[nodiscard]] std::string producer_file_name(const std::string& producer);
[[nodiscard]] std::optional<std::string> producer_of_file_name(std::string_view name);

}  // namespace convt_jit
