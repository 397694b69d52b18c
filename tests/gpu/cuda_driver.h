// CudaDriver: the driver calls that these tests make beside the library, opened at run time as the library does.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

namespace convt_jit::test {

// One entry per function; the driver exports it under the name that cuda.h's macros give it ("cuMemcpyDtoH_v2").
struct CudaDriver {
    static const CudaDriver& instance();  // throws std::runtime_error without a driver

    decltype(&::cuCtxSetCurrent) ctx_set_current;
    decltype(&::cuCtxGetCurrent) ctx_get_current;
    decltype(&::cuCtxSynchronize) ctx_synchronize;
    decltype(&::cuDevicePrimaryCtxRetain) primary_retain;
    decltype(&::cuDevicePrimaryCtxRelease) primary_release;
    decltype(&::cuDevicePrimaryCtxReset) primary_reset;
    CUresult (*ctx_create)(CUcontext*, unsigned, CUdevice);  // the second version, which every driver still exports
    decltype(&::cuCtxDestroy) ctx_destroy;
    decltype(&::cuMemGetInfo) mem_get_info;
    decltype(&::cuMemAllocHost) mem_alloc_host;
    decltype(&::cuMemFreeHost) mem_free_host;
    decltype(&::cuMemcpyHtoD) memcpy_to_device;
    decltype(&::cuMemcpyDtoH) memcpy_to_host;
    decltype(&::cuMemcpyHtoDAsync) memcpy_to_device_async;
    decltype(&::cuMemcpyDtoHAsync) memcpy_to_host_async;
    decltype(&::cuLaunchHostFunc) launch_host_func;
    decltype(&::cuStreamBeginCapture) begin_capture;
    decltype(&::cuStreamEndCapture) end_capture;
    decltype(&::cuGraphInstantiateWithFlags) graph_instantiate;
    decltype(&::cuGraphLaunch) graph_launch;
    decltype(&::cuGraphExecDestroy) graph_exec_destroy;
    decltype(&::cuGraphDestroy) graph_destroy;
    decltype(&::cuModuleLoadData) module_load_data;
    decltype(&::cuModuleGetFunction) module_get_function;
    decltype(&::cuModuleUnload) module_unload;
    decltype(&::cuLaunchKernel) launch_kernel;

private:
    CudaDriver();
};

// Throws where a call failed.
inline void must(CUresult result, const char* what) {
    if (result != CUDA_SUCCESS) throw std::runtime_error(std::string(what) + " failed with " + std::to_string(result));
}

[[nodiscard]] inline CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

// Page-locked floats on the host.
class PinnedFloats {
public:
    explicit PinnedFloats(std::size_t count);
    ~PinnedFloats();
    PinnedFloats(const PinnedFloats&) = delete;
    PinnedFloats& operator=(const PinnedFloats&) = delete;
    [[nodiscard]] float* data() const noexcept { return data_; }
    void set(const std::vector<double>& values);
    [[nodiscard]] std::vector<double> values() const;

private:
    float* data_ = nullptr;
    std::size_t count_;
};

}  // namespace convt_jit::test
