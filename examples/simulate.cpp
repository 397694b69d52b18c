// Runs one layer on the simulator, where there is no GPU, and holds the result against the definition in f64.
#include <convt_jit/convt_jit.h>

#include <cstdio>
#include <vector>

int main() try {
    using namespace convt_jit;
    const Layer layer = parse_layer("n2 c8 o12 in5x7 k3x5 s2x3 p1x2 d2x1 g4 bias f32");
    const Shape shape = known_shape(layer);

    Engine engine;
    PrepareOptions options;
    options.device = Device::simulator();
    const Kernel kernel = engine.prepare(layer, options);
    std::printf("layer  %s\nplan   %s\n", kernel.info().layer.c_str(), kernel.info().plan.c_str());

    const HostTensors numbers = random_tensors(layer, shape, 1);
    const auto x = encode(layer.dtype, numbers.x);
    const auto w = encode(layer.dtype, numbers.w);
    const auto bias = encode(layer.dtype, numbers.bias);
    std::vector<unsigned char> y(static_cast<std::size_t>(sizes(layer, shape).y) * size_of(layer.dtype));

    Tensors tensors;
    tensors.x = x.data();
    tensors.w = w.data();
    tensors.bias = bias.data();
    tensors.y = y.data();
    kernel.launch(tensors, shape);

    const Errors errors = compare(decode(layer.dtype, y), reference(layer, shape, numbers), layer.dtype);
    const bool right = errors.rel_l2 <= tolerance(layer);
    std::printf("output %s\nrel_l2 %.2e of at most %.2e: %s\n", to_string(output_size(layer, shape.input)).c_str(),
                errors.rel_l2, tolerance(layer), right ? "right" : "WRONG");
    return right ? 0 : 1;
} catch (const convt_jit::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
