// Actor: a process with an engine, whose caches its environment names.
//   engine_actor compile ARCH LAYER...   -> per layer "compiler|disk|memory KEY open|closed" (NVRTC, afterwards)
//   engine_actor ask-first ARCH LAYER... -> the same, after it has asked what a lookup wants
//   engine_actor wanted ARCH LAYER       -> "PRODUCER|unknown open|closed"
#include "convt_jit/convt_jit.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>

using namespace convt_jit;

namespace {

const char* nvrtc_state() {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        if (line.find("nvrtc") != std::string::npos) return "open";
    return "closed";
}

}  // namespace

int main(int count, char** arguments) try {
    const std::vector<std::string> words(arguments + 1, arguments + count);
    if (words.size() < 3) return 2;
    set_log_level(LogLevel::warning);
    if (words[0] == "wanted") {
        std::string producer = Engine::wanted(parse_layer(words[2]), words[1]).fields.producer;
        std::replace(producer.begin(), producer.end(), ' ', '-');
        std::printf("%s %s\n", producer.empty() ? "unknown" : producer.c_str(), nvrtc_state());
        return 0;
    }
    if (words[0] == "ask-first") static_cast<void>(Engine::wanted(parse_layer(words[2]), words[1]));
    Engine engine;
    for (std::size_t i = 2; i < words.size(); ++i) {
        const KernelInfo info = engine.compile(parse_layer(words[i]), words[1]);
        std::printf("%s %s %s\n", to_string(info.origin), info.key.c_str(), nvrtc_state());
        std::fflush(stdout);
    }
    return 0;
} catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
