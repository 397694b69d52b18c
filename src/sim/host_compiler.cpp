#include "sim/host_compiler.h"

#include "convt_jit/error.h"
#include "log/log.h"
#include "sim/embedded.h"
#include "sim/work_directory.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

extern char** environ;

namespace convt_jit::sim {
namespace {

namespace fs = std::filesystem;

// Products and sums stay apart unless the kernel says fmaf, pointers may be cast as CUDA has it, and an access that is
// not aligned traps. No start files and only libm: that halves the time of the linker.
constexpr const char* kOptions[] = {"-std=c++17",
                                    "-O1",
                                    "-march=native",
                                    "-shared",
                                    "-fPIC",
                                    "-w",
                                    "-DCONVT_SIM",
                                    "-fvisibility=hidden",
                                    "-fno-exceptions",
                                    "-fno-rtti",
                                    "-fno-strict-aliasing",
                                    "-ffp-contract=off",
                                    "-fno-math-errno",
                                    "-fno-stack-protector",
                                    "-fno-asynchronous-unwind-tables",
                                    "-fsanitize=alignment",
                                    "-fsanitize-undefined-trap-on-error",
                                    "-nostartfiles",
                                    "-nodefaultlibs"};

bool in_path(const std::string& program) {
    if (program.find('/') != std::string::npos) return access(program.c_str(), X_OK) == 0;
    const char* const path = std::getenv("PATH");
    std::istringstream directories(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
    for (std::string directory; std::getline(directories, directory, ':');)
        if (access(((directory.empty() ? "." : directory) + "/" + program).c_str(), X_OK) == 0) return true;
    return false;
}

// Program and leading arguments ($CXX may be "ccache g++").
std::vector<std::string> find_compiler() {
    if (const char* chosen = std::getenv("CXX"); chosen != nullptr) {
        std::istringstream words(chosen);
        std::vector<std::string> command{std::istream_iterator<std::string>(words), {}};
        if (!command.empty()) {
            if (in_path(command.front())) return command;
            throw CompileError(fmt::format("the simulator needs a C++ compiler, and $CXX names {}, which is not there",
                                           command.front()),
                               {});
        }
    }
    for (const char* program : {"c++", "g++", "clang++"})
        if (in_path(program)) return {program};
    throw CompileError(
        "the simulator needs a C++ compiler, and there is no c++, g++ or clang++ in $PATH: install one (on Debian and "
        "Ubuntu: apt-get install g++) or name one in $CXX",
        {});
}

// Runs a command with its output in `log`. Returns its exit status, or throws where it cannot be started.
int run(std::vector<std::string> command, const fs::path& log) {
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    pid_t child = 0;
    const int error = posix_spawnp(&child, arguments.front(), &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) throw CompileError(fmt::format("cannot start {}: {}", command.front(), std::strerror(error)), {});
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
        // An application that ignores SIGCHLD takes the status away; what was built then tells.
        if (errno != EINTR) return 0;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::shared_ptr<const Library> build(const Source& source, const std::string& text) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::string> command = find_compiler();
    WorkDirectory directory;
    const fs::path input = directory.path() / "kernel.cpp";
    const fs::path output = directory.path() / "kernel.so";
    const fs::path log = directory.path() / "log.txt";
    std::ofstream file(input, std::ios::binary);
    file << text;
    file.close();
    CompileError::Details details{.arch = "host",
                                  .options = fmt::format("{}", fmt::join(kOptions, " ")),
                                  .log = {},
                                  .constants = source.constants,
                                  .source_path = {}};
    if (!file) throw CompileError(fmt::format("cannot write {} (TMPDIR names another place)", input.string()), details);

    const std::string compiler = fmt::format("{}", fmt::join(command, " "));
    command.insert(command.end(), std::begin(kOptions), std::end(kOptions));
    command.insert(command.end(), {"-o", output.string(), input.string(), "-lm"});
    const int status = run(std::move(command), log);
    if (status != 0 || !fs::exists(output)) {
        directory.keep();
        details.log = read(log);
        details.source_path = input.string();
        throw CompileError(
            fmt::format("{} cannot compile kernel {} for the host (exit status {}); the source is in {}\n{}", compiler,
                        source.entry, status, details.source_path, details.log),
            details);
    }
    void* const handle = dlopen(output.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr)
        throw CompileError(
            fmt::format("cannot load the compiled kernel: {} (a TMPDIR on a disk that allows no programs?)", dlerror()),
            details);
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    log::debug("{} compiled {} for the host in {:.0f} ms", compiler, source.entry, took.count());
    return std::make_shared<Library>(handle);
}

}  // namespace

Library::~Library() { dlclose(handle_); }

Library::Entry Library::entry(std::size_t which) const {
    return reinterpret_cast<Entry>(dlsym(handle_, fmt::format("convt_sim_entry_{}", which).c_str()));
}

::convt_sim::State& Library::state() const {
    return *reinterpret_cast<::convt_sim::State* (*)()>(dlsym(handle_, "convt_sim_state"))();
}

std::string host_source(const Source& source) {
    std::string entries;
    int which = 0;
    const auto add = [&](const std::string& kernel) {
        entries += fmt::format(
            "CONVT_SIM_EXPORT void convt_sim_entry_{}(const void* argument) {{ convt_sim_call({}, argument); }}\n",
            which++, kernel);
    };
    add(source.entry);
    for (const std::string& other : source.others) add(other);
    return fmt::format(
        "#line 1 \"sim/calls.h\"\n{}\n#line 1 \"sim/shim.h\"\n{}\n#line 1 \"kernel.cu\"\n{}\n#line 1 \"sim/entry\"\n"
        "#define CONVT_SIM_EXPORT extern \"C\" __attribute__((visibility(\"default\")))\n"
        "template <class Args> void convt_sim_call(void (*kernel)(Args), const void* argument) {{ "
        "kernel(*static_cast<const Args*>(argument)); }}\n"
        "CONVT_SIM_EXPORT convt_sim::State* convt_sim_state() {{ return &convt_sim::state; }}\n{}",
        kCallsText, kShimText, source.text, entries);
}

std::shared_ptr<const Library> compile_for_host(const Source& source) {
    static std::mutex mutex;
    static std::map<std::pair<XXH64_hash_t, XXH64_hash_t>, std::weak_ptr<const Library>> known;
    const std::string text = host_source(source);
    const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
    const std::pair key{hash.high64, hash.low64};
    {
        const std::scoped_lock lock(mutex);
        if (auto library = known[key].lock()) return library;
    }
    auto library = build(source, text);
    const std::scoped_lock lock(mutex);
    known[key] = library;
    return library;
}

}  // namespace convt_jit::sim
