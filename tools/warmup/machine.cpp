#include "warmup/machine.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace convt_jit::tools {
namespace {

namespace fs = std::filesystem;

// What stands in a file of one line; empty where there is no such file.
std::string line_of(const fs::path& file) {
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line);
    return line;
}

// "max", "-1" and what is no number are no limit.
std::optional<std::uint64_t> number(const std::string& text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// The value after `key` in a file of lines such as "MemAvailable:  123 kB" or "inactive_file 4096".
std::optional<std::uint64_t> value_of(const fs::path& file, const std::string& key) {
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) {
        std::istringstream words(line);
        std::string name, value;
        if (words >> name >> value && name == key) return number(value);
    }
    return std::nullopt;
}

// The folder of a group and of all above it. In a container the path may be the host's, of which only the last part or
// nothing is to be seen; the top is always there.
std::vector<fs::path> upwards(const fs::path& mount, const std::string& group) {
    std::vector<fs::path> folders;
    for (fs::path path = fs::path(group).relative_path(); !path.empty(); path = path.parent_path())
        folders.push_back(mount / path);
    folders.push_back(mount);
    return folders;
}

void limit_memory(Machine& machine, std::optional<std::uint64_t> limit, std::optional<std::uint64_t> used,
                  std::optional<std::uint64_t> droppable) {
    // Version 1 says "no limit" with a number near 2^63.
    if (!limit || *limit >= std::uint64_t{1} << 62 || !used) return;
    const std::uint64_t held = *used - std::min(*used, droppable.value_or(0));
    machine.free_bytes = std::min(machine.free_bytes, *limit - std::min(*limit, held));
}

void limit_processors(Machine& machine, std::optional<std::uint64_t> quota, std::optional<std::uint64_t> period) {
    if (!quota || !period || *period == 0) return;
    // Half a processor still runs one job.
    const auto whole = static_cast<int>(std::min<std::uint64_t>(*quota / *period, 1 << 20));
    machine.processors = std::min(machine.processors, std::max(whole, 1));
}

void limit_by_version_2(Machine& machine, const fs::path& folder) {
    limit_memory(machine, number(line_of(folder / "memory.max")), number(line_of(folder / "memory.current")),
                 value_of(folder / "memory.stat", "inactive_file"));
    std::istringstream cpu(line_of(folder / "cpu.max"));  // "200000 100000" or "max 100000"
    std::string quota, period;
    if (cpu >> quota >> period) limit_processors(machine, number(quota), number(period));
}

void limit_by_version_1(Machine& machine, const fs::path& folder) {
    limit_memory(machine, number(line_of(folder / "memory.limit_in_bytes")),
                 number(line_of(folder / "memory.usage_in_bytes")),
                 value_of(folder / "memory.stat", "total_inactive_file"));
    limit_processors(machine, number(line_of(folder / "cpu.cfs_quota_us")),
                     number(line_of(folder / "cpu.cfs_period_us")));
}

}  // namespace

Machine read_machine(const fs::path& root, int affinity) {
    Machine machine;
    machine.processors = std::max(affinity, 1);
    if (const auto kilobytes = value_of(root / "proc/meminfo", "MemAvailable:")) machine.free_bytes = *kilobytes << 10;
    const fs::path groups = root / "sys/fs/cgroup";
    std::ifstream own(root / "proc/self/cgroup");
    for (std::string line; std::getline(own, line);) {  // "0::/a/b" in version 2, "4:cpu,cpuacct:/a/b" in version 1
        const auto first = line.find(':'), second = line.find(':', first + 1);
        if (first == std::string::npos || second == std::string::npos) continue;
        const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
        if (controllers.empty()) {
            for (const auto& folder : upwards(groups, group)) limit_by_version_2(machine, folder);
        } else {
            for (const auto& folder : upwards(groups / controllers, group)) limit_by_version_1(machine, folder);
        }
    }
    return machine;
}

Machine this_machine() {
    cpu_set_t mask;
    const bool told = sched_getaffinity(0, sizeof mask, &mask) == 0;
    // More processors than the mask has room for: then the count of all is the best there is.
    return read_machine("/", told ? CPU_COUNT(&mask) : static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace convt_jit::tools
