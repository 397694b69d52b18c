// Api: libcuda opened at run time, as a table of functions. Only this room includes cuda.h.
#pragma once

#include <cuda.h>

#include <string>
#include <string_view>

namespace convt_jit::driver {

struct Api {
    decltype(&::cuInit) init;
    decltype(&::cuDriverGetVersion) driver_version;
    decltype(&::cuGetErrorName) error_name;
    decltype(&::cuGetErrorString) error_string;

    decltype(&::cuDeviceGetCount) device_count;
    decltype(&::cuDeviceGet) device_get;
    decltype(&::cuDeviceGetName) device_name;
    decltype(&::cuDeviceGetAttribute) device_attribute;

    decltype(&::cuDevicePrimaryCtxRetain) primary_retain;
    decltype(&::cuCtxGetCurrent) ctx_current;
    CUresult (*ctx_device)(CUdevice*);
    decltype(&::cuCtxPushCurrent) ctx_push;
    decltype(&::cuCtxPopCurrent) ctx_pop;
    CUresult (*ctx_synchronize)();

    decltype(&::cuModuleLoadData) module_load;
    decltype(&::cuModuleUnload) module_unload;
    decltype(&::cuModuleGetFunction) module_function;
    decltype(&::cuFuncGetAttribute) func_attribute;
    decltype(&::cuFuncSetAttribute) func_set_attribute;
    CUresult (*func_load)(CUfunction);  // null before CUDA 12.4
    decltype(&::cuLaunchKernel) launch;

    decltype(&::cuMemAlloc) mem_alloc;
    decltype(&::cuMemFree) mem_free;
    decltype(&::cuMemcpyHtoD) copy_to_device;
    decltype(&::cuMemcpyDtoH) copy_to_host;
    decltype(&::cuMemcpyDtoDAsync) copy_on_device;
    decltype(&::cuMemsetD8) fill;
    decltype(&::cuMemsetD8Async) fill_async;
    decltype(&::cuPointerGetAttribute) pointer_attribute;

    decltype(&::cuStreamCreate) stream_create;
    decltype(&::cuStreamDestroy) stream_destroy;
    decltype(&::cuStreamSynchronize) stream_synchronize;
    decltype(&::cuStreamIsCapturing) stream_is_capturing;
    CUresult (*stream_capture_info)(CUstream, CUstreamCaptureStatus*, cuuint64_t* id);
    CUresult (*stream_id)(CUstream, unsigned long long*);  // null before CUDA 12.0
    decltype(&::cuThreadExchangeStreamCaptureMode) exchange_capture_mode;

    // Null before CUDA 11.4.
    CUresult (*capture_begin)(CUstream, CUstreamCaptureMode);
    CUresult (*capture_end)(CUstream, CUgraph*);
    CUresult (*graph_instantiate)(CUgraphExec*, CUgraph, unsigned long long flags);
    CUresult (*graph_launch)(CUgraphExec, CUstream);
    CUresult (*graph_destroy)(CUgraph);
    CUresult (*graph_exec_destroy)(CUgraphExec);
    CUresult (*event_record_with_flags)(CUevent, CUstream, unsigned);

    decltype(&::cuEventCreate) event_create;
    decltype(&::cuEventDestroy) event_destroy;
    decltype(&::cuEventRecord) event_record;
    decltype(&::cuEventSynchronize) event_synchronize;
    CUresult (*event_elapsed)(float*, CUevent, CUevent);
};

// Opens $CONVT_JIT_LIBCUDA, else libcuda.so.1, and initialises it, once per process. Throws DriverError where that
// fails, and in a child that was forked after it succeeded: CUDA does not survive a fork.
[[nodiscard]] const Api& api();
// The same without exceptions: null, and `why` says what is wrong.
[[nodiscard]] const Api* find_api(std::string* why) noexcept;

// "CUDA_ERROR_INVALID_VALUE (invalid argument)"
[[nodiscard]] std::string describe(const Api& cuda, CUresult result);
// Throws DriverError: "CALL: NAME (text), DOING".
[[noreturn]] void throw_failed(CUresult result, const char* call, std::string_view doing);

// Throws DriverError where a call failed. `doing` tells what for ("allocating 4096 bytes on device 0").
inline void check(CUresult result, const char* call, std::string_view doing = {}) {
    if (result != CUDA_SUCCESS) throw_failed(result, call, doing);
}

}  // namespace convt_jit::driver
