#include "convt_jit/c_api.h"

#include "convt_jit/engine.h"
#include "convt_jit/error.h"

#include <exception>
#include <memory>
#include <new>
#include <string>
#include <utility>

struct convt_engine {
    convt_jit::Engine engine;
};

struct convt_kernel {
    convt_jit::Kernel kernel;
};

namespace {

using namespace convt_jit;

thread_local std::string last_error;

int failed(int status, const char* message) noexcept {
    try {
        last_error = message;
    } catch (...) {
        last_error.clear();
    }
    return status;
}

// The border that no exception crosses.
template <class Work>
int guarded(const Work& work) noexcept {
    try {
        work();
        return CONVT_OK;
    } catch (const LayerError& error) {
        return failed(CONVT_LAYER_ERROR, error.what());
    } catch (const CompileError& error) {
        return failed(CONVT_COMPILE_ERROR, error.what());
    } catch (const DriverError& error) {
        return failed(CONVT_DRIVER_ERROR, error.what());
    } catch (const UnsupportedError& error) {
        return failed(CONVT_UNSUPPORTED, error.what());
    } catch (const SimulatorError& error) {
        return failed(CONVT_SIMULATOR_ERROR, error.what());
    } catch (const std::bad_alloc&) {
        return failed(CONVT_OUT_OF_MEMORY, "out of memory");
    } catch (const std::exception& error) {
        return failed(CONVT_OTHER_ERROR, error.what());
    } catch (...) {
        return failed(CONVT_OTHER_ERROR, "an exception of an unknown type");
    }
}

template <class T>
T& required(T* pointer, const char* name) {
    if (pointer == nullptr) throw LayerError(name, "null", "a pointer that is not null");
    return *pointer;
}

Device device_of(int device) {
    if (device == CONVT_BEST_DEVICE) return Device::best();
    if (device == CONVT_SIMULATOR) return Device::simulator();
    return Device::cuda(device);
}

Dims sizes_of(const int64_t* input, int rank) {
    Dims dims = Dims::filled(rank, 0);
    if (rank > 0) required(input, "input");
    for (int axis = 0; axis < rank; ++axis) dims[axis] = input[axis];
    return dims;
}

}  // namespace

const char* convt_version(void) { return version(); }
const char* convt_last_error(void) { return last_error.c_str(); }

int convt_engine_create(const char* cache_dir, convt_engine** engine) {
    return guarded([&] {
        required(engine, "engine") = nullptr;
        EngineOptions options;
        if (cache_dir != nullptr) options.cache_dir = cache_dir;
        *engine = std::make_unique<convt_engine>(convt_engine{Engine(options)}).release();
    });
}

void convt_engine_destroy(convt_engine* engine) { delete engine; }

namespace {

int prepare(convt_engine* engine, const char* layer, int device, const char* plan, Policy policy,
            convt_kernel** kernel) noexcept {
    return guarded([&] {
        required(kernel, "kernel") = nullptr;
        required(engine, "engine");
        PrepareOptions options;
        options.device = device_of(device);
        options.policy = policy;
        if (plan != nullptr) options.plan = plan;
        Kernel prepared = engine->engine.prepare(parse_layer(&required(layer, "layer")), options);
        *kernel = std::make_unique<convt_kernel>(convt_kernel{std::move(prepared)}).release();
    });
}

}  // namespace

int convt_prepare(convt_engine* engine, const char* layer, int device, const char* plan, convt_kernel** kernel) {
    return prepare(engine, layer, device, plan, Policy::wait, kernel);
}

int convt_prepare_no_wait(convt_engine* engine, const char* layer, int device, const char* plan,
                          convt_kernel** kernel) {
    return prepare(engine, layer, device, plan, Policy::no_wait, kernel);
}

int convt_kernel_pending(const convt_kernel* kernel) { return kernel != nullptr && kernel->kernel.pending() ? 1 : 0; }

void convt_kernel_destroy(convt_kernel* kernel) { delete kernel; }

int convt_output_size(const convt_kernel* kernel, const int64_t* input, int rank, int64_t* output) {
    return guarded([&] {
        const Dims out = output_size(required(kernel, "kernel").kernel.layer(), sizes_of(input, rank));
        required(output, "output");
        for (int axis = 0; axis < out.rank(); ++axis) output[axis] = out[axis];
    });
}

int convt_launch(const convt_kernel* kernel, const convt_tensors* tensors, int64_t batch, const int64_t* input,
                 int rank, void* stream) {
    return guarded([&] {
        const convt_tensors& t = required(tensors, "tensors");
        required(kernel, "kernel")
            .kernel.launch({t.x, t.w, t.bias, t.residual, t.scale, t.shift, t.y, t.weights_version},
                           {batch, sizes_of(input, rank)}, stream);
    });
}

int convt_workspace_bytes(const convt_kernel* kernel, int64_t batch, const int64_t* input, int rank, uint64_t* bytes) {
    return guarded([&] {
        required(bytes, "bytes") = required(kernel, "kernel").kernel.workspace_bytes({batch, sizes_of(input, rank)});
    });
}

int convt_pack_weights(const convt_kernel* kernel, const void* w, uint64_t version, void* stream) {
    return guarded([&] { required(kernel, "kernel").kernel.pack_weights(w, version, stream); });
}

const char* convt_kernel_layer(const convt_kernel* kernel) {
    return kernel != nullptr ? kernel->kernel.info().layer.c_str() : nullptr;
}
const char* convt_kernel_family(const convt_kernel* kernel) {
    return kernel != nullptr ? kernel->kernel.info().family.c_str() : nullptr;
}
const char* convt_kernel_plan(const convt_kernel* kernel) {
    return kernel != nullptr ? kernel->kernel.info().plan.c_str() : nullptr;
}
const char* convt_kernel_arch(const convt_kernel* kernel) {
    return kernel != nullptr ? kernel->kernel.info().arch.c_str() : nullptr;
}
const char* convt_kernel_plan_origin(const convt_kernel* kernel) {
    return kernel != nullptr ? to_string(kernel->kernel.info().plan_origin) : nullptr;
}

const char* convt_kernel_origin(const convt_kernel* kernel) {
    return kernel != nullptr ? to_string(kernel->kernel.info().origin) : nullptr;
}
