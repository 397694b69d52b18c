// Args: the one parameter of every kernel. The host includes this file too, so both sides share the layout.

struct ConvtArgs {
    const void* x;
    const void* w;
    const void* bias;
    const void* residual;
    const float* scale;
    const float* shift;
    void* y;
    const void* packed;  // weights in the order of the family's own
    long long batch;
    long long in[3];   // depth, height, width; missing axes are 1
    long long out[3];
    long long first_block[3];  // blockIdx counts from there: a launch may be a part of a grid (x, y, z)
};
