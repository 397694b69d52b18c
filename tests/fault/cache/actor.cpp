// Actor: a process that uses a cache. Prints what came of it; warnings go to stderr.
//   cache_actor put DIR SOURCE BYTES          -> "kept" | "refused"
//   cache_actor find DIR SOURCE               -> "hit" | "miss"
//   cache_actor make DIR SOURCE WAIT_MS MAKE_MS   -> "made" | "got"  (each "made" adds a line to DIR.made)
//   cache_actor make_all DIR FIRST COUNT      -> the same for COUNT sources, in turn from FIRST on
//   cache_actor publish DIR SEED              -> "ready", then the key of each entry that was kept, until it is killed
#include "cache/disk_store.h"
#include "cache/lookup.h"
#include "unit/cache/sample.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <thread>

using namespace convt_jit;

namespace {

int make(const std::string& directory, const std::string& source, int wait_ms, int make_ms) {
    DiskStore store({.directory = directory, .wait = std::chrono::milliseconds(wait_ms)});
    const Entry wanted = sample::entry(source, 5000);
    bool made = false;
    const auto compile = [&] {
        const int log = ::open((directory + ".made").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        const std::string line = source + "\n";
        if (::write(log, line.data(), line.size()) < 0) std::perror("log");
        ::close(log);
        std::this_thread::sleep_for(std::chrono::milliseconds(make_ms));
        made = true;
        return wanted;
    };
    auto entry = find(store, wanted.key, ProducerPolicy::exact);
    if (entry == nullptr) entry = make_once(store, digest(wanted.key), compile);
    if (entry == nullptr || *entry != wanted) return 1;
    std::puts(made ? "made" : "got");
    return 0;
}

[[noreturn]] void publish(const std::string& directory, unsigned seed) {
    std::mt19937 random(seed);
    DiskStore store(directory);
    std::puts("ready");
    std::fflush(stdout);
    for (;;) {
        const auto number = random() % 64;
        const Entry entry = sample::entry(std::to_string(number), number * 3001);
        const std::string key = digest(entry.key);
        if (number % 3 == 0) static_cast<void>(store.find(key));
        if (store.put(key, entry)) std::puts(key.c_str());
        std::fflush(stdout);
    }
}

}  // namespace

int main(int count, char** arguments) {
    const std::vector<std::string> words(arguments + 1, arguments + count);
    if (words.size() < 3) return 2;
    set_log_level(LogLevel::warning);
    set_log_sink([](LogLevel, std::string_view line) {
        std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
    });
    const std::string &directory = words[1], &source = words[2];
    if (words[0] == "put") {
        const Entry entry = sample::entry(source, std::stoul(words.at(3)));
        std::puts(DiskStore(directory).put(digest(entry.key), entry) ? "kept" : "refused");
    } else if (words[0] == "find") {
        const auto entry = DiskStore(directory).find(digest(sample::entry(source).key));
        std::puts(entry != nullptr && entry->key == sample::entry(source).key ? "hit" : "miss");
    } else if (words[0] == "make") {
        return make(directory, source, std::stoi(words.at(3)), std::stoi(words.at(4)));
    } else if (words[0] == "make_all") {
        const int first = std::stoi(source), number = std::stoi(words.at(3));
        for (int i = 0; i < number; ++i)
            if (make(directory, "kernel" + std::to_string((first + i) % number), 30'000, 2) != 0) return 1;
    } else if (words[0] == "publish") {
        publish(directory, static_cast<unsigned>(std::stoul(source)));
    }
    return 0;
}
