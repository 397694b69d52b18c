/* The C API: the engine and its kernels behind opaque pointers. C11; needs nothing of C++. */
#pragma once

#include "convt_jit/export.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What the functions return: 0, or which of the errors of error.h it was. The text is in convt_last_error(). */
enum {
    CONVT_OK = 0,
    CONVT_LAYER_ERROR = 1,     /**< a layer, a shape or an argument is not valid */
    CONVT_COMPILE_ERROR = 2,   /**< the compiler refused, or is not there */
    CONVT_DRIVER_ERROR = 3,    /**< the CUDA driver failed, or there is no such device */
    CONVT_UNSUPPORTED = 4,     /**< valid, but this library, plan or device cannot serve it */
    CONVT_SIMULATOR_ERROR = 5, /**< the simulator saw a kernel do something wrong */
    CONVT_OUT_OF_MEMORY = 6,   /**< host memory */
    CONVT_OTHER_ERROR = 7      /**< anything else; the text says what */
};

/** Devices that are not the ordinal of a CUDA device. */
enum {
    CONVT_SIMULATOR = -1,  /**< the CPU, through the host's C++ compiler */
    CONVT_BEST_DEVICE = -2 /**< that of the current CUDA context, else CUDA device 0, else the simulator */
};

/** Thread-safe; several may live in one process. */
typedef struct convt_engine convt_engine;
/** Launches are thread-safe. Outlives its engine. */
typedef struct convt_kernel convt_kernel;

/** Device pointers of one launch (host pointers on the simulator); NULL where the layer does not use one. */
typedef struct convt_tensors {
    const void* x;
    const void* w;
    const void* bias;
    const void* residual; /**< may be y itself */
    const float* scale;
    const float* shift;
    void* y;
    uint64_t weights_version; /**< 0: w may have changed since the last launch; see kernel.h */
} convt_tensors;

/** "0.1.0" */
CONVT_JIT_API const char* convt_version(void);
/** Text of the calling thread's last failure, "" before the first. Valid until the thread's next failure. */
CONVT_JIT_API const char* convt_last_error(void);

/** `cache_dir`: directory of the disk cache; NULL for the default place, "" for no disk cache. */
CONVT_JIT_API int convt_engine_create(const char* cache_dir, convt_engine** engine);
CONVT_JIT_API void convt_engine_destroy(convt_engine* engine);

/** A kernel for a layer string (docs/layer.md). `plan`: a plan string (docs/plan.md), or NULL for the default choice.
 *kernel is set to NULL where this fails. */
CONVT_JIT_API int convt_prepare(convt_engine* engine, const char* layer, int device, const char* plan,
                                convt_kernel** kernel);
/** The same without waiting for a compiler: where no cache has the kernel, *kernel launches a generic one until the
 * other has been compiled in the background. */
CONVT_JIT_API int convt_prepare_no_wait(convt_engine* engine, const char* layer, int device, const char* plan,
                                        convt_kernel** kernel);
/** 1 while *kernel is still going to be replaced, else 0. */
CONVT_JIT_API int convt_kernel_pending(const convt_kernel* kernel);
CONVT_JIT_API void convt_kernel_destroy(convt_kernel* kernel);

/** Sizes along the `rank` spatial axes, outermost first: `input` is read, `output` written. */
CONVT_JIT_API int convt_output_size(const convt_kernel* kernel, const int64_t* input, int rank, int64_t* output);
/** Enqueues one launch on a CUstream or cudaStream_t; NULL is the default stream. Does not synchronise. */
CONVT_JIT_API int convt_launch(const convt_kernel* kernel, const convt_tensors* tensors, int64_t batch,
                               const int64_t* input, int rank, void* stream);
/** Packs now what a launch with this `w`, `version` and `stream` would pack before it runs. Nothing to do for version
 * 0, and for kernels that read weights as they are. */
CONVT_JIT_API int convt_pack_weights(const convt_kernel* kernel, const void* w, uint64_t version, void* stream);
/** Device memory that a launch on these sizes takes for partial sums, of which each stream has one; 0: none. */
CONVT_JIT_API int convt_workspace_bytes(const convt_kernel* kernel, int64_t batch, const int64_t* input, int rank,
                                        uint64_t* bytes);

/** Facts about the kernel that a launch would run now, valid as long as it is; NULL for a NULL kernel. */
CONVT_JIT_API const char* convt_kernel_layer(const convt_kernel* kernel);  /**< without batch and input size */
CONVT_JIT_API const char* convt_kernel_family(const convt_kernel* kernel); /**< "direct" */
CONVT_JIT_API const char* convt_kernel_plan(const convt_kernel* kernel);   /**< what convt_prepare takes back */
CONVT_JIT_API const char* convt_kernel_arch(const convt_kernel* kernel);   /**< "sm_90a" */
/** Who chose the plan: "asked", "record" (a tuning record), "default" or "generic". */
CONVT_JIT_API const char* convt_kernel_plan_origin(const convt_kernel* kernel);
CONVT_JIT_API const char* convt_kernel_origin(const convt_kernel* kernel); /**< "memory", "disk" or "compiler" */

#ifdef __cplusplus
}
#endif
