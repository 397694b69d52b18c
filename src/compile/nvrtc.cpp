#include "compile/nvrtc.h"

#include "compile/diagnostics.h"
#include "compile/dump.h"
#include "compile/library.h"
#include "convt_jit/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <locale.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

namespace convt_jit {
namespace {

// NVRTC up to 12.6 leaves another locale in the thread that compiled, and reads numbers by the thread's locale.
class PlainLocale {
public:
    PlainLocale() : previous_(uselocale(plain())) {}
    ~PlainLocale() { uselocale(previous_); }
    PlainLocale(const PlainLocale&) = delete;
    PlainLocale& operator=(const PlainLocale&) = delete;

private:
    static locale_t plain() {
        static const locale_t locale = newlocale(LC_ALL_MASK, "C", nullptr);
        return locale;
    }
    locale_t previous_;
};

class Program {
public:
    Program(const NvrtcLibrary& library, const std::string& text, const std::string& name) : library_(library) {
        const nvrtcResult result = library_.create_program(&program_, text.c_str(), name.c_str(), 0, nullptr, nullptr);
        if (result != NVRTC_SUCCESS)
            throw CompileError(fmt::format("nvrtcCreateProgram: {}", library_.error_string(result)), {});
    }
    ~Program() { library_.destroy_program(&program_); }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;

    [[nodiscard]] nvrtcResult compile(const std::vector<std::string>& options) const {
        std::vector<const char*> list;
        for (const std::string& option : options) list.push_back(option.c_str());
        const PlainLocale locale;
        return library_.compile_program(program_, static_cast<int>(list.size()), list.data());
    }
    [[nodiscard]] std::string log() const { return terminated(library_.log_size, library_.log); }
    [[nodiscard]] std::string ptx() const { return terminated(library_.ptx_size, library_.ptx); }
    [[nodiscard]] std::string cubin() const { return read(library_.cubin_size, library_.cubin); }

private:
    template <class Size, class Get>
    [[nodiscard]] std::string read(Size size, Get get) const {
        std::size_t bytes = 0;
        if (size(program_, &bytes) != NVRTC_SUCCESS) return "";
        std::string text(bytes, '\0');
        return get(program_, text.data()) == NVRTC_SUCCESS ? text : "";
    }
    template <class Size, class Get>
    [[nodiscard]] std::string terminated(Size size, Get get) const {
        std::string text = read(size, get);
        return text.substr(0, text.find('\0'));
    }

    const NvrtcLibrary& library_;
    nvrtcProgram program_ = nullptr;
};

NvrtcVersion read_version(const NvrtcLibrary& library) {
    NvrtcVersion version;
    library.version(&version.major, &version.minor);
    if (!library.build_id.empty()) {
        version.build = fmt::format("{}.{}+{}", version.major, version.minor, library.build_id.substr(0, 12));
    } else {
        const Program empty(library, "", "empty.cu");
        if (empty.compile({}) == NVRTC_SUCCESS) version.build = banner_version(empty.ptx());
    }
    return version;
}

std::vector<Arch> read_archs(const NvrtcLibrary& library) {
    int count = 0;
    if (library.arch_count(&count) != NVRTC_SUCCESS || count <= 0) return {};
    std::vector<int> numbers(static_cast<std::size_t>(count));
    if (library.archs(numbers.data()) != NVRTC_SUCCESS) return {};
    std::sort(numbers.begin(), numbers.end());
    std::vector<Arch> archs;
    for (const int number : numbers) archs.push_back({number, 0});
    return archs;
}

}  // namespace

std::vector<std::string> compile_options(const Arch& arch) { return {"-std=c++17", "-arch=" + to_string(arch)}; }

struct Nvrtc::Impl {
    NvrtcLibrary library = open_nvrtc();
    NvrtcVersion version = read_version(library);
    std::vector<Arch> archs = read_archs(library);
    mutable std::mutex mutex;
    mutable std::map<Arch, bool> suffixed;  // what the compiler said of archs with a suffix

    // The options are checked before the source is read: an arch that is accepted gets as far as the #error.
    [[nodiscard]] bool accepts(const Arch& arch) const {
        const Program probe(library, "#error reached", "probe.cu");
        (void)probe.compile(compile_options(arch));
        return probe.log().find("reached") != std::string::npos;
    }
    [[nodiscard]] std::string name() const { return fmt::format("NVRTC {}.{}", version.major, version.minor); }
    [[noreturn]] void throw_unknown(const Arch& arch) const {
        std::vector<std::string> known;
        for (const Arch& each : archs) known.push_back(to_string(each));
        CompileError::Details details;
        details.arch = to_string(arch);
        details.options = fmt::format("{}", fmt::join(compile_options(arch), " "));
        const std::string message = fmt::format(
            "{} ({}) cannot compile for {}; it knows {}{}. For a newer GPU install a newer CUDA toolkit, or set "
            "CONVT_JIT_NVRTC to a newer libnvrtc.",
            name(), library.path, details.arch, fmt::join(known, " "),
            arch.suffix != 0 ? ", some of them also with a suffix" : "");
        throw CompileError(message, std::move(details));
    }
};

namespace {
std::atomic<const Nvrtc*> open_one{nullptr};
}  // namespace

Nvrtc::Nvrtc() : impl_(std::make_unique<Impl>()) {}
Nvrtc::~Nvrtc() = default;

Nvrtc& Nvrtc::instance() {
    static auto* const instance = new Nvrtc;  // never destroyed: a thread may compile while the process ends
    open_one.store(instance, std::memory_order_release);
    return *instance;
}
const Nvrtc* Nvrtc::opened() noexcept { return open_one.load(std::memory_order_acquire); }

const NvrtcVersion& Nvrtc::version() const { return impl_->version; }
const std::string& Nvrtc::path() const { return impl_->library.path; }
const std::vector<Arch>& Nvrtc::archs() const { return impl_->archs; }

bool Nvrtc::knows(const Arch& arch) const {
    const std::vector<Arch>& plain = impl_->archs;
    if (std::find(plain.begin(), plain.end(), Arch{arch.number, 0}) == plain.end()) return false;
    if (arch.suffix == 0) return true;
    const std::scoped_lock lock(impl_->mutex);
    const auto [found, isnew] = impl_->suffixed.try_emplace(arch, false);
    if (isnew) found->second = impl_->accepts(arch);
    return found->second;
}

Cubin Nvrtc::compile(const Source& source, const Arch& arch) const {
    if (!knows(arch)) impl_->throw_unknown(arch);
    const std::vector<std::string> options = compile_options(arch);
    const Program program(impl_->library, source.text, source.entry + ".cu");
    const nvrtcResult result = program.compile(options);
    Cubin cubin{result == NVRTC_SUCCESS ? program.cubin() : "", fmt::format("{}", fmt::join(options, " "))};
    if (!cubin.bytes.empty()) return cubin;

    FailedCompile failure;
    failure.compiler = impl_->name();
    failure.result = result == NVRTC_SUCCESS ? "gave no cubin" : impl_->library.error_string(result);
    failure.entry = source.entry;
    failure.details = {to_string(arch), cubin.options, program.log(), source.constants, dump(source)};
    const std::string message = describe(failure);
    throw CompileError(message, std::move(failure.details));
}

}  // namespace convt_jit
