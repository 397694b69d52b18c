// Benchmarks of the cache: what a hit costs in memory and on disk, in a small and in a large directory, and what
// keeping and trimming costs. $TMPDIR names the file system.
#include "cache/disk_store.h"
#include "cache/inventory.h"
#include "cache/lookup.h"
#include "cache/memory_store.h"
#include "cache/trim.h"
#include "cache/usage.h"
#include "unit/cache/sample.h"

#include <benchmark/benchmark.h>

#include <fstream>
#include <map>
#include <memory>

namespace {

using namespace convt_jit;

constexpr std::size_t kCubin = 40'000;  // bytes; a usual kernel

Entry numbered(std::int64_t number, std::size_t cubin = kCubin) {
    return sample::entry("source " + std::to_string(number), cubin);
}

// A directory with so many entries, made once. All but the first hundred are small: a lookup never opens them.
class Directory {
public:
    explicit Directory(std::int64_t entries) {
        DiskStore store(DiskOptions{.directory = path(), .max_bytes = 0});
        store.put(digest(numbered(0).key), numbered(0));
        std::uint64_t bytes = 0;
        for (std::int64_t i = 0; i < entries; ++i) {
            const Entry entry = numbered(i, i < 100 ? kCubin : 100);
            const std::string key = digest(entry.key), text = encode(entry), file = sample::entry_path(path(), key);
            std::filesystem::create_directories(std::filesystem::path(file).parent_path());
            std::filesystem::permissions(std::filesystem::path(file).parent_path(), std::filesystem::perms(0700));
            std::ofstream(file, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
            bytes += text.size();
        }
        std::error_code error;
        set_usage(*Root::open(path(), false, error), bytes);
    }
    [[nodiscard]] std::string path() const { return scratch_ / "c"; }

private:
    sample::Scratch scratch_;
};

const Directory& directory_with(std::int64_t entries) {
    static std::map<std::int64_t, std::unique_ptr<Directory>> made;
    auto& directory = made[entries];
    if (directory == nullptr) directory = std::make_unique<Directory>(entries);
    return *directory;
}

void memory_hit(benchmark::State& state) {
    MemoryStore store;
    std::vector<std::string> keys;
    for (int i = 0; i < 100; ++i) {
        keys.push_back(digest(numbered(i).key));
        store.put(keys.back(), numbered(i));
    }
    std::size_t i = 0;
    for (auto _ : state) benchmark::DoNotOptimize(store.find(keys[i++ % keys.size()]));
}

void key_digest(benchmark::State& state) {
    const Entry entry = numbered(0);
    for (auto _ : state) benchmark::DoNotOptimize(digest(entry.key));
}

void disk_hit(benchmark::State& state) {
    DiskStore store(directory_with(state.range(0)).path());
    std::vector<std::string> keys;
    for (int i = 0; i < std::min<int>(100, static_cast<int>(state.range(0))); ++i)
        keys.push_back(digest(numbered(i).key));
    for (const auto& key : keys) benchmark::DoNotOptimize(store.find(key));
    std::size_t i = 0;
    for (auto _ : state)
        if (store.find(keys[i++ % keys.size()]) == nullptr) state.SkipWithError("a miss");
}

// What the first hit of a process costs: the store is opened, the process makes itself known.
void open_and_first_hit(benchmark::State& state) {
    const std::string path = directory_with(state.range(0)).path(), key = digest(numbered(0).key);
    for (auto _ : state)
        if (DiskStore(path).find(key) == nullptr) state.SkipWithError("a miss");
}

void hit_of_unknown_producer(benchmark::State& state) {
    DiskStore store(directory_with(state.range(0)).path());
    KeyFields fields = numbered(0).key;
    fields.producer.clear();
    for (auto _ : state)
        if (find(store, fields, ProducerPolicy::exact) == nullptr) state.SkipWithError("a miss");
}

void disk_miss(benchmark::State& state) {
    DiskStore store(directory_with(state.range(0)).path());
    const std::string key = digest(std::string_view("not there"));
    for (auto _ : state) benchmark::DoNotOptimize(store.find(key));
}

void put(benchmark::State& state) {
    DiskStore store(directory_with(state.range(0)).path());
    const Entry entry = numbered(1);
    const std::string key = digest(entry.key);
    for (auto _ : state)
        if (!store.put(key, entry)) state.SkipWithError("not kept");
}

void trim_dry_run(benchmark::State& state) {
    std::error_code error;
    const auto root = Root::open(directory_with(state.range(0)).path(), false, error);
    for (auto _ : state) benchmark::DoNotOptimize(trim(*root, 0, 0, true).judged.size());
}

void trim_all(benchmark::State& state) {
    for (auto _ : state) {
        state.PauseTiming();
        auto directory = std::make_unique<Directory>(state.range(0));
        std::error_code error;
        const auto root = Root::open(directory->path(), false, error);
        state.ResumeTiming();
        benchmark::DoNotOptimize(trim(*root, 0, 0, false, std::chrono::seconds(-1)).evicted);
        state.PauseTiming();
        directory.reset();
        state.ResumeTiming();
    }
}

BENCHMARK(key_digest);
BENCHMARK(memory_hit);
BENCHMARK(disk_hit)->Arg(10)->Arg(100'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(open_and_first_hit)->Arg(10)->Arg(100'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(hit_of_unknown_producer)->Arg(10)->Arg(100'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(disk_miss)->Arg(10)->Arg(100'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(put)->Arg(10)->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK(trim_dry_run)->Arg(10)->Arg(100'000)->Unit(benchmark::kMillisecond);
BENCHMARK(trim_all)->Arg(100'000)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
