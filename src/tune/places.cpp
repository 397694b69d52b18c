#include "tune/places.h"

#include "cache/home.h"
#include "cache/settings.h"
#include "convt_jit/tuning.h"

#include <filesystem>

namespace convt_jit {
namespace {

constexpr const char* kFolder = "/convt_jit/records";

// Resolved now, so that a later chdir does not move it.
std::string absolute(const std::string& path) {
    std::error_code error;
    const auto resolved = std::filesystem::absolute(path, error);
    return error ? path : resolved.string();
}

std::optional<std::string> user_place(const std::string& named) {
    if (!named.empty()) return absolute(named);
    if (const std::string path = variable("XDG_DATA_HOME"); is_absolute(path)) return path + kFolder;
    if (const std::string path = home_directory(); !path.empty()) return path + "/.local/share" + kFolder;
    return std::nullopt;
}

std::vector<std::string> system_places() {
    if (const std::string path = variable("CONVT_JIT_RECORDS_PATH"); !path.empty()) return split_path(path);
    std::string directories = variable("XDG_DATA_DIRS");
    if (directories.empty()) directories = "/usr/local/share:/usr/share";
    std::vector<std::string> places;
    for (const std::string& directory : split_path(directories))
        if (is_absolute(directory)) places.push_back(directory + kFolder);
    return places;
}

}  // namespace

RecordPlaces record_places() {
    const std::string named = variable("CONVT_JIT_RECORDS");
    if (named == "off") return {std::nullopt, {}, true};
    return {user_place(named), system_places(), false};
}

std::string user_records_path() { return record_places().user.value_or(""); }

}  // namespace convt_jit
