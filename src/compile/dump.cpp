#include "compile/dump.h"

#include "log/log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace convt_jit {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestName = 100;  // file systems limit a name to 255 bytes, some to 143

fs::path directory() {
    std::error_code trouble;
    if (const char* chosen = std::getenv("CONVT_JIT_DUMP_DIR"); chosen != nullptr && *chosen != '\0') {
        fs::create_directories(chosen, trouble);
        return chosen;
    }
    fs::path temporary = fs::temp_directory_path(trouble);
    return trouble ? fs::path("/tmp") : temporary;
}

bool write_all(int file, const std::string& text) {
    std::size_t done = 0;
    while (done < text.size()) {
        const ssize_t count = write(file, text.data() + done, text.size() - done);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        done += static_cast<std::size_t>(count);
    }
    return true;
}

}  // namespace

std::string dump(const Source& source) {
    constexpr int kSuffixLength = 3;  // ".cu"
    std::string path = (directory() / fmt::format("{}-XXXXXX.cu", source.entry.substr(0, kLongestName))).string();
    const int file = mkstemps(path.data(), kSuffixLength);  // a new file, 0600
    if (file < 0) {
        log::warning("cannot write the source to {}: {}", path, std::strerror(errno));
        return "";
    }
    const bool written = write_all(file, source.text);
    const bool closed = close(file) == 0;
    if (written && closed) return path;
    log::warning("cannot write the source to {}: {}", path, std::strerror(errno));
    unlink(path.c_str());
    return "";
}

}  // namespace convt_jit
