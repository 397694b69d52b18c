#include "conformance/subject.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <thread>

namespace convt_jit::test {
namespace {

std::string_view variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? value : "";
}

}  // namespace

std::optional<Device> subject(std::string* why) {
    const std::string_view wanted = variable("CONVT_TEST_DEVICE");
    if (wanted == "simulator" || wanted == "sim") return Device::simulator();
    if (wanted.empty()) return Device::best();
    const bool numbered = wanted.substr(0, 5) == "cuda:";
    if (wanted != "cuda" && !numbered) {
        throw std::invalid_argument("CONVT_TEST_DEVICE is " + std::string(wanted) +
                                    "; allowed: cuda, cuda:N, simulator");
    }
    const int ordinal = numbered ? std::stoi(std::string(wanted.substr(5))) : 0;
    std::string reason;
    const int count = Device::cuda_count(&reason);
    if (ordinal < count) return Device::cuda(ordinal);
    if (why) *why = count == 0 ? "no CUDA device: " + reason : "only " + std::to_string(count) + " CUDA devices";
    return std::nullopt;
}

Engine& engine() {
    static Engine instance = [] {
        EngineOptions options;
        if (variable("CONVT_JIT_CACHE_DIR").empty()) options.cache_dir = "";
        return Engine(options);
    }();
    return instance;
}

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
    const std::string_view text = variable(name);
    return text.empty() ? otherwise : std::stoull(std::string(text));
}

int threads(const Device& device) {
    const std::uint64_t otherwise = device.is_cuda() ? std::max(1U, std::thread::hardware_concurrency()) : 1U;
    return static_cast<int>(number_from("CONVT_TEST_THREADS", otherwise));
}

std::string data_path(const std::string& name) {
    const std::string_view directory = variable("CONVT_TEST_DATA");
    return (directory.empty() ? std::string(CONVT_TEST_DATA) : std::string(directory)) + "/" + name;
}

}  // namespace convt_jit::test
