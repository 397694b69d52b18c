// Sample: entries and a scratch directory for the tests of the cache.
#pragma once

#include "cache/entry.h"
#include "convt_jit/engine.h"

#include <stdlib.h>

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace convt_jit::sample {

inline Entry entry(const std::string& source = "kernel", std::size_t cubin_bytes = 100) {
    Entry entry;
    entry.key = {digest(source), "-arch=sm_90a -std=c++17", "sm_90a", "nvrtc 13.0.88", kCacheFormat};
    entry.provenance = {
        "0.1.0", "node7",  "2025-01-31T12:00:00Z", "c32 o64 k3x3 f32", "direct", "direct positions=2", "convt_0123", 96,
        8,       48 * 1024};
    entry.cubin.resize(cubin_bytes);
    for (std::size_t i = 0; i < cubin_bytes; ++i) entry.cubin[i] = static_cast<char>(i * 31 + source.size());
    return entry;
}

// A directory that goes with everything in it.
class Scratch {
public:
    Scratch() {
        std::string name = (std::filesystem::temp_directory_path() / "convt_cache_XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch directory");
        path_ = name;
    }
    Scratch(const Scratch&) = delete;
    Scratch& operator=(const Scratch&) = delete;
    ~Scratch() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }

private:
    std::filesystem::path path_;
};

// Collects the warnings that are logged while it lives.
class Warnings {
public:
    Warnings() {
        set_log_level(LogLevel::warning);
        set_log_sink([this](LogLevel, std::string_view line) { lines_.emplace_back(line); });
    }
    Warnings(const Warnings&) = delete;
    Warnings& operator=(const Warnings&) = delete;
    ~Warnings() {
        set_log_sink({});
        set_log_level(LogLevel::off);
    }
    [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }

private:
    std::vector<std::string> lines_;
};

// Sets a variable while it lives.
class Variable {
public:
    Variable(const char* name, const std::string& value) : name_(name) {
        if (const char* old = ::getenv(name)) old_ = old;
        ::setenv(name, value.c_str(), 1);
    }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;
    ~Variable() { old_ ? ::setenv(name_, old_->c_str(), 1) : ::unsetenv(name_); }

private:
    const char* name_;
    std::optional<std::string> old_;
};

inline std::string entry_path(const std::string& directory, const std::string& key) {
    return directory + "/" + key.substr(0, 2) + "/" + key + ".cubin";
}

}  // namespace convt_jit::sample
