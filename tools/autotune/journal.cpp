#include "autotune/journal.h"

#include "subject/json_text.h"
#include "subject/message.h"
#include "subject/usage_error.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

namespace convt_jit::tools {
namespace {

// What a line begins with, since keys are sorted.
constexpr std::string_view kBeginning = R"({"measurement":{)";

enum class Line { blank, whole, torn, foreign };

Line kind_of(const std::string& line) {
    // A machine that lost its power may leave zeros.
    if (line.find_first_not_of(std::string_view(" \t\r\0", 4)) == std::string::npos) return Line::blank;
    const auto parsed = nlohmann::json::parse(line, nullptr, false);
    if (parsed.is_discarded()) return line.starts_with("{") ? Line::torn : Line::foreign;
    const auto has = [&](const char* key, auto is) { return parsed.contains(key) && (parsed[key].*is)(); };
    using Json = nlohmann::json;
    const bool whole = parsed.is_object() && has("setting", &Json::is_string) && has("request", &Json::is_string) &&
                       has("measurement", &Json::is_object);
    return whole ? Line::whole : Line::foreign;
}

bool begins_as_a_line(const std::string& line) {
    const std::size_t size = std::min(line.size(), kBeginning.size());
    return std::string_view(line).substr(0, size) == kBeginning.substr(0, size);
}

}  // namespace

bool is_journal(std::istream& lines) {
    bool begun = false;
    for (std::string line; std::getline(lines, line);) {
        const Line kind = kind_of(line);
        if (kind == Line::blank) continue;
        if (kind == Line::foreign) return false;
        // Of a first line that was cut, no more is known than how it begins.
        if (!begun && kind == Line::torn && !begins_as_a_line(line)) return false;
        begun = true;
    }
    return true;
}

void expect_journal(const std::string& path) {
    namespace fs = std::filesystem;
    constexpr const char* kAllowed = "allowed: a journal of `convt autotune`, or a file that is not there yet";
    std::error_code error;
    if (!fs::exists(path, error)) return;
    if (!fs::is_regular_file(path, error))
        throw UsageError(fmt::format("--journal: \"{}\" is no regular file; {}", path, kAllowed));
    std::ifstream file(path);
    if (!is_journal(file))
        throw UsageError(fmt::format("--journal: \"{}\" is there and is no journal; {}", path, kAllowed));
}

Journal::Journal(std::string path, std::string setting) : path_(std::move(path)), setting_(std::move(setting)) {
    if (path_.empty()) return;
    {
        std::ifstream file(path_);
        for (std::string line; std::getline(file, line);) {
            torn_ = file.eof();
            try {
                const auto parsed = nlohmann::json::parse(line);
                if (parsed.at("setting") != setting_) continue;
                const auto key = parsed.at("request").get<std::string>();
                Measurement m = parse_measurement(parsed.at("measurement"));
                if (is_sound(parse_request(key), m)) known_[key] = std::move(m);
            } catch (const std::exception&) {
                continue;
            }
        }
    }
    file_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), path_);
}

Journal::~Journal() {
    if (file_ >= 0) ::close(file_);
}

std::optional<Measurement> Journal::find(const Request& request) const {
    const auto found = known_.find(request_line(request));
    return found == known_.end() ? std::nullopt : std::optional(found->second);
}

void Journal::add(const Request& request, const Measurement& measurement) {
    if (file_ < 0) return;
    const std::string key = request_line(request);
    const nlohmann::json entry = {{"setting", setting_}, {"request", key}, {"measurement", to_json(measurement)}};
    std::string line(torn_ ? 1 : 0, '\n');
    line += json_text(entry, -1) + "\n";
    known_[key] = measurement;
    // One write: lines of two tuners on one journal do not mix.
    const ssize_t written = ::write(file_, line.data(), line.size());
    if (written > 0) torn_ = static_cast<std::size_t>(written) < line.size();
    if (written == static_cast<ssize_t>(line.size()) || told_) return;
    told_ = true;
    complain(
        shown_in_line(fmt::format("--journal: {} cannot be written to: {}; the tune goes on, what it measures is "
                                  "not kept there",
                                  path_, written < 0 ? std::strerror(errno) : "there is no more room")));
}

void Journal::remove() {
    if (file_ >= 0) ::unlink(path_.c_str());
}

}  // namespace convt_jit::tools
