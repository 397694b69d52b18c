#include "onnx/epilogue.h"

#include "convt_jit/error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace convt_jit::onnx_import {
namespace {

using ::onnx::NodeProto;

enum class Step { none, scale, affine, residual, activation, clamp };

bool is_op(const NodeProto& node, std::string_view op) { return node.op_type() == op && is_onnx_domain(node.domain()); }

class Matcher {
public:
    Matcher(const Shape& output, const Layer& layer, const InferredGraph& graph, const Uses& uses, std::int64_t opset)
        : output_(output), channels_(layer.out_channels), graph_(graph), uses_(uses), opset_(opset) {
        type_ = layer.dtype == DType::f32   ? ::onnx::TensorProto::FLOAT
                : layer.dtype == DType::f16 ? ::onnx::TensorProto::FLOAT16
                                            : ::onnx::TensorProto::BFLOAT16;
    }

    EpilogueMatch match(const NodeProto& node) {
        value_ = node.output_size() > 0 ? node.output(0) : "";
        while (take_next()) {
        }
        return std::move(match_);
    }

private:
    // Takes what reads the value, and goes on to what that makes.
    bool take_next() {
        const auto readers = uses_.of(value_);
        if (readers.size() == 2) return take_gate(*readers[0], *readers[1]) || take_gate(*readers[1], *readers[0]);
        if (readers.size() != 1 || readers[0]->output_size() < 1 || !take(*readers[0])) return false;
        advance(*readers[0]);
        return true;
    }

    void advance(const NodeProto& node) {
        match_.nodes.push_back(&node);
        value_ = node.output(0);
    }

    bool take(const NodeProto& node) {
        try {
            if (is_op(node, "BatchNormalization")) return take_batch_normalization(node);
            if (is_op(node, "Add")) return take_add(node);
            if (is_op(node, "Mul")) return take_mul(node);
            if (is_op(node, "Clip")) return take_clip(node);
            return take_activation(node);
        } catch (const LayerError&) {
            return false;  // an attribute of a wrong type: it stays where it is
        }
    }

    [[nodiscard]] bool may(Step step) const { return last_ < step || (step == Step::affine && last_ == step); }
    void did(Step step) { last_ = step; }

    [[nodiscard]] const ::onnx::TensorProto* per_channel(const std::string& name) const {
        const Fact* const fact = graph_.find(name);
        if (fact == nullptr || fact->constant == nullptr || !is_floating(fact->type) || !fact->shape) return nullptr;
        return fact->shape->size() == 1 && (*fact->shape)[0].value == channels_ ? fact->constant : nullptr;
    }

    bool take_batch_normalization(const NodeProto& node) {
        const Attributes attributes(node);
        // In training it computes its own mean. Version 7 and later say so by their outputs, then by training_mode.
        const bool inference =
            opset_ < 7 ? attributes.integer("is_test", 0) != 0 && attributes.integer("spatial", 1) != 0
                       : attributes.integer("training_mode", 0) == 0 && attributes.integer("spatial", 1) != 0;
        if (!may(Step::affine) || !inference || node.output_size() != 1 || node.input_size() != 5 ||
            node.input(0) != value_)
            return false;
        AffineStep step{per_channel(node.input(1)), per_channel(node.input(2)), per_channel(node.input(3)),
                        per_channel(node.input(4)), attributes.real("epsilon", 1e-5F)};
        if (step.scale == nullptr || step.shift == nullptr || step.mean == nullptr || step.variance == nullptr)
            return false;
        add_affine(step);
        return true;
    }

    void add_affine(const AffineStep& step) {
        match_.affine.push_back(step);
        match_.epilogue.affine = true;
        did(Step::affine);
    }

    // The other operand of a binary node; empty where it is the value itself.
    [[nodiscard]] std::string other(const NodeProto& node) const {
        if (node.input_size() != 2) return {};
        return node.input(0) == value_ ? node.input(1) : node.input(0);
    }

    // A constant that broadcasts to one number, or to one per channel.
    [[nodiscard]] const ::onnx::TensorProto* channel_constant(const NodeProto& node) const {
        const Fact* const fact = graph_.find(other(node));
        if (fact == nullptr || fact->constant == nullptr || !is_floating(fact->type) || !fact->shape) return nullptr;
        const Shape& shape = *fact->shape;
        if (shape.size() > output_.size()) return nullptr;
        if (elements(shape) == 1) return fact->constant;
        if (Attributes(node).has("broadcast")) {  // before version 7: fitted from an axis on
            const bool at_channels = shape.size() == 1 && Attributes(node).integer("axis", -1) == 1;
            return at_channels && node.input(0) == value_ && shape[0].value == channels_ ? fact->constant : nullptr;
        }
        const std::size_t more = output_.size() - shape.size();
        for (std::size_t axis = 0; axis < shape.size(); ++axis)
            if (shape[axis].value != (axis + more == 1 ? channels_ : 1)) return nullptr;
        return fact->constant;
    }

    bool take_mul(const NodeProto& node) {
        const ::onnx::TensorProto* const factor = channel_constant(node);
        if (factor == nullptr) return false;
        const Fact& fact = *graph_.find(other(node));
        const bool one = elements(*fact.shape) == 1;
        const auto number = one && fact.reals && fact.reals->size() == 1 ? fact.reals->front() : std::nullopt;
        if (may(Step::scale) && number && std::isfinite(static_cast<float>(*number))) {
            match_.epilogue.scale = static_cast<float>(*number);
            did(Step::scale);
            return true;
        }
        if (!may(Step::affine)) return false;
        add_affine({factor, nullptr, nullptr, nullptr, 0});
        return true;
    }

    bool take_add(const NodeProto& node) {
        if (const ::onnx::TensorProto* const offset = channel_constant(node); offset != nullptr && may(Step::affine)) {
            add_affine({nullptr, offset, nullptr, nullptr, 0});
            return true;
        }
        const std::string name = other(node);
        const Fact* const fact = graph_.find(name);
        if (!may(Step::residual) || name.empty() || fact == nullptr || !fact->shape || fact->type != type_)
            return false;
        const bool same =
            fact->shape->size() == output_.size() && std::equal(output_.begin(), output_.end(), fact->shape->begin(),
                                                                [](const Dim& a, const Dim& b) { return a.same(b); });
        if (!same) return false;
        match_.epilogue.residual = true;
        match_.residual = name;
        did(Step::residual);
        return true;
    }

    bool take_activation(const NodeProto& node) {
        if (!may(Step::activation) || node.input_size() != 1) return false;
        const Attributes attributes(node);
        Epilogue& epilogue = match_.epilogue;
        if (is_op(node, "Relu")) {
            epilogue.activation = Activation::relu;
        } else if (is_op(node, "LeakyRelu")) {
            const float slope = attributes.real("alpha", 0.01F);
            if (!std::isfinite(slope)) return false;
            epilogue.activation = Activation::leaky_relu;
            epilogue.negative_slope = slope;
        } else if (is_op(node, "Gelu") && attributes.text("approximate", "none") == "none") {
            epilogue.activation = Activation::gelu;
        } else if (is_op(node, "Tanh")) {
            epilogue.activation = Activation::tanh;
        } else if (is_op(node, "Sigmoid")) {
            epilogue.activation = Activation::sigmoid;
        } else if (is_op(node, "HardSwish")) {
            epilogue.activation = Activation::hardswish;
        } else if (is_op(node, "Swish") && attributes.real("alpha", 1) == 1) {
            epilogue.activation = Activation::silu;
        } else {
            return false;
        }
        did(Step::activation);
        return true;
    }

    // v*sigmoid(v) and v*hard_sigmoid(v), as exporters write them where there is no operator of that name.
    bool take_gate(const NodeProto& gate, const NodeProto& product) {
        if (!may(Step::activation) || gate.output_size() != 1 || gate.input_size() != 1 || !is_op(product, "Mul") ||
            product.output_size() != 1 || uses_.only(gate.output(0)) != &product || other(product) != gate.output(0))
            return false;
        if (is_op(gate, "Sigmoid"))
            match_.epilogue.activation = Activation::silu;
        else if (is_hardswish_gate(gate))
            match_.epilogue.activation = Activation::hardswish;
        else
            return false;
        did(Step::activation);
        match_.nodes.push_back(&gate);
        advance(product);
        return true;
    }

    [[nodiscard]] static bool is_hardswish_gate(const NodeProto& node) try {
        const Attributes attributes(node);
        return is_op(node, "HardSigmoid") && std::abs(attributes.real("alpha", 0.2F) - 1.0F / 6) < 1e-6F &&
               attributes.real("beta", 0.5F) == 0.5F;
    } catch (const LayerError&) {
        return false;
    }

    // A bound: from an attribute, an input, or not there at all.
    [[nodiscard]] std::optional<float> bound(const NodeProto& node, const char* attribute, int input,
                                             float otherwise) const {
        const Attributes attributes(node);
        if (attributes.has(attribute)) return attributes.real(attribute, otherwise);
        if (input >= node.input_size() || node.input(input).empty()) return otherwise;
        const Fact* const fact = graph_.find(node.input(input));
        if (fact == nullptr || !fact->reals || fact->reals->size() != 1 || !fact->reals->front()) return std::nullopt;
        return static_cast<float>(*fact->reals->front());
    }

    bool take_clip(const NodeProto& node) {
        constexpr float kInfinity = std::numeric_limits<float>::infinity();
        if (!may(Step::clamp) || node.input_size() < 1 || node.input(0) != value_) return false;
        std::optional<float> low = bound(node, "min", 1, -kInfinity), high = bound(node, "max", 2, kInfinity);
        if (!low || !high) return false;
        // The first versions have the largest finite numbers for no bound.
        if (*low == std::numeric_limits<float>::lowest()) low = -kInfinity;
        if (*high == std::numeric_limits<float>::max()) high = kInfinity;
        if (!(*low <= *high)) return false;
        match_.epilogue.clamp = {*low, *high};
        did(Step::clamp);
        return true;
    }

    const Shape& output_;
    std::int64_t channels_;
    const InferredGraph& graph_;
    const Uses& uses_;
    std::int64_t opset_;
    int type_ = 0;
    std::string value_;
    Step last_ = Step::none;
    EpilogueMatch match_;
};

}  // namespace

EpilogueMatch match_epilogue(const NodeProto& node, const Shape& output, const Layer& layer, const InferredGraph& graph,
                             const Uses& uses, std::int64_t opset) {
    return Matcher(output, layer, graph, uses, opset).match(node);
}

}  // namespace convt_jit::onnx_import
