// Writes the models that fuzzing of the ONNX importer begins with into a directory: each operator that has a rule, and
// what an epilogue is made of.

#include "onnx_model.h"

#include <fstream>
#include <string>

using namespace convt_jit::test;

namespace {

using Ints = std::vector<std::int64_t>;

std::string directory;
int written = 0;

void write(const ModelProto& model) {
    std::ofstream(directory + "/seed" + std::to_string(written++) + ".onnx", std::ios::binary)
        << model.SerializeAsString();
}

// x -> the operator -> ConvTranspose -> Relu.
template <class Edit>
void write_op(const std::string& op, const Ints& x, const std::vector<std::string>& inputs, std::int64_t opset,
              const Edit& edit) {
    ModelProto model = make_model(opset);
    GraphProto& graph = *model.mutable_graph();
    add_input(graph, "x", x);
    *graph.add_initializer() = ints_tensor("i", {1, 8, -1, 3});
    *graph.add_initializer() = ints_tensor("j", {2, 4});
    *graph.add_initializer() = tensor_of("f", {4}, {1, 1, 2, 2});
    edit(add_node(graph, op, inputs, {"v"}));
    add_weights(graph, "w", {8, 2, 2, 2});
    add_node(graph, "ConvTranspose", {"v", "w"}, {"c"});
    add_node(graph, "Relu", {"c"}, {"y"});
    add_output(graph, "y");
    write(model);
}

void write_operators() {
    const auto plain = [](NodeProto&) {};
    const Ints x = {-1, 8, -2, 6};
    for (const char* op : {"Relu", "Flatten", "Squeeze", "Transpose", "GlobalAveragePool", "Shape", "Size", "Dropout",
                           "ReduceMean", "ArgMax", "IsNaN"})
        write_op(op, x, {"x"}, 13, plain);
    for (const char* op : {"Reshape", "Unsqueeze", "Expand", "Tile", "Split", "ReduceSum"})
        write_op(op, x, {"x", "i"}, 13, plain);
    for (const char* op :
         {"Add", "Mul", "MatMul", "Gemm", "Gather", "Concat", "Equal", "Conv", "CastLike", "GridSample"})
        write_op(op, x, {"x", "x"}, 13, plain);
    write_op("Where", x, {"x", "x", "x"}, 13, plain);
    write_op("Slice", x, {"x", "j", "j", "j", "j"}, 13, plain);
    write_op("Pad", x, {"x", "i"}, 18, plain);
    write_op("Range", x, {"j", "j", "j"}, 13, plain);
    write_op("ConstantOfShape", x, {"i"}, 13, plain);
    write_op("Resize", x, {"x", "", "f"}, 13, plain);
    write_op("Resize", x, {"x", "", "", "i"}, 13, plain);
    write_op("Upsample", x, {"x", "f"}, 9, plain);
    write_op("Cast", x, {"x"}, 13, [](NodeProto& node) { set(node, "to", std::int64_t{1}); });
    write_op("LSTM", x, {"x", "x"}, 13, [](NodeProto& node) { set(node, "hidden_size", std::int64_t{4}); });
    write_op("DepthToSpace", x, {"x"}, 13, [](NodeProto& node) { set(node, "blocksize", std::int64_t{2}); });
    write_op("MaxPool", x, {"x"}, 13, [](NodeProto& node) {
        set(node, "kernel_shape", Ints{2, 2});
        set(node, "strides", Ints{2, 2});
        set(node, "pads", Ints{0, 1, 1, 0});
        set(node, "ceil_mode", std::int64_t{1});
    });
    write_op("Constant", x, {}, 13, [](NodeProto& node) { set(node, "value_ints", Ints{1, 2}); });
}

void write_conv_transposes() {
    ModelProto model = one_node({-1, 4, 5, 6}, {4, 3, 3, 3});
    NodeProto& node = *model.mutable_graph()->mutable_node(0);
    set(node, "group", std::int64_t{2});
    set(node, "strides", Ints{2, 3});
    set(node, "dilations", Ints{2, 1});
    set(node, "output_padding", Ints{1, 0});
    set(node, "kernel_shape", Ints{3, 3});
    write(model);
    set(node, "auto_pad", std::string("SAME_UPPER"));
    write(model);
    set(node, "output_shape", Ints{12, 18});
    write(model);
    ModelProto external = one_node({1, 1, 5}, {1, 1, 3}, 1);
    TensorProto& weights = *external.mutable_graph()->mutable_initializer(0);
    weights.clear_raw_data();
    weights.set_data_location(TensorProto::EXTERNAL);
    for (const auto& [key, value] : {std::pair("location", "w.bin"), {"offset", "0"}, {"length", "12"}}) {
        auto* const entry = weights.add_external_data();
        entry->set_key(key);
        entry->set_value(value);
    }
    write(external);
}

void write_epilogues() {
    ModelProto model = one_node({2, 3, 5, 5}, {3, 4, 2, 2});
    GraphProto& graph = *model.mutable_graph();
    graph.clear_output();
    add_weights(graph, "k", {4});
    *graph.add_initializer() = tensor_of("s", {}, {0.5F});
    add_input(graph, "skip", {2, 4, 6, 6});
    add_node(graph, "Mul", {"y", "s"}, {"a"});
    add_node(graph, "BatchNormalization", {"a", "k", "k", "k", "k"}, {"b"});
    add_node(graph, "Add", {"b", "skip"}, {"c"});
    add_node(graph, "Sigmoid", {"c"}, {"d"});
    add_node(graph, "Mul", {"c", "d"}, {"e"});
    add_node(graph, "Clip", {"e", "s"}, {"f"});
    add_output(graph, "f");
    write(model);
    NodeProto& choice = add_node(graph, "If", {"s"}, {"z"}, "if");
    for (const char* branch : {"then_branch", "else_branch"}) {
        GraphProto& inner = *add_attribute(choice, branch, AttributeProto::GRAPH).mutable_g();
        add_node(inner, "ConvTranspose", {"skip", "w"}, {branch});
        add_output(inner, branch);
    }
    write(model);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    directory = argv[1];
    write_operators();
    write_conv_transposes();
    write_epilogues();
}
