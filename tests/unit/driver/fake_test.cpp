#include "unit/driver/fake.h"

#include <dlfcn.h>
#include <elf.h>

#include <cstdlib>
#include <stdexcept>

namespace convt_jit::test {
namespace {

// Before main, and so before anything opens the driver.
const bool chosen = setenv("CONVT_JIT_LIBCUDA", CONVT_FAKE_LIBCUDA, 1) == 0;

}  // namespace

FakeCuda& fake_cuda() {
    static FakeCuda* const instance = [] {
        void* library = dlopen(CONVT_FAKE_LIBCUDA, RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr || !chosen) throw std::runtime_error(dlerror());
        return reinterpret_cast<FakeCuda* (*)()>(dlsym(library, "fake_cuda"))();
    }();
    return *instance;
}

std::string empty_cubin() {
    Elf64_Ehdr header{};
    for (int i = 0; i < SELFMAG; ++i) header.e_ident[i] = static_cast<unsigned char>(ELFMAG[i]);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_shoff = sizeof header;
    return {reinterpret_cast<const char*>(&header), sizeof header};
}

}  // namespace convt_jit::test
