#include "driver/memory.h"
#include "driver/module.h"
#include "convt_jit/error.h"
#include <cuda.h>
#include <dlfcn.h>
#include <fmt/format.h>
namespace convt_jit::driver {
static void* lib() { static void* h = [] { void* x = dlopen("libcuda.so.1", RTLD_NOW); if (x) ((decltype(&cuInit))dlsym(x, "cuInit"))(0); return x; }(); return h; }
#define STR2(x) #x
#define STR(x) STR2(x)
#define CU(n) ((decltype(&n))dlsym(lib(), STR(n)))
static void ck(CUresult r, const char* w) { if (r) { const char* nm = "?"; CU(cuGetErrorName)(r, &nm); throw DriverError(fmt::format("{}: {}", w, nm), w, r, nm); } }
#define CALL(n, ...) ck([&] { static auto convt_f = CU(n); return convt_f(__VA_ARGS__); }(), #n)
int device_count(std::string* why) noexcept { if (!lib()) { if (why) *why = "no libcuda"; return 0; } int n = 0; CU(cuDeviceGetCount)(&n); return n; }
const DeviceFacts& device_facts(int o) { static DeviceFacts f[16]; if (o < 0 || o >= device_count(nullptr)) throw DriverError("no device", "cuDeviceGet", 101, "INVALID"); auto& d = f[o]; if (!d.arch) { char nm[256]; CUdevice dev; CALL(cuDeviceGet, &dev, o); CALL(cuDeviceGetName, nm, 256, dev); d.name = nm; int a, b; CALL(cuDeviceGetAttribute, &a, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, dev); CALL(cuDeviceGetAttribute, &b, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, dev); CALL(cuDeviceGetAttribute, &d.multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, dev); int l2; CALL(cuDeviceGetAttribute, &l2, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, dev); d.l2_bytes = l2; d.arch = a * 10 + b; } return d; }
std::string driver_version() { int v; CALL(cuDriverGetVersion, &v); return fmt::format("{}.{}", v / 1000, v % 1000 / 10); }
int current_device() noexcept { if (!lib()) return -1; CUcontext c = nullptr; CU(cuCtxGetCurrent)(&c); if (!c) return -1; CUdevice d; CU(cuCtxGetDevice)(&d); return d; }
Context context_for(int o) { device_facts(o); CUcontext c; CALL(cuDevicePrimaryCtxRetain, &c, o); return {c, 1, o}; }
bool alive(const Context&) noexcept { return true; }
Current::Current(const Context& c) { CUcontext n = nullptr; CALL(cuCtxGetCurrent, &n); if (n != c.handle) { CALL(cuCtxPushCurrent, c.handle); pushed_ = true; } }
Current::~Current() { if (pushed_) { CUcontext c; CU(cuCtxPopCurrent)(&c); } }
Module::Module(const Context& c, std::string_view cubin, const std::string& e, std::size_t sm) : context_(c) { Current cur(c); CALL(cuModuleLoadData, &module_, cubin.data()); CALL(cuModuleGetFunction, &function_, module_, e.c_str()); if (sm > 48 << 10) CALL(cuFuncSetAttribute, function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)sm); CALL(cuFuncGetAttribute, &facts_.registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function_); CALL(cuFuncGetAttribute, &facts_.local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function_); }
Module::~Module() {}
void Module::launch(const std::uint32_t g[3], std::uint32_t t, std::size_t sm, CUstream s, const void* a) const { Current cur(context_); void* p[] = {const_cast<void*>(a)}; CALL(cuLaunchKernel, function_, g[0], g[1], g[2], t, 1, 1, (unsigned)sm, s, p, nullptr); }
bool capturing(CUstream) noexcept { return false; }
DeviceMemory::DeviceMemory(int o, std::size_t b) : context_(context_for(o)) { Current c(context_); CALL(cuMemAlloc, (CUdeviceptr*)&data_, b ? b : 1); }
DeviceMemory::~DeviceMemory() { Current c(context_); CU(cuMemFree)((CUdeviceptr)data_); }
void DeviceMemory::upload(const void* h, std::size_t b) const { Current c(context_); CALL(cuMemcpyHtoD, (CUdeviceptr)data_, h, b); }
void DeviceMemory::download(void* h, std::size_t b) const { Current c(context_); CALL(cuMemcpyDtoH, h, (CUdeviceptr)data_, b); }
void DeviceMemory::fill(unsigned char v, std::size_t b) const { Current c(context_); CALL(cuMemsetD8, (CUdeviceptr)data_, v, b); }
OwnStream::OwnStream(int o) : context_(context_for(o)) { Current c(context_); CALL(cuStreamCreate, &stream_, CU_STREAM_NON_BLOCKING); }
OwnStream::~OwnStream() {}
void OwnStream::synchronize() const { Current c(context_); CALL(cuStreamSynchronize, stream_); }
EventPair::EventPair(int o) : context_(context_for(o)) { Current c(context_); CALL(cuEventCreate, &start_, 0); CALL(cuEventCreate, &stop_, 0); }
EventPair::~EventPair() {}
void EventPair::start(CUstream s) { Current c(context_); CALL(cuEventRecord, start_, s); }
void EventPair::stop(CUstream s) { Current c(context_); CALL(cuEventRecord, stop_, s); }
double EventPair::milliseconds() const { Current c(context_); CALL(cuEventSynchronize, stop_); float f; CALL(cuEventElapsedTime, &f, start_, stop_); return f; }
}
