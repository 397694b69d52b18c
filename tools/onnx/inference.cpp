#include "onnx/inference.h"

#include "convt_jit/error.h"
#include "onnx/rules.h"

#include <fmt/format.h>

#include <utility>

namespace convt_jit::onnx_import {
namespace {

constexpr std::size_t kMostValues = std::size_t{1} << 20;
constexpr std::size_t kMostContents = std::size_t{1} << 20;  // of all small tensors together
constexpr std::size_t kLongestReason = 400, kLongestName = 200;

using TypeInfo = std::unordered_map<std::string_view, const ::onnx::TypeProto*>;

class Inference {
public:
    Inference(const ShapeBinding& binding, const ReadExternal& read, std::int64_t opset)
        : binding_(binding), read_(read), opset_(opset) {}

    std::unique_ptr<InferredGraph> graph(const ::onnx::GraphProto& graph, const InferredGraph* outer,
                                         const std::string& path) {
        auto inferred = std::make_unique<InferredGraph>();
        inferred->graph = &graph;
        inferred->outer = outer;
        inferred->path = path;
        add_inputs(*inferred);
        add_initializers(*inferred);
        TypeInfo declared;
        for (const auto& value : graph.value_info()) declared[value.name()] = &value.type();
        for (const auto& value : graph.output()) declared[value.name()] = &value.type();
        for (const auto& node : graph.node()) add_node(*inferred, node, declared);
        return inferred;
    }

private:
    void count_value() {
        if (++values_ > kMostValues)
            throw LayerError("the number of values", fmt::format("above {}", kMostValues),
                             fmt::format("up to {}", kMostValues));
    }

    void add_inputs(InferredGraph& inferred) {
        for (const auto& input : inferred.graph->input()) {
            count_value();
            Fact fact;
            add_declared(fact, input.type());
            const auto bound = binding_.inputs.find(input.name());
            if (inferred.outer == nullptr && bound != binding_.inputs.end()) {
                fact.shape.emplace();
                for (const std::int64_t size : bound->second) fact.shape->push_back(known(size));
            }
            if (!fact.shape)
                fact.why = reason(fmt::format("the model gives its input \"{}\" no shape", cut(input.name())));
            inferred.facts[input.name()] = std::move(fact);
        }
    }

    // Old exporters list them among the inputs, too.
    void add_initializers(InferredGraph& inferred) {
        for (const auto& tensor : inferred.graph->initializer()) {
            count_value();
            inferred.facts[tensor.name()] =
                fact_of_constant(tensor, fmt::format("initializer \"{}\"", cut(tensor.name())));
        }
        for (const auto& sparse : inferred.graph->sparse_initializer()) {
            count_value();
            Fact fact;
            fact.type = sparse.values().data_type();
            if (static_cast<std::size_t>(sparse.dims_size()) <= kMaxRank) {
                fact.shape.emplace();
                for (const std::int64_t dim : sparse.dims()) fact.shape->push_back(dim < 0 ? Dim{} : known(dim));
            }
            inferred.facts[sparse.values().name()] = std::move(fact);
        }
    }

    Fact fact_of_constant(const ::onnx::TensorProto& tensor, const std::string& what) {
        Fact fact;
        try {
            fact = fact_of(tensor, read_);
        } catch (const LayerError& error) {
            fact.why = reason(fmt::format("{}: {}", what, error.what()));
        }
        limit_contents(fact);
        return fact;
    }

    void add_node(InferredGraph& inferred, const ::onnx::NodeProto& proto, const TypeInfo& declared) {
        Node node = node_of(proto, inferred, opset_);
        node.outputs.resize(static_cast<std::size_t>(proto.output_size()));
        std::string why;
        if (proto.op_type() == "If" || proto.op_type() == "Loop" || proto.op_type() == "Scan")
            why = add_inner(inferred, node);
        else
            why = apply_rule(node);
        for (int i = 0; i < proto.output_size(); ++i) {
            const std::string& name = proto.output(i);
            if (name.empty()) continue;  // left out
            count_value();
            Fact& fact = node.outputs[static_cast<std::size_t>(i)];
            if (const auto type = declared.find(name); type != declared.end()) add_declared(fact, *type->second);
            if (!fact.shape && !fact.why) fact.why = reason(why);
            limit_contents(fact);
            if (!inferred.facts.emplace(name, std::move(fact)).second)
                throw LayerError(fmt::format("{} output {}", title(proto), i), fmt::format("\"{}\"", cut(name)),
                                 "a name that nothing else in its graph has");
        }
    }

    // Says why it told nothing.
    std::string apply_rule(Node& node) {
        const bool own = is_onnx_domain(node.proto.domain());
        const std::string& op = node.proto.op_type();
        const Rule rule = own ? find_rule(op) : nullptr;
        if (rule == nullptr)
            return fmt::format("{}{}{} is an operator whose shapes are not known here", title(node.proto),
                               own ? "" : " of domain ", own ? "" : fmt::format("\"{}\"", cut(node.proto.domain())));
        const Rule contents = find_contents_rule(op);
        try {
            if (const auto* const tensor = op == "Constant" ? node.attributes.tensor("value") : nullptr;
                tensor != nullptr && !node.outputs.empty())
                node.outputs[0] = fact_of_constant(*tensor, title(node.proto));
            rule(node);
        } catch (const UnknownShape& unknown) {
            return unknown.why;
        } catch (const LayerError& error) {
            return fmt::format("{}: {}", title(node.proto), error.what());
        }
        try {
            if (contents != nullptr && !node.outputs.empty()) contents(node);
        } catch (const UnknownShape&) {
        } catch (const LayerError&) {
            // Shapes that are computed from it will miss it.
        }
        return {};
    }

    std::string add_inner(InferredGraph& inferred, Node& node) {
        const std::string name =
            !node.proto.name().empty() || node.proto.output_size() == 0 ? node.proto.name() : node.proto.output(0);
        std::vector<const InferredGraph*> branches;
        for (const auto& attribute : node.proto.attribute()) {
            if (!attribute.has_g()) continue;
            inferred.inner.push_back(
                graph(attribute.g(), &inferred,
                      cut(fmt::format("{}{}/{}/", inferred.path, cut(name), cut(attribute.name())))));
            branches.push_back(inferred.inner.back().get());
        }
        if (node.proto.op_type() != "If" || branches.size() != 2)
            return fmt::format("{} makes it, whose rounds may make other shapes", title(node.proto));
        for (std::size_t i = 0; i < node.outputs.size(); ++i) join(node.outputs[i], i, *branches[0], *branches[1]);
        return fmt::format("the branches of {} make other shapes", title(node.proto));
    }

    static void join(Fact& fact, std::size_t output, const InferredGraph& a, const InferredGraph& b) {
        const auto index = static_cast<int>(output);
        if (index >= a.graph->output_size() || index >= b.graph->output_size()) return;
        const Fact *const one = a.find(a.graph->output(index).name()), *const two =
                                                                           b.find(b.graph->output(index).name());
        if (one == nullptr || two == nullptr || !one->shape || !two->shape) return;
        if (one->shape->size() != two->shape->size()) return;
        fact.type = one->type == two->type ? one->type : 0;
        fact.shape = one->shape;
        for (std::size_t axis = 0; axis < one->shape->size(); ++axis)
            if (!(*one->shape)[axis].same((*two->shape)[axis]))
                (*fact.shape)[axis] = computed_from((*one->shape)[axis]);
    }

    // What the model says of it counts where nothing was inferred.
    void add_declared(Fact& fact, const ::onnx::TypeProto& type) const {
        if (!type.has_tensor_type()) return;
        const auto& tensor = type.tensor_type();
        if (fact.type == 0) fact.type = tensor.elem_type();
        if (!tensor.has_shape() || static_cast<std::size_t>(tensor.shape().dim_size()) > kMaxRank) return;
        const Shape declared = binding_.declared(tensor.shape());
        if (!fact.shape) {
            fact.shape = declared;
            return;
        }
        if (fact.shape->size() != declared.size()) return;
        for (std::size_t axis = 0; axis < declared.size(); ++axis) {
            Dim& dim = (*fact.shape)[axis];
            const bool named = !dim.symbol.empty() && dim.symbol.front() != '~';
            if (!dim.value && (declared[axis].value || (!named && !declared[axis].symbol.empty())))
                dim = declared[axis];
        }
    }

    void limit_contents(Fact& fact) {
        contents_ += (fact.ints ? fact.ints->size() : 0) + (fact.reals ? fact.reals->size() : 0);
        if (contents_ <= kMostContents) return;
        fact.ints.reset();
        fact.reals.reset();
    }

    static std::shared_ptr<const std::string> reason(const std::string& text) {
        if (text.empty()) return nullptr;
        return std::make_shared<const std::string>(text.substr(0, kLongestReason));
    }
    static std::string cut(const std::string& name) { return name.substr(0, kLongestName); }

    const ShapeBinding& binding_;
    const ReadExternal& read_;
    std::int64_t opset_;
    std::size_t values_ = 0, contents_ = 0;
};

}  // namespace

const Fact* InferredGraph::find(std::string_view name) const {
    for (const InferredGraph* scope = this; scope != nullptr; scope = scope->outer)
        if (const auto place = scope->facts.find(name); place != scope->facts.end()) return &place->second;
    return nullptr;
}

bool is_onnx_domain(std::string_view domain) { return domain.empty() || domain == "ai.onnx"; }

std::int64_t opset_of(const ::onnx::ModelProto& model) {
    std::int64_t opset = 1;  // the first IR versions do not say
    for (const auto& import : model.opset_import())
        if (is_onnx_domain(import.domain())) opset = import.version();
    if (opset < 1) throw LayerError("opset_import.version", std::to_string(opset), "1 or more");
    return opset;
}

InferredModel infer(const ::onnx::ModelProto& model, const ShapeBinding& binding, const ReadExternal& read) {
    InferredModel inferred;
    inferred.opset = opset_of(model);
    inferred.graph = Inference(binding, read, inferred.opset).graph(model.graph(), nullptr, "");
    return inferred;
}

Node node_of(const ::onnx::NodeProto& node, const InferredGraph& graph, std::int64_t opset) {
    static const Fact nothing;  // of an input that has a name, and that nothing makes
    Node made{node, Attributes(node), opset, {}, {}};
    for (const std::string& name : node.input()) {
        const Fact* const fact = name.empty() ? nullptr : graph.find(name);
        made.inputs.push_back(name.empty() || fact != nullptr ? fact : &nothing);
    }
    return made;
}

}  // namespace convt_jit::onnx_import
