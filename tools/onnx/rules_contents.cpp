// Contents of small tensors, which exporters compute shapes with: Shape, Gather, Concat, arithmetic between them.

#include "convt_jit/error.h"
#include "onnx/rules.h"
#include "onnx/tensor.h"

#include <algorithm>
#include <cmath>

namespace convt_jit::onnx_import {
namespace {

using Ints = std::vector<Dim>;
using Reals = std::vector<std::optional<double>>;

void set(Node& node, Ints values) {
    if (values.size() <= kMaxContents) node.outputs[0].ints = std::make_shared<const Ints>(std::move(values));
}
void set(Node& node, Reals values) {
    if (values.size() <= kMaxContents) node.outputs[0].reals = std::make_shared<const Reals>(std::move(values));
}

void copied(Node& node) {
    if (node.input(0) == nullptr) return;
    node.outputs[0].ints = node.input(0)->ints;
    node.outputs[0].reals = node.input(0)->reals;
}

// Which entries of a list are taken: start, end and step as they end up within it.
template <class List>
List taken(const List& list, std::int64_t start, std::int64_t end, std::int64_t step) {
    const auto size = static_cast<std::int64_t>(list.size());
    const auto clamped = [&](std::int64_t at, std::int64_t low, std::int64_t high) {
        if (at < 0) at = std::max(at, -size - 1) + size;
        return std::min(std::max(at, low), high);
    };
    List result;
    if (step > 0) {
        const std::int64_t last = clamped(end, 0, size);
        for (std::int64_t i = clamped(start, 0, size); i < last; i += std::min(step, size)) result.push_back(list[i]);
    } else if (step < 0) {
        const std::int64_t last = clamped(end, -1, size - 1);
        for (std::int64_t i = clamped(start, -1, size - 1); i > last; i += std::max(step, -size - 1))
            result.push_back(list[i]);
    }
    return result;
}

void shape(Node& node) {
    const auto rank = static_cast<std::int64_t>(node.shape(0).size());
    set(node, taken(node.shape(0), node.attributes.integer("start", 0), node.attributes.integer("end", rank), 1));
}

void size(Node& node) {
    const auto count = elements(node.shape(0));
    set(node, Ints{count ? known(*count) : Dim{}});
}

bool is_list(const Node& node, std::size_t input) {
    return node.input(input) != nullptr && node.input(input)->shape && node.input(input)->shape->size() == 1;
}

void gather(Node& node) {
    if (!is_list(node, 0) || node.input(0)->ints == nullptr) return;
    const Ints& list = *node.input(0)->ints;
    Ints picked;
    for (const std::int64_t index : node.known_ints(1)) picked.push_back(list[axis_of("indices", index, list.size())]);
    set(node, std::move(picked));
}

template <class List>
void append(const std::shared_ptr<const List>& more, std::optional<List>& list) {
    if (more == nullptr)
        list.reset();
    else if (list && list->size() <= kMaxContents)
        list->insert(list->end(), more->begin(), more->end());
}

void concat(Node& node) {
    std::optional<Ints> ints = Ints{};
    std::optional<Reals> reals = Reals{};
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
        if (!is_list(node, i)) return;
        append(node.input(i)->ints, ints);
        append(node.input(i)->reals, reals);
    }
    if (ints) set(node, std::move(*ints));
    if (reals) set(node, std::move(*reals));
}

void slice(Node& node) {
    if (!is_list(node, 0)) return;
    const auto starts = node.ints_of("starts", 1), ends = node.ints_of("ends", 2);
    std::int64_t step = 1;
    if (node.input(4) != nullptr) {
        const std::vector<std::int64_t> steps = node.known_ints(4);
        if (steps.size() != 1) return;
        step = steps[0];
    }
    if (!starts || !ends || starts->size() != 1 || ends->size() != 1) return;
    if (node.input(0)->ints) set(node, taken(*node.input(0)->ints, (*starts)[0], (*ends)[0], step));
    if (node.input(0)->reals) set(node, taken(*node.input(0)->reals, (*starts)[0], (*ends)[0], step));
}

void cast(Node& node) {
    constexpr double kMost = 9e18;  // within 64 bits
    const Fact* const from = node.input(0);
    const int type = node.outputs[0].type;
    const bool to_real = type == ::onnx::TensorProto::FLOAT || type == ::onnx::TensorProto::DOUBLE;
    const bool to_int = type == ::onnx::TensorProto::INT64 || type == ::onnx::TensorProto::INT32;
    if (from == nullptr) return;
    if (to_real && from->ints) {
        Reals reals;
        for (const Dim& dim : *from->ints)
            reals.push_back(dim.value ? std::optional(static_cast<double>(*dim.value)) : std::nullopt);
        set(node, std::move(reals));
    } else if (to_int && from->reals) {
        Ints ints;
        for (const auto& real : *from->reals)
            ints.push_back(real && std::abs(*real) < kMost ? known(static_cast<std::int64_t>(*real)) : Dim{});
        set(node, std::move(ints));
    } else if ((to_real && from->reals) || (to_int && from->ints)) {
        copied(node);
    }
}

// One entry goes with all of the other.
template <class List, class Function>
void pairwise(Node& node, const List& a, const List& b, const Function& function) {
    if (a.empty() || b.empty() || (a.size() != b.size() && a.size() != 1 && b.size() != 1)) return;
    List result;
    for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i)
        result.push_back(function(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]));
    set(node, std::move(result));
}

template <class OfInts, class OfReals>
void arithmetic(Node& node, const OfInts& of_ints, const OfReals& of_reals) {
    const Fact *const a = node.input(0), *const b = node.input(1);
    if (a == nullptr || b == nullptr || node.inputs.size() != 2) return;
    // Lists alone: what is in more axes is not laid out here.
    if (!node.outputs[0].shape || node.outputs[0].shape->size() > 1) return;
    if (a->ints && b->ints)
        pairwise(node, *a->ints, *b->ints, [&](const Dim& x, const Dim& y) {
            std::int64_t result = 0;
            if (!x.value || !y.value) return computed_from(x.value ? y : x);
            return of_ints(*x.value, *y.value, result) ? known(result) : Dim{};
        });
    if (a->reals && b->reals)
        pairwise(node, *a->reals, *b->reals,
                 [&](const auto& x, const auto& y) { return x && y ? std::optional(of_reals(*x, *y)) : std::nullopt; });
}

void add(Node& node) {
    arithmetic(
        node, [](auto x, auto y, auto& r) { return !__builtin_add_overflow(x, y, &r); },
        [](double x, double y) { return x + y; });
}
void subtract(Node& node) {
    arithmetic(
        node, [](auto x, auto y, auto& r) { return !__builtin_sub_overflow(x, y, &r); },
        [](double x, double y) { return x - y; });
}
void multiply(Node& node) {
    arithmetic(
        node, [](auto x, auto y, auto& r) { return !__builtin_mul_overflow(x, y, &r); },
        [](double x, double y) { return x * y; });
}
void divide(Node& node) {
    arithmetic(
        node,
        [](auto x, auto y, auto& r) {
            if (y == 0 || y == -1) return false;
            r = x / y;
            return true;
        },
        [](double x, double y) { return x / y; });
}
void least(Node& node) {
    arithmetic(
        node,
        [](auto x, auto y, auto& r) {
            r = std::min(x, y);
            return true;
        },
        [](double x, double y) { return std::min(x, y); });
}
void greatest(Node& node) {
    arithmetic(
        node,
        [](auto x, auto y, auto& r) {
            r = std::max(x, y);
            return true;
        },
        [](double x, double y) { return std::max(x, y); });
}
void equal(Node& node) {
    arithmetic(
        node,
        [](auto x, auto y, auto& r) {
            r = x == y ? 1 : 0;
            return true;
        },
        [](double, double) { return 0.0; });
    node.outputs[0].reals.reset();
}

void where(Node& node) {
    const Fact *const which = node.input(0), *const yes = node.input(1), *const no = node.input(2);
    if (which == nullptr || yes == nullptr || no == nullptr || !which->ints || !yes->ints || !no->ints) return;
    const std::size_t size = which->ints->size();
    if (yes->ints->size() != size || no->ints->size() != size) return;
    Ints result;
    for (std::size_t i = 0; i < size; ++i) {
        const auto& choice = (*which->ints)[i].value;
        result.push_back(!choice ? Dim{} : *choice != 0 ? (*yes->ints)[i] : (*no->ints)[i]);
    }
    set(node, std::move(result));
}

template <double (*Function)(double)>
void rounded(Node& node) {
    if (node.input(0) == nullptr || !node.input(0)->reals) return;
    Reals reals = *node.input(0)->reals;
    for (auto& real : reals)
        if (real) real = Function(*real);
    set(node, std::move(reals));
}

double floor_of(double value) { return std::floor(value); }
double ceil_of(double value) { return std::ceil(value); }

void constant(Node& node) {
    if (node.outputs[0].constant != nullptr) return;  // inference has read it
    const Attributes& given = node.attributes;
    if (given.has("value_int")) set(node, Ints{known(given.integer("value_int", 0))});
    if (given.has("value_float")) set(node, Reals{static_cast<double>(given.real("value_float", 0))});
    if (const auto values = given.integers("value_ints"); values && values->size() <= kMaxContents) {
        Ints ints;
        for (const std::int64_t value : *values) ints.push_back(known(value));
        set(node, std::move(ints));
    }
    if (const auto values = given.reals("value_floats"); values && values->size() <= kMaxContents)
        set(node, Reals(values->begin(), values->end()));
}

void constant_of_shape(Node& node) {
    const auto count = node.outputs[0].shape ? elements(*node.outputs[0].shape) : std::nullopt;
    const ::onnx::TensorProto* const value = node.attributes.tensor("value");
    if (!count || *count > static_cast<std::int64_t>(kMaxContents) || value == nullptr) return;
    const Fact one = fact_of(*value, nullptr);
    if (one.ints && one.ints->size() == 1) set(node, Ints(static_cast<std::size_t>(*count), one.ints->front()));
    if (one.reals && one.reals->size() == 1) set(node, Reals(static_cast<std::size_t>(*count), one.reals->front()));
}

}  // namespace

const Rules& contents_rules() {
    static const Rules rules = {{"Shape", shape},
                                {"Size", size},
                                {"Gather", gather},
                                {"Concat", concat},
                                {"Slice", slice},
                                {"Squeeze", copied},
                                {"Unsqueeze", copied},
                                {"Reshape", copied},
                                {"Flatten", copied},
                                {"Cast", cast},
                                {"Add", add},
                                {"Sub", subtract},
                                {"Mul", multiply},
                                {"Div", divide},
                                {"Min", least},
                                {"Max", greatest},
                                {"Equal", equal},
                                {"Where", where},
                                {"Floor", rounded<floor_of>},
                                {"Ceil", rounded<ceil_of>},
                                {"Constant", constant},
                                {"ConstantOfShape", constant_of_shape}};
    return rules;
}

}  // namespace convt_jit::onnx_import
