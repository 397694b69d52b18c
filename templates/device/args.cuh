// Args: the one parameter of a kernel. The host includes this file too, so both sides share the layout.

struct ConvtArgs {
    const void* x;
    const void* w;
    const void* bias;
    const void* residual;
    const float* scale;
    const float* shift;
    void* y;
    long long batch;
    long long in[3];   // depth, height, width; missing axes are 1
    long long out[3];
    long long first_block[3];  // blockIdx counts from there: a launch may be a part of a grid (x, y, z)
    const void* packed;        // the weights as CONVT_PACK_ENTRY has left them; null for families without one
    float* workspace;          // partial sums of y, for CONVT_REDUCE_ENTRY; null for families without it
};

// Of the kernel that puts the weights into the order in which the main one loads them.
struct PackArgs {
    const void* w;
    void* packed;
};
