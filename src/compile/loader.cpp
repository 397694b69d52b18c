#include "compile/loader.h"

#include "compile/places.h"

#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

namespace convt_jit {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLoaderCache = "/etc/ld.so.cache";

// glibc, sysdeps/generic/dl-cache.h: what follows the magic, and one entry. Offsets count from the magic.
constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
struct LoaderCacheHeader {
    std::uint32_t entries, string_bytes, unused[5];
};
struct LoaderCacheEntry {
    std::int32_t flags;
    std::uint32_t name, file, os_version;
    std::uint64_t hwcap;
};
static_assert(sizeof(LoaderCacheHeader) == 28 && sizeof(LoaderCacheEntry) == 24);

// The high byte of an entry's flags tells for which machine the library is.
constexpr std::int32_t kMachineMask = 0xff00;
#if defined(__x86_64__)
constexpr std::int32_t kMachine = 0x0300;
#elif defined(__aarch64__)
constexpr std::int32_t kMachine = 0x0a00;
#else
constexpr std::int32_t kMachine = -1;  // unknown: whichever
#endif

std::optional<std::string_view> text_at(std::string_view cache, std::uint32_t offset) {
    if (offset >= cache.size()) return std::nullopt;
    const auto text = cache.substr(offset);
    const auto end = text.find('\0');
    return end == std::string_view::npos ? std::nullopt : std::optional(text.substr(0, end));
}

std::string read_file(const char* path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

struct LoaderPath {
    std::vector<std::string> first, last;  // asked before and after the loader's cache
};

// The directories that a dlopen from this library searches.
LoaderPath loader_path() {
    LoaderPath path;
    const std::string self = loaded_file(reinterpret_cast<const void*>(&loader_path));
    void* handle = dlopen(self.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) handle = dlopen(nullptr, RTLD_LAZY);  // we are part of the program itself
    if (handle == nullptr) return path;
    Dl_serinfo size{};
    if (dlinfo(handle, RTLD_DI_SERINFOSIZE, &size) == 0) {
        std::vector<std::max_align_t> memory(size.dls_size / sizeof(std::max_align_t) + 1);
        auto* info = reinterpret_cast<Dl_serinfo*>(memory.data());
        if (dlinfo(handle, RTLD_DI_SERINFOSIZE, info) == 0 && dlinfo(handle, RTLD_DI_SERINFO, info) == 0)
            for (unsigned i = 0; i < info->dls_cnt; ++i) {
                const Dl_serpath& each = info->dls_serpath[i];
                ((each.dls_flags & LA_SER_DEFAULT) != 0 ? path.last : path.first).emplace_back(each.dls_name);
            }
    }
    dlclose(handle);
    return path;
}

std::string already_loaded(const std::string& name) {
    void* handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) return {};
    const link_map* map = nullptr;
    const bool known = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map->l_name != nullptr;
    std::string file = known ? map->l_name : "";
    dlclose(handle);
    return file;
}

}  // namespace

std::vector<std::string> files_in_loader_cache(std::string_view cache, std::string_view name) {
    // A cache for old loaders too holds theirs first, ours after it.
    const auto begin = cache.find(kMagic);
    if (begin == std::string_view::npos) return {};
    cache.remove_prefix(begin);
    LoaderCacheHeader header{};
    std::size_t at = kMagic.size();
    if (cache.size() < at + sizeof header) return {};
    std::memcpy(&header, cache.data() + at, sizeof header);
    at += sizeof header;
    std::vector<std::string> files;
    for (std::uint32_t i = 0; i < header.entries && cache.size() - at >= sizeof(LoaderCacheEntry); ++i) {
        LoaderCacheEntry entry{};
        std::memcpy(&entry, cache.data() + at, sizeof entry);
        at += sizeof entry;
        if (kMachine != -1 && (entry.flags & kMachineMask) != kMachine) continue;
        if (text_at(cache, entry.name) != name) continue;
        if (const auto file = text_at(cache, entry.file)) files.emplace_back(*file);
    }
    return files;
}

std::string loader_file(const std::string& name) {
    if (std::string file = already_loaded(name); !file.empty()) return file;
    const LoaderPath path = loader_path();
    std::error_code ignored;
    const auto among = [&](const std::vector<std::string>& directories) -> std::string {
        for (const auto& directory : directories)
            if (const fs::path file = fs::path(directory) / name; fs::exists(file, ignored)) return file.string();
        return {};
    };
    if (std::string file = among(path.first); !file.empty()) return file;
    for (auto& file : files_in_loader_cache(read_file(kLoaderCache), name))
        if (fs::exists(file, ignored)) return file;
    return among(path.last);
}

}  // namespace convt_jit
