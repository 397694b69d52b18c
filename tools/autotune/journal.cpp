#include "autotune/journal.h"

#include "subject/json_text.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

namespace convt_jit::tools {

Journal::Journal(std::string path, std::string setting) : path_(std::move(path)), setting_(std::move(setting)) {
    if (path_.empty()) return;
    bool torn = false;
    {
        std::ifstream file(path_);
        for (std::string line; std::getline(file, line);) {
            torn = file.eof();
            try {
                const auto parsed = nlohmann::json::parse(line);
                if (parsed.at("setting") != setting_) continue;
                known_[parsed.at("request").get<std::string>()] = parse_measurement(parsed.at("measurement"));
            } catch (const std::exception&) {
                continue;
            }
        }
    }
    file_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (file_ < 0) throw std::system_error(errno, std::generic_category(), path_);
    if (torn) (void)!::write(file_, "\n", 1);
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
    const std::string line =
        json_text(nlohmann::json{{"setting", setting_}, {"request", key}, {"measurement", to_json(measurement)}}, -1) +
        "\n";
    // One write: lines of two tuners on one journal do not mix.
    (void)!::write(file_, line.data(), line.size());
    known_[key] = measurement;
}

void Journal::remove() {
    if (file_ >= 0) ::unlink(path_.c_str());
}

}  // namespace convt_jit::tools
