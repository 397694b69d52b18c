#include "compile/library.h"

#include "compile/places.h"
#include "compile/search.h"
#include "convt_jit/error.h"
#include "log/log.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <vector>

namespace convt_jit {
namespace {

namespace fs = std::filesystem;

// Link-time identity of the library that holds `address`, from its own notes in memory.
std::string build_id_of(const void* address) {
    struct Search {
        std::uintptr_t address;
        std::string id;
    } search{reinterpret_cast<std::uintptr_t>(address), {}};
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
            auto& wanted = *static_cast<Search*>(data);
            const auto* const begin = info->dlpi_phdr;
            const auto* const end = begin + info->dlpi_phnum;
            const bool ours = std::any_of(begin, end, [&](const ElfW(Phdr) & segment) {
                const std::uintptr_t start = info->dlpi_addr + segment.p_vaddr;
                return segment.p_type == PT_LOAD && wanted.address >= start && wanted.address - start < segment.p_memsz;
            });
            if (!ours) return 0;
            for (const auto* segment = begin; segment != end; ++segment) {
                if (segment->p_type != PT_NOTE) continue;
                const auto* at = reinterpret_cast<const unsigned char*>(info->dlpi_addr + segment->p_vaddr);
                std::size_t left = segment->p_memsz;
                ElfW(Nhdr) note{};
                while (left >= sizeof note) {
                    std::memcpy(&note, at, sizeof note);
                    const std::size_t name = (note.n_namesz + 3u) & ~std::size_t{3};
                    const std::size_t value = (note.n_descsz + 3u) & ~std::size_t{3};
                    if (left - sizeof note < name + value) break;
                    const unsigned char* text = at + sizeof note;
                    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(text, "GNU", 4) == 0)
                        wanted.id = fmt::format("{:02x}", fmt::join(text + name, text + name + note.n_descsz, ""));
                    at += sizeof note + name + value;
                    left -= sizeof note + name + value;
                }
            }
            return 1;
        },
        &search);
    return search.id;
}

// NVRTC opens its built-ins by name when it first compiles, and the loader does not look beside NVRTC for them. Once
// loaded from there, they are found.
void preload_builtins(const fs::path& library, int major, int minor) {
    const std::string name = fmt::format("libnvrtc-builtins.so.{}.{}", major, minor);
    std::error_code ignored;
    for (const fs::path& file : {library, fs::weakly_canonical(library, ignored)}) {
        const std::string path = (file.parent_path() / name).string();
        if (fs::exists(path, ignored) && dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr) return;
    }
}

// False where the library lacks a function; `missing` then names it.
bool resolve(void* handle, NvrtcLibrary& library, std::string& missing) {
    const auto get = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(handle, name));
        if (function == nullptr && missing.empty()) missing = name;
    };
    get(library.version, "nvrtcVersion");
    get(library.error_string, "nvrtcGetErrorString");
    get(library.arch_count, "nvrtcGetNumSupportedArchs");
    get(library.archs, "nvrtcGetSupportedArchs");
    get(library.create_program, "nvrtcCreateProgram");
    get(library.destroy_program, "nvrtcDestroyProgram");
    get(library.compile_program, "nvrtcCompileProgram");
    get(library.log_size, "nvrtcGetProgramLogSize");
    get(library.log, "nvrtcGetProgramLog");
    get(library.cubin_size, "nvrtcGetCUBINSize");
    get(library.cubin, "nvrtcGetCUBIN");
    get(library.ptx_size, "nvrtcGetPTXSize");
    get(library.ptx, "nvrtcGetPTX");
    return missing.empty();
}

[[noreturn]] void throw_not_found(const SearchPlaces& places, const std::vector<std::string>& candidates,
                                  const std::vector<std::string>& refused) {
    std::string message = "NVRTC, the run-time compiler of CUDA, cannot be opened. Looked for ";
    if (!places.file.empty()) {
        message += fmt::format("$CONVT_JIT_NVRTC = {} and nowhere else", places.file);
    } else {
        std::vector<std::string> directories;
        for (const fs::path path : candidates) {
            const std::string directory = path.has_parent_path() ? path.parent_path().string() : "the loader's path";
            if (std::find(directories.begin(), directories.end(), directory) == directories.end())
                directories.push_back(directory);
        }
        message += fmt::format("libnvrtc.so.13 and libnvrtc.so.12 in {}", fmt::join(directories, ", "));
    }
    for (const std::string& why : refused) message += "\n  " + why;
    message +=
        "\nInstall a CUDA toolkit (12 or 13) or one of nvidia's wheels (pip install nvidia-cuda-nvrtc), and set "
        "CUDA_HOME to the toolkit or CONVT_JIT_NVRTC to the file libnvrtc.so.13 or libnvrtc.so.12.";
    throw CompileError(message, {});
}

}  // namespace

NvrtcLibrary open_nvrtc() {
    const SearchPlaces places = search_places();
    const std::vector<std::string> candidates = nvrtc_candidates(places);
    std::vector<std::string> refused;
    for (const std::string& candidate : candidates) {
        std::error_code ignored;
        const bool path = candidate.find('/') != std::string::npos;
        if (path && !fs::exists(candidate, ignored) && places.file.empty()) continue;
        void* handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (handle == nullptr) {
            if (path) refused.emplace_back(dlerror());
            continue;
        }
        NvrtcLibrary library{};
        std::string missing;
        if (!resolve(handle, library, missing)) {
            refused.push_back(fmt::format("{}: has no {}: too old, or not NVRTC", candidate, missing));
            dlclose(handle);
            continue;
        }
        const auto* const inside = reinterpret_cast<const void*>(library.version);
        library.path = loaded_file(inside);
        library.build_id = build_id_of(inside);
        int major = 0, minor = 0;
        if (library.version(&major, &minor) == NVRTC_SUCCESS) preload_builtins(library.path, major, minor);
        log::info("NVRTC {}.{} from {}", major, minor, library.path);
        return library;
    }
    throw_not_found(places, candidates, refused);
}

}  // namespace convt_jit
