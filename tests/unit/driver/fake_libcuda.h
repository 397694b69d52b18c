// Fake libcuda: what its tests can set and see. The library and the test share one FakeCuda, found by name.
#pragma once

#include <cuda.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace convt_jit::test {

inline constexpr int kFakeDevices = 2;
inline constexpr int kFakeSharedBytes = 227 * 1024;

struct FakeLaunch {
    CUcontext context;
    std::array<unsigned, 3> grid;
    unsigned threads, shared_bytes;
    CUstream stream;
    std::string function;
    unsigned char argument[16];  // the first bytes of the kernel's parameter
    const void* packed;          // of that of a kernel of this library that takes ConvtArgs
    const void* workspace;
};

// Two devices. Calls that CUDA calls unsafe during a capture break every capture that forbids them, as the driver does.
class FakeCuda {
public:
    virtual ~FakeCuda() = default;

    // What an application does beside the library.
    virtual CUcontext create_context(int device) = 0;  // becomes current
    virtual void destroy_context(CUcontext context) = 0;
    virtual void reset_device(int device) = 0;
    virtual void set_current(CUcontext context) = 0;
    virtual CUcontext current() = 0;
    virtual void begin_capture(CUstream stream, CUstreamCaptureMode mode) = 0;
    virtual CUresult end_capture(CUstream stream) = 0;

    // Another stream gets the handle of one that was destroyed.
    virtual void reuse_stream(CUstream stream) = 0;
    // Modules that are loaded from now on have no functions whose names end so; "": they have all.
    virtual void lack_functions(const std::string& ending) = 0;

    virtual void fail_next(const std::string& call, CUresult result) = 0;
    virtual std::vector<FakeLaunch> take_launches() = 0;
    virtual int loaded_modules() = 0;
    virtual int retained(int device) = 0;
    virtual int dynamic_shared_bytes() = 0;  // of the function that was set last; 0 where none was
    virtual int functions_loaded() = 0;      // calls of cuFuncLoad
    virtual std::size_t allocations() = 0;
};

}  // namespace convt_jit::test
