#include "compile/nvrtc.h"
#include "convt_jit/error.h"
#include <dlfcn.h>
#include <nvrtc.h>
#include <fmt/format.h>
#include <algorithm>
namespace convt_jit {
std::vector<std::string> compile_options(const Arch& a) { return {"-std=c++17", "-arch=" + to_string(a)}; }
struct Nvrtc::Library { void* h; NvrtcVersion v; std::vector<Arch> archs; };
Nvrtc::Nvrtc() { static Library l; for (const char* p : {"libnvrtc.so.13", "/usr/local/cuda/lib64/libnvrtc.so.13", "/opt/torch/.venv/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13"}) if ((l.h = dlopen(p, RTLD_NOW))) break; if (!l.h) throw CompileError("no nvrtc", {}); auto ver = (decltype(&nvrtcVersion))dlsym(l.h, "nvrtcVersion"); ver(&l.v.major, &l.v.minor); int n; ((decltype(&nvrtcGetNumSupportedArchs))dlsym(l.h, "nvrtcGetNumSupportedArchs"))(&n); std::vector<int> v(n); ((decltype(&nvrtcGetSupportedArchs))dlsym(l.h, "nvrtcGetSupportedArchs"))(v.data()); for (int x : v) l.archs.push_back({x, 0}); library_ = &l; }
Nvrtc& Nvrtc::instance() { static Nvrtc n; return n; }
const NvrtcVersion& Nvrtc::version() const { return library_->v; }
const std::vector<Arch>& Nvrtc::archs() const { return library_->archs; }
bool Nvrtc::knows(const Arch& a) const { return std::find(archs().begin(), archs().end(), Arch{a.number, 0}) != archs().end(); }
Cubin Nvrtc::compile(const Source& s, const Arch& a) const { if (!knows(a)) throw CompileError("arch", {}); 
#define F(n) ((decltype(&n))dlsym(library_->h, #n))
  nvrtcProgram p; F(nvrtcCreateProgram)(&p, s.text.c_str(), "convt.cu", 0, nullptr, nullptr); auto o = compile_options(a); std::vector<const char*> c; for (auto& x : o) c.push_back(x.c_str()); auto r = F(nvrtcCompileProgram)(p, (int)c.size(), c.data()); size_t n; F(nvrtcGetProgramLogSize)(p, &n); std::string log(n, 0); F(nvrtcGetProgramLog)(p, log.data()); if (r) throw CompileError(log, {}); Cubin cb; F(nvrtcGetCUBINSize)(p, &n); cb.bytes.resize(n); F(nvrtcGetCUBIN)(p, cb.bytes.data()); F(nvrtcDestroyProgram)(&p); return cb; }
}
