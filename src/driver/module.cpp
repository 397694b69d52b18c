#include "driver/module.h"

#include "convt_jit/error.h"
#include "driver/api.h"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <optional>

namespace convt_jit::driver {
namespace {

// What a kernel gets without asking.
constexpr std::size_t kDefaultSharedBytes = 48 * 1024;

// cuModuleLoadData is not told a size: what is no whole ELF image must not reach it.
bool is_whole_elf(std::string_view image) {
    Elf64_Ehdr header{};
    if (image.size() < sizeof header) return false;
    std::memcpy(&header, image.data(), sizeof header);
    const auto fits = [&](std::uint64_t offset, std::uint64_t count, std::uint64_t each) {
        return offset <= image.size() && count * each <= image.size() - offset;
    };
    return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
           fits(header.e_shoff, header.e_shnum, header.e_shentsize) &&
           fits(header.e_phoff, header.e_phnum, header.e_phentsize);
}

struct Unload {
    void operator()(CUmod_st* module) const { api().module_unload(module); }
};

void allow_shared_memory(const Api& cuda, CUfunction function, std::size_t bytes, const std::string& entry,
                         int device) {
    int fixed = 0;
    check(cuda.func_attribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function), "cuFuncGetAttribute");
    const std::size_t all = static_cast<std::size_t>(fixed) + bytes;
    if (all <= kDefaultSharedBytes) return;
    const std::size_t most = device_facts(device).shared_bytes_per_block;
    if (all > most)
        throw DriverError(fmt::format("{} needs {} bytes of shared memory per block; device {} ({}) allows {}", entry,
                                      all, device, device_facts(device).name, most),
                          "cuFuncSetAttribute", CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE");
    check(cuda.func_set_attribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(bytes)),
          "cuFuncSetAttribute", fmt::format("asking for {} bytes of shared memory for {}", bytes, entry));
}

void require_alive(const Context& context) {
    if (alive(context)) return;
    (void)api();  // a missing driver or a forked process is the better answer
    throw DriverError(fmt::format("the CUDA context of device {} that the kernel was loaded into is gone: it was "
                                  "destroyed, or the device was reset; prepare the kernel again",
                                  context.device),
                      "cuLaunchKernel", CUDA_ERROR_CONTEXT_IS_DESTROYED, "CUDA_ERROR_CONTEXT_IS_DESTROYED");
}

}  // namespace

Module::Module(const Context& context, std::string_view cubin, const std::string& entry, std::size_t shared_bytes,
               const std::vector<std::string>& others)
    : context_(context) {
    require_alive(context);
    const Api& cuda = api();
    const auto loading = [&](const std::string& kernel) {
        return fmt::format("loading {} on device {} (sm_{}, driver {})", kernel, context.device,
                           device_facts(context.device).arch, driver_version());
    };
    if (!is_whole_elf(cubin)) throw_failed(CUDA_ERROR_INVALID_IMAGE, "cuModuleLoadData", loading(entry));

    const Current current(context);
    const RelaxedCapture relaxed;
    check(cuda.module_load(&module_, cubin.data()), "cuModuleLoadData", loading(entry));
    std::unique_ptr<CUmod_st, Unload> loaded(module_);
    const auto find = [&](const std::string& kernel) {
        CUfunction function = nullptr;
        check(cuda.module_function(&function, module_, kernel.c_str()), "cuModuleGetFunction", loading(kernel));
        functions_.push_back(function);
    };
    find(entry);
    for (const std::string& other : others) find(other);
    const CUfunction main = functions_.front();
    allow_shared_memory(cuda, main, shared_bytes, entry, context.device);
    // Drivers load lazily: without this the first launch would load, allocate and perhaps synchronise.
    if (cuda.func_load != nullptr)
        for (const CUfunction function : functions_) check(cuda.func_load(function), "cuFuncLoad", loading(entry));
    check(cuda.func_attribute(&facts_.registers, CU_FUNC_ATTRIBUTE_NUM_REGS, main), "cuFuncGetAttribute");
    check(cuda.func_attribute(&facts_.local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, main), "cuFuncGetAttribute");
    (void)loaded.release();
}

Module::~Module() {
    if (!alive(context_)) return;  // went with its context
    try {
        const Current current(context_);
        const RelaxedCapture relaxed;
        api().module_unload(module_);
    } catch (const DriverError&) {
        // Nothing that a destructor could do about it.
    }
}

void Module::launch(const std::uint32_t grid[3], std::uint32_t threads, std::size_t shared_bytes, CUstream stream,
                    const void* argument, std::size_t which) const {
    require_alive(context_);
    const Current current(context_);
    void* arguments[] = {const_cast<void*>(argument)};
    const CUresult result = api().launch(functions_.at(which), grid[0], grid[1], grid[2], threads, 1, 1,
                                         static_cast<unsigned>(shared_bytes), stream, arguments, nullptr);
    if (result != CUDA_SUCCESS)
        throw_failed(result, "cuLaunchKernel",
                     fmt::format("launching {}x{}x{} blocks of {} threads with {} bytes of shared memory on device {}",
                                 grid[0], grid[1], grid[2], threads, shared_bytes, context_.device));
}

StreamState Module::state_of(CUstream stream) const {
    require_alive(context_);
    const Current current(context_);
    return stream_state(stream);
}

}  // namespace convt_jit::driver
