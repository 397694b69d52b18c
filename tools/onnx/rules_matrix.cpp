// Rules of matrix products and of recurrent layers.

#include "convt_jit/error.h"
#include "onnx/rules.h"

#include <fmt/format.h>

namespace convt_jit::onnx_import {
namespace {

int first_type(const Node& node) { return node.input(0) == nullptr ? 0 : node.input(0)->type; }

void expect_axes(const Node& node, std::size_t input, std::size_t least) {
    if (node.shape(input).size() < least)
        throw LayerError(fmt::format("input {}", input), to_string(node.shape(input)), fmt::format("{} axes", least));
}

// As numpy.matmul: vectors are rows on the left and columns on the right, and what is in front is broadcast.
void mat_mul(Node& node) {
    expect_axes(node, 0, 1);
    expect_axes(node, 1, 1);
    Shape a = node.shape(0), b = node.shape(1);
    const bool row = a.size() == 1, column = b.size() == 1;
    if (row) a.insert(a.begin(), known(1));
    if (column) b.push_back(known(1));
    const Dim rows = a[a.size() - 2], columns = b.back();
    a.resize(a.size() - 2);
    b.resize(b.size() - 2);
    Shape shape = broadcast(node, a, b);
    if (!row) shape.push_back(rows);
    if (!column) shape.push_back(columns);
    node.set(0, std::move(shape), first_type(node));
}

void gemm(Node& node) {
    expect_axes(node, 0, 2);
    expect_axes(node, 1, 2);
    const bool turned_a = node.attributes.integer("transA", 0) != 0;
    const bool turned_b = node.attributes.integer("transB", 0) != 0;
    node.set(0, {node.shape(0)[turned_a ? 1 : 0], node.shape(1)[turned_b ? 0 : 1]}, first_type(node));
}

// RNN, GRU and LSTM: X is (sequence, batch, input), or with `layout` 1 (batch, sequence, input).
void recurrent(Node& node) {
    expect_axes(node, 0, 3);
    const Shape& x = node.shape(0);
    const std::int64_t hidden = node.attributes.integer("hidden_size", 0);
    if (hidden < 1) throw LayerError("hidden_size", std::to_string(hidden), "1 or more");
    const Dim directions = known(node.attributes.text("direction", "forward") == "bidirectional" ? 2 : 1);
    const bool batch_first = node.attributes.integer("layout", 0) != 0;
    const int type = first_type(node);
    if (batch_first) {
        node.set(0, {x[0], x[1], directions, known(hidden)}, type);
        for (const std::size_t state : {1U, 2U}) node.set(state, {x[0], directions, known(hidden)}, type);
    } else {
        node.set(0, {x[0], directions, x[1], known(hidden)}, type);
        for (const std::size_t state : {1U, 2U}) node.set(state, {directions, x[1], known(hidden)}, type);
    }
}

}  // namespace

const Rules& matrix_rules() {
    static const Rules rules = {
        {"MatMul", mat_mul}, {"Gemm", gemm}, {"RNN", recurrent}, {"GRU", recurrent}, {"LSTM", recurrent}};
    return rules;
}

}  // namespace convt_jit::onnx_import
