#include "gpu/cuda_driver.h"

#include <dlfcn.h>

#include <algorithm>

namespace convt_jit::test {
namespace {

template <class Function>
void load(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (!function) throw std::runtime_error(std::string("libcuda has no ") + name);
}

}  // namespace

// cuda.h maps names to versions with macros; only the preprocessor can tell the exported name.
#define CONVT_TEXT(name) #name
#define CONVT_LOAD(member, name) load(library, CONVT_TEXT(name), member)

CudaDriver::CudaDriver() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) throw std::runtime_error(dlerror());
    decltype(&::cuInit) init = nullptr;
    load(library, "cuInit", init);
    must(init(0), "cuInit");
    load(library, "cuCtxCreate_v2", ctx_create);
    CONVT_LOAD(ctx_set_current, cuCtxSetCurrent);
    CONVT_LOAD(ctx_get_current, cuCtxGetCurrent);
    CONVT_LOAD(ctx_synchronize, cuCtxSynchronize);
    CONVT_LOAD(primary_retain, cuDevicePrimaryCtxRetain);
    CONVT_LOAD(primary_release, cuDevicePrimaryCtxRelease);
    CONVT_LOAD(primary_reset, cuDevicePrimaryCtxReset);
    CONVT_LOAD(ctx_destroy, cuCtxDestroy);
    CONVT_LOAD(mem_get_info, cuMemGetInfo);
    CONVT_LOAD(mem_alloc_host, cuMemAllocHost);
    CONVT_LOAD(mem_free_host, cuMemFreeHost);
    CONVT_LOAD(memcpy_to_device, cuMemcpyHtoD);
    CONVT_LOAD(memcpy_to_host, cuMemcpyDtoH);
    CONVT_LOAD(memcpy_to_device_async, cuMemcpyHtoDAsync);
    CONVT_LOAD(memcpy_to_host_async, cuMemcpyDtoHAsync);
    CONVT_LOAD(launch_host_func, cuLaunchHostFunc);
    CONVT_LOAD(begin_capture, cuStreamBeginCapture);
    CONVT_LOAD(end_capture, cuStreamEndCapture);
    CONVT_LOAD(graph_instantiate, cuGraphInstantiateWithFlags);
    CONVT_LOAD(graph_launch, cuGraphLaunch);
    CONVT_LOAD(graph_exec_destroy, cuGraphExecDestroy);
    CONVT_LOAD(graph_destroy, cuGraphDestroy);
    CONVT_LOAD(module_load_data, cuModuleLoadData);
    CONVT_LOAD(module_get_function, cuModuleGetFunction);
    CONVT_LOAD(module_unload, cuModuleUnload);
    CONVT_LOAD(launch_kernel, cuLaunchKernel);
}

#undef CONVT_LOAD
#undef CONVT_TEXT

const CudaDriver& CudaDriver::instance() {
    static const CudaDriver driver;
    return driver;
}

PinnedFloats::PinnedFloats(std::size_t count) : count_(count) {
    void* memory = nullptr;
    must(CudaDriver::instance().mem_alloc_host(&memory, count * sizeof(float)), "cuMemAllocHost");
    data_ = static_cast<float*>(memory);
}

PinnedFloats::~PinnedFloats() { CudaDriver::instance().mem_free_host(data_); }

void PinnedFloats::set(const std::vector<double>& values) {
    std::transform(values.begin(), values.end(), data_, [](double v) { return static_cast<float>(v); });
}

std::vector<double> PinnedFloats::values() const { return {data_, data_ + count_}; }

}  // namespace convt_jit::test
