/* The C API from C11, on the simulator. */
#include "convt_jit/c_api.h"

#include <stdio.h>
#include <string.h>

static int failures = 0;

static void check(int holds, const char* what, int line) {
    if (holds) return;
    ++failures;
    fprintf(stderr, "line %d: %s; last error: %s\n", line, what, convt_last_error());
}
#define CHECK(condition) check(condition, #condition, __LINE__)
#define CHECK_SAYS(text) check(strstr(convt_last_error(), text) != NULL, "the error says " text, __LINE__)

static void computes(convt_engine* engine) {
    convt_kernel* kernel = NULL;
    CHECK(convt_prepare(engine, "c1 o1 k2 bias f32", CONVT_SIMULATOR, NULL, &kernel) == CONVT_OK);
    if (kernel == NULL) return;

    const int64_t input = 3;
    int64_t output = 0;
    CHECK(convt_output_size(kernel, &input, 1, &output) == CONVT_OK);
    CHECK(output == 4);

    const float x[2][3] = {{1, 2, 3}, {4, 5, 6}}, w[2] = {10, 1}, bias = 100;
    const float want[2][4] = {{110, 121, 132, 103}, {140, 154, 165, 106}};
    float y[2][4] = {{0}};
    convt_tensors tensors = {.x = x, .w = w, .bias = &bias, .y = y};
    CHECK(convt_launch(kernel, &tensors, 2, &input, 1, NULL) == CONVT_OK);
    CHECK(memcmp(y, want, sizeof want) == 0);

    tensors.bias = NULL;
    CHECK(convt_launch(kernel, &tensors, 2, &input, 1, NULL) == CONVT_LAYER_ERROR);
    CHECK_SAYS("bias");
    CHECK(convt_launch(kernel, NULL, 2, &input, 1, NULL) == CONVT_LAYER_ERROR);
    CHECK_SAYS("tensors");
    CHECK(convt_output_size(kernel, &input, 4, &output) == CONVT_LAYER_ERROR);
    CHECK(convt_output_size(kernel, NULL, 1, &output) == CONVT_LAYER_ERROR);
    CHECK_SAYS("input");

    CHECK(strcmp(convt_kernel_layer(kernel), "c1 o1 k2 bias f32") == 0);
    CHECK(strcmp(convt_kernel_family(kernel), "unrolled") == 0);
    CHECK(strlen(convt_kernel_arch(kernel)) > 0);
    CHECK(strlen(convt_kernel_origin(kernel)) > 0);
    CHECK(strcmp(convt_kernel_plan_origin(kernel), "default") == 0);

    /* The plan is taken back, and the kernel outlives a second one for the same layer. */
    convt_kernel* again = NULL;
    CHECK(convt_prepare(engine, "k2 o1 c1 bias", CONVT_SIMULATOR, convt_kernel_plan(kernel), &again) == CONVT_OK);
    CHECK(again != NULL && strcmp(convt_kernel_plan(again), convt_kernel_plan(kernel)) == 0);
    CHECK(strcmp(convt_kernel_plan_origin(again), "asked") == 0);
    convt_kernel_destroy(again);

    /* Nothing to do for this family, but the arguments are looked at. */
    CHECK(convt_pack_weights(kernel, w, 1, NULL) == CONVT_OK);
    CHECK(convt_pack_weights(kernel, NULL, 1, NULL) == CONVT_LAYER_ERROR);
    CHECK_SAYS("w is null");
    CHECK(convt_pack_weights(NULL, w, 1, NULL) == CONVT_LAYER_ERROR);

    /* Without waiting: the kernel is in memory already. */
    CHECK(convt_prepare_no_wait(engine, "c1 o1 k2 bias f32", CONVT_SIMULATOR, NULL, &again) == CONVT_OK);
    CHECK(convt_kernel_pending(again) == 0);
    CHECK(again != NULL && strcmp(convt_kernel_plan(again), convt_kernel_plan(kernel)) == 0);
    convt_kernel_destroy(again);
    CHECK(convt_kernel_pending(NULL) == 0);
    CHECK(convt_prepare_no_wait(engine, NULL, CONVT_SIMULATOR, NULL, &again) == CONVT_LAYER_ERROR);
    CHECK(again == NULL);
    tensors.bias = &bias;
    memset(y, 0, sizeof y);
    CHECK(convt_launch(kernel, &tensors, 2, &input, 1, NULL) == CONVT_OK);
    CHECK(memcmp(y, want, sizeof want) == 0);
    convt_kernel_destroy(kernel);
}

/* Weights that are packed once, under the version that the caller gives them. */
static void packs(convt_engine* engine) {
    convt_kernel* kernel = NULL;
    CHECK(convt_prepare(engine, "c8 o1 k1", CONVT_SIMULATOR, "implicit_gemm", &kernel) == CONVT_OK);
    if (kernel == NULL) return;
    const int64_t input = 1;
    const float x[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    float w[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y = 0;
    convt_tensors tensors = {.x = x, .w = w, .y = &y, .weights_version = 1};
    CHECK(convt_pack_weights(kernel, w, 1, NULL) == CONVT_OK);
    w[0] = 101;
    CHECK(convt_launch(kernel, &tensors, 1, &input, 1, NULL) == CONVT_OK && y == 36);
    tensors.weights_version = 2;
    CHECK(convt_launch(kernel, &tensors, 1, &input, 1, NULL) == CONVT_OK && y == 136);
    w[0] = 1;
    tensors.weights_version = 0;
    CHECK(convt_launch(kernel, &tensors, 1, &input, 1, NULL) == CONVT_OK && y == 36);
    uint64_t bytes = 1;
    CHECK(convt_workspace_bytes(kernel, 1, &input, 1, &bytes) == CONVT_OK && bytes == 0);
    CHECK(convt_workspace_bytes(kernel, 1, &input, 2, &bytes) == CONVT_LAYER_ERROR);
    CHECK(convt_workspace_bytes(kernel, 1, &input, 1, NULL) == CONVT_LAYER_ERROR);
    convt_kernel_destroy(kernel);
}

static void refuses(convt_engine* engine) {
    convt_kernel* kernel = (convt_kernel*)engine; /* anything but NULL */
    CHECK(convt_prepare(engine, "c1 o1 k0", CONVT_SIMULATOR, NULL, &kernel) == CONVT_LAYER_ERROR);
    CHECK_SAYS("k");
    CHECK(kernel == NULL);
    CHECK(convt_prepare(engine, NULL, CONVT_SIMULATOR, NULL, &kernel) == CONVT_LAYER_ERROR);
    CHECK_SAYS("layer");
    CHECK(convt_prepare(NULL, "c1 o1 k2", CONVT_SIMULATOR, NULL, &kernel) == CONVT_LAYER_ERROR);
    CHECK_SAYS("engine");
    CHECK(convt_prepare(engine, "c1 o1 k2", CONVT_SIMULATOR, NULL, NULL) == CONVT_LAYER_ERROR);
    CHECK_SAYS("kernel");
    CHECK(convt_prepare(engine, "c1 o1 k2", 9999, NULL, &kernel) == CONVT_DRIVER_ERROR);
    CHECK(convt_prepare(engine, "c1 o1 k2", CONVT_SIMULATOR, "no_such_family", &kernel) != CONVT_OK);
    CHECK_SAYS("no_such_family");
    CHECK(kernel == NULL);
    CHECK(convt_engine_create("", NULL) == CONVT_LAYER_ERROR);
    CHECK(convt_kernel_plan(NULL) == NULL);
    CHECK(convt_kernel_plan_origin(NULL) == NULL);
    convt_kernel_destroy(NULL);
    convt_engine_destroy(NULL);
}

int main(void) {
    CHECK(strlen(convt_version()) > 0);
    CHECK(strcmp(convt_last_error(), "") == 0);
    convt_engine* engine = NULL;
    CHECK(convt_engine_create("", &engine) == CONVT_OK);
    if (engine == NULL) return 1;
    computes(engine);
    packs(engine);
    refuses(engine);
    convt_engine_destroy(engine);
    if (failures == 0) puts("the C API holds");
    return failures != 0;
}
