// HostCompiler: a rendered source to code that this process can call, by the host's C++ compiler.
#pragma once

#include "render/render.h"
#include "sim/calls.h"

#include <cstddef>
#include <memory>
#include <string>

namespace convt_jit::sim {

// Compiled kernels of one source. Their blocks must run one after the other: it holds their State.
class Library {
public:
    using Entry = void (*)(const void* argument);

    // Takes over a handle of dlopen.
    explicit Library(void* handle) : handle_(handle) {}
    ~Library();
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;

    [[nodiscard]] Entry entry(std::size_t which) const;  // 0: the main kernel, then Source::others
    [[nodiscard]] ::convt_sim::State& state() const;

private:
    void* handle_;
};

// The whole text that the compiler gets.
[[nodiscard]] std::string host_source(const Source& source);

// With $CXX, else the first of c++, g++ and clang++ in $PATH. The same source is compiled once as long as somebody
// holds its Library. Throws CompileError.
[[nodiscard]] std::shared_ptr<const Library> compile_for_host(const Source& source);

}  // namespace convt_jit::sim
