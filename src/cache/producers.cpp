#include "cache/producers.h"

#include "cache/entry_file.h"
#include "cache/inventory.h"
#include "cache/layout.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <set>
#include <string_view>

namespace convt_jit {
namespace {

bool plain(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-' ||
           c == ' ';
}

bool is_there(const Root& root, const std::string& name) {
    struct stat status {};
    return ::fstatat(root.get(), name.c_str(), &status, 0) == 0;
}

}  // namespace

// "nvrtc 13.0.88" as it is; anything odd as %2f, and never a name with a dot in front.
std::string producer_file_name(const std::string& producer) {
    std::string name;
    for (const char c : producer)
        name += plain(c) && !(name.empty() && c == '.') ? std::string(1, c)
                                                        : fmt::format("%{:02x}", static_cast<unsigned char>(c));
    return name;
}

std::optional<std::string> producer_of_file_name(std::string_view name) {
    std::string producer;
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name[i] != '%') {
            if (!plain(name[i])) return std::nullopt;
            producer += name[i];
            continue;
        }
        unsigned value = 0;
        if (i + 3 > name.size()) return std::nullopt;
        const auto [end, error] = std::from_chars(name.data() + i + 1, name.data() + i + 3, value, 16);
        if (error != std::errc() || end != name.data() + i + 3) return std::nullopt;
        producer += static_cast<char>(value);
        i += 2;
    }
    return producer.empty() || producer_file_name(producer) != name ? std::nullopt : std::optional(producer);
}

std::vector<std::string> listed_producers(const Root& root, std::error_code* failure) {
    std::vector<std::string> producers;
    std::error_code error;
    const auto folder = root.folder(layout::kProducers, error);
    if (!error)
        error = for_each_name(folder, [&](const std::string& name) {
            if (auto producer = producer_of_file_name(name)) producers.push_back(*std::move(producer));
        });
    if (failure != nullptr && !is(error, ENOENT)) *failure = error;
    return producers;
}

std::vector<std::string> producers_of_entries(const Root& root) {
    std::set<std::string> producers;
    for (const auto& item : list_items(root))
        if (auto listed = read_header(root, item.key)) producers.insert(std::move(listed->entry.key.producer));
    producers.erase("");
    return {producers.begin(), producers.end()};
}

std::vector<std::string> known_producers(const Root& root, std::error_code* failure) {
    std::error_code error;
    auto producers = listed_producers(root, &error);
    if (failure != nullptr) *failure = error;
    return producers.empty() && !error ? producers_of_entries(root) : producers;
}

void register_producer(const Root& root, const std::string& producer) {
    const std::string name = producer_file_name(producer), list = layout::kProducers;
    if (name.empty() || is_there(root, list + "/" + name)) return;
    // A list that begins with this one alone would hide the entries of all others.
    auto names = is_there(root, list) ? std::vector<std::string>() : producers_of_entries(root);
    names.push_back(producer);
    std::error_code error;
    const auto folder = root.make_folder(layout::kProducers, error);
    if (error) return;
    for (const auto& each : names) {
        const auto made = open_at(folder.get(), producer_file_name(each).c_str(),
                                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, root.file_mode(), error);
        if (made) give_to_owner_of(folder, made);
    }
}

}  // namespace convt_jit
