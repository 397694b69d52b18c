#include "cache/settings.h"

#include "cache/directory.h"
#include "cache/disk_store.h"
#include "cache/home.h"
#include "log/log.h"
#include "log/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <utility>

namespace convt_jit {
namespace {

namespace fs = std::filesystem;

// Reads a variable that is set with `parse`; warns, once for each value, where that finds nothing in it.
template <class Value, class Parse>
void read(const char* name, Value& value, const char* allowed, Parse parse) {
    const std::string text = variable(name);
    if (text.empty()) return;
    if (const auto parsed = parse(text)) {
        value = *parsed;
        return;
    }
    // The settings are read again and again, and one typing error is worth one warning.
    log::warning_once(fmt::format("{} is \"{}\"; allowed: {}; the default is taken", name, printable(text), allowed));
}

std::optional<std::chrono::milliseconds> parse_seconds(std::string_view text) {
    double seconds = 0;
    const auto [end, error] = std::from_chars(text.begin(), text.end(), seconds);
    if (error != std::errc() || end != text.end() || !(seconds >= 0) || seconds > 1e6) return std::nullopt;
    return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

fs::path resolved(const std::string& path) {
    std::error_code error;
    auto canonical = fs::weakly_canonical(path, error);
    if (error) canonical = fs::path(path).lexically_normal();
    return canonical.has_filename() ? canonical : canonical.parent_path();  // without a slash at the end
}

}  // namespace

std::optional<std::uint64_t> parse_bytes(std::string_view text) noexcept {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.begin(), text.end(), value);
    if (error != std::errc()) return std::nullopt;
    const std::string_view unit(end, static_cast<std::size_t>(text.end() - end));
    if (unit.empty()) return value;
    constexpr std::string_view units = "KMGT";
    const auto power = units.find(static_cast<char>(unit.front() & ~0x20));
    if (unit.size() != 1 || power == std::string_view::npos) return std::nullopt;
    const auto shift = 10 * (power + 1);
    if (value > std::numeric_limits<std::uint64_t>::max() >> shift) return std::nullopt;
    return value << shift;
}

std::vector<std::string> split_path(std::string_view text) {
    std::vector<std::string> parts;
    while (!text.empty()) {
        const auto colon = std::min(text.find(':'), text.size());
        if (colon > 0) parts.emplace_back(text.substr(0, colon));
        text.remove_prefix(std::min(colon + 1, text.size()));
    }
    return parts;
}

bool is_declared_trusted(const std::string& directory, const std::vector<std::string>& trusted) {
    const auto path = resolved(directory);
    return std::any_of(trusted.begin(), trusted.end(), [&](const std::string& root) {
        const auto prefix = resolved(root);
        return std::mismatch(prefix.begin(), prefix.end(), path.begin(), path.end()).first == prefix.end();
    });
}

void check_layers(const std::vector<std::string>& layers) {
    for (const auto& layer : layers) {
        std::error_code error;
        const auto status = fs::status(layer, error);
        const bool absent = status.type() == fs::file_type::not_found;
        if (!absent && (!fs::exists(status) || fs::is_directory(status))) continue;  // others say why it is of no use
        log::warning_once(
            fmt::format("CONVT_JIT_CACHE_PATH (or cache_path) names \"{}\", which is {}; allowed: directories, "
                        "separated by colons",
                        printable(layer, std::string::npos), absent ? "not there" : "no directory"));
    }
}

CacheSettings cache_settings() {
    log::check_setting();
    CacheSettings settings;
    settings.directory = default_cache_directory();
    settings.layers = split_path(variable("CONVT_JIT_CACHE_PATH"));
    settings.trusted = split_path(variable("CONVT_JIT_CACHE_TRUSTED"));
    read("CONVT_JIT_CACHE_MAX_BYTES", settings.max_bytes, "a number of bytes, also with K, M, G or T", parse_bytes);
    read("CONVT_JIT_CACHE_WAIT", settings.wait, "a number of seconds", parse_seconds);
    read("CONVT_JIT_CACHE_PRODUCER", settings.producer, "exact, same-major, any", parse_producer_policy);
    return settings;
}

std::vector<std::string> directories(const CacheSettings& settings) {
    std::vector<std::string> all = settings.layers;
    if (settings.directory) all.insert(all.begin(), *settings.directory);
    return all;
}

std::shared_ptr<LayeredStore> open_disk_stores(const CacheSettings& settings,
                                               const std::function<bool()>& stop_waiting) {
    check_layers(settings.layers);
    std::vector<RankedStore> stores;
    const auto add = [&](const std::string& directory, Access access) {
        DiskOptions options;
        options.directory = directory;
        options.access = access;
        options.trusted = is_declared_trusted(directory, settings.trusted);
        options.max_bytes = settings.max_bytes;
        options.wait = settings.wait;
        options.stop_waiting = stop_waiting;
        stores.push_back({std::make_shared<DiskStore>(std::move(options)),
                          access == Access::read_write ? StoreRole::writable : StoreRole::read_only});
    };
    if (settings.directory) add(*settings.directory, Access::read_write);
    for (const auto& layer : settings.layers) add(layer, Access::read_only);
    return std::make_shared<LayeredStore>(std::move(stores));
}

}  // namespace convt_jit
