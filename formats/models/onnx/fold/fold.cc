// The nodes of the main graph are listed anew, in their order: most move as they are, a decided If
// is replaced by copies of its branch's records, a node with known results by Constants. What is
// made here and not in the file is kept in OnnxModel::made.
#include "formats/models/onnx/fold/fold.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>
#include <variant>

#include "core/graph/domain.h"
#include "formats/models/onnx/fold/branch_plan.h"
#include "formats/models/onnx/index/encoding.h"
#include "formats/models/onnx/index/index.h"
#include "formats/models/onnx/infer/constants.h"

namespace cleave {
namespace {

// The schema of STFT infers both halves of the spectrum for one half, as soon as the shapes of its
// inputs are known: runtimes then refuse the model. So nothing becomes known to them where it is.
constexpr std::string_view kMisinferredOp = "STFT";

constexpr std::int64_t kIntegerConstantOpset = 9;  // before it, a Constant holds floats only

std::size_t bytes_of_element(DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::int8:
    case DType::uint8:
      return 1;
    case DType::int16:
    case DType::uint16:
      return 2;
    case DType::int32:
    case DType::uint32:
      return 4;
    default:
      return 8;
  }
}

// A TensorProto with these elements, all of which are known.
std::string encode_tensor(const OnnxElements& elements) {
  std::string out;
  for (const std::int64_t dim : elements.dims) put_number(out, tensor_field::kDims, dim);
  put_number(out, tensor_field::kDataType, static_cast<std::int64_t>(elements.dtype));
  const std::size_t width = bytes_of_element(elements.dtype);
  std::string raw;
  for (const OnnxElement& element : elements.integers) {
    char bytes[sizeof(std::int64_t)];
    std::memcpy(bytes, &*element.value, sizeof bytes);  // little-endian, as ONNX wants it
    raw.append(bytes, width);
  }
  put_bytes(out, tensor_field::kRawData, raw);
  return out;
}

std::string encode_constant(std::string_view name, std::string_view output,
                            const OnnxElements& elements) {
  std::string attribute;
  put_bytes(attribute, attribute_field::kName, "value");
  put_bytes(attribute, attribute_field::kTensor, encode_tensor(elements));
  put_number(attribute, attribute_field::kType, attribute_type::kTensor);
  std::string node = encode_node(
      {.name = name, .op = "Constant", .domain = {}, .inputs = {}, .outputs = {output}});
  put_bytes(node, node_field::kAttribute, attribute);
  return node;
}

class Folder {
 public:
  Folder(OnnxModel& model, const OnnxLinks& links, const OnnxTypes& types)
      : model_(model), links_(links), types_(types), planner_(model, links) {
    for (const auto& [domain, version] : model.opsets) {
      if (plain_domain(domain).empty()) opset_ = version;
    }
    if (types.known.empty()) return;
    makes_constants_ = !has_misinferred();
    if (!makes_constants_) {
      out_.kept.push_back("no node becomes a constant: ONNX infers a wrong shape of " +
                          std::string(kMisinferredOp) + " once those of its inputs are known");
      return;
    }
    find_constants();
    find_needed();
  }

  OnnxFolded run() {
    std::unordered_map<std::uint32_t, const OnnxGraph*> decided(types_.decided.begin(),
                                                                types_.decided.end());
    OnnxNode room;
    OnnxNodes& nodes = model_.graph.nodes;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      const auto found = decided.find(i);
      if (found != decided.end()) {
        if (replace_if(i, nodes.read(i, room), *found->second)) continue;
      } else if (is_known(i)) {
        add_constants(i, nodes.read(i, room));
        continue;
      }
      nodes.move_to(i, nodes_);
    }
    if (out_.is_any()) model_.is_folded = true;
    model_.graph.nodes = std::move(nodes_);
    return std::move(out_);
  }

 private:
  // Marks the values that only constants make: their makers are no nodes of a split.
  void find_constants() {
    const OnnxConstants constants(model_);
    is_constant_.resize(links_.values.count(), false);
    const auto first = is_constant_.begin();
    std::fill(first, first + static_cast<std::ptrdiff_t>(model_.graph.initializers.size()), true);
    OnnxNode room;
    for (const std::uint32_t i : links_.order) {
      const auto is_constant = [&](std::uint32_t number) {
        return number == OnnxValueNumbers::kNone || is_constant_[number];
      };
      const auto reads = links_.reads.of(i);
      if (!std::all_of(reads.begin(), reads.end(), is_constant)) continue;
      if (!constants.is_pure(model_.graph.nodes.read(i, room))) continue;
      for (std::uint32_t at = links_.first_output[i]; at < links_.first_output[i + 1]; ++at) {
        is_constant_[at] = true;
      }
    }
  }

  bool has_misinferred() const {
    OnnxNode room;
    for (std::size_t i = 0; i < model_.graph.nodes.size(); ++i) {
      const OnnxNode& node = model_.graph.nodes.read_names(i, room);
      if (node.op_type == kMisinferredOp && plain_domain(node.domain).empty()) return true;
    }
    return false;
  }

  // Marks the values that are read by nodes that stay.
  void find_needed() {
    is_needed_.resize(links_.values.count(), false);
    const auto need = [&](std::uint32_t number) {
      if (number != OnnxValueNumbers::kNone) is_needed_[number] = true;
    };
    for (std::uint32_t i = 0; i < model_.graph.nodes.size(); ++i) {
      if (is_known(i)) continue;
      for (const std::uint32_t number : links_.reads.of(i)) need(number);
      for (const std::string_view name : links_.captures_of(i)) need(links_.values.find(name));
    }
    for (const OnnxValueInfo& output : model_.graph.outputs) {
      need(links_.values.find(output.name));
    }
  }

  bool is_known(std::uint32_t i) const {
    const std::uint32_t begin = links_.first_output[i], end = links_.first_output[i + 1];
    if (!makes_constants_ || begin == end || opset_ < kIntegerConstantOpset) return false;
    for (std::uint32_t at = begin; at < end; ++at) {
      if (is_constant_[at] || !types_.known.contains(at)) return false;
    }
    return true;
  }

  void add_made(std::string payload) {
    std::string& made = model_.made.emplace_back();
    put_bytes(made, graph_field::kNode, payload);
    const std::string_view field = made;
    OnnxNode node =
        index_onnx_node({.payload = field.substr(field.size() - payload.size()), .field = field});
    nodes_.add(node);
  }

  void loosen(std::uint32_t i, const OnnxNode& node) {
    out_.loose.insert(out_.loose.end(), node.inputs.begin(), node.inputs.end());
    const auto captures = links_.captures_of(i);
    out_.loose.insert(out_.loose.end(), captures.begin(), captures.end());
  }

  void add_constants(std::uint32_t i, const OnnxNode& node) {
    loosen(i, node);
    ++out_.constants;
    std::uint32_t at = links_.first_output[i];
    for (const std::string_view output : node.outputs) {
      if (output.empty() || !is_needed_[at++]) continue;
      const std::string name =
          std::string(node.name) +
          (node.outputs.size() > 1 && !node.name.empty() ? "_" + std::string(output) : "");
      add_made(encode_constant(name, output, types_.known.at(at - 1)));
    }
  }

  bool replace_if(std::uint32_t i, const OnnxNode& node, const OnnxGraph& branch) {
    std::string_view which = "branch";
    for (const OnnxAttribute& attribute : node.attributes) {
      if (!attribute.graphs.empty() && &attribute.graphs[0] == &branch) which = attribute.name;
    }
    const std::string text = onnx_node_text(node, i) + (node.name.empty() ? "" : " (If)") +
                             " always takes its " + std::string(which);
    auto planned = planner_.plan(node, branch);
    if (const auto* why = std::get_if<std::string_view>(&planned)) {
      out_.kept.push_back(text + ", but stays: " + std::string(*why));
      return false;
    }
    loosen(i, node);
    add_branch(branch, std::get<OnnxBranchPlan>(planned));
    out_.branches.push_back(text + ", which is in its place");
    return true;
  }

  void add_branch(const OnnxGraph& branch, const OnnxBranchPlan& plan) {
    OnnxMainGraph& graph = model_.graph;
    graph.initializers.insert(graph.initializers.end(), branch.initializers.begin(),
                              branch.initializers.end());
    for (const OnnxValueInfo& info : branch.value_infos) {
      if (!plan.names.contains(info.name)) graph.value_infos.push_back(info);
    }
    for (const OnnxNode& node : branch.nodes) {
      if (mentions_renamed(node, plan.names)) {
        add_made(renamed_onnx_node(node, plan.names));
      } else {
        OnnxNode copy = node;
        nodes_.add(copy);
      }
    }
    for (const auto& [from, to] : plan.copies) {
      add_made(encode_node({.name = {},
                            .op = "Identity",
                            .domain = {},
                            .inputs = {renamed(from, plan.names)},
                            .outputs = {to}}));
    }
  }

  OnnxModel& model_;
  const OnnxLinks& links_;
  const OnnxTypes& types_;
  OnnxBranchPlanner planner_;
  std::int64_t opset_ = 1;  // of the default domain
  bool makes_constants_ = false;
  // By number of the value; empty when no constants are made.
  std::vector<bool> is_constant_, is_needed_;
  OnnxNodes nodes_;
  OnnxFolded out_;
};

}  // namespace

OnnxFolded fold_onnx(OnnxModel& model, const OnnxLinks& links, const OnnxTypes& types) {
  if (types.decided.empty() && types.known.empty()) return {};
  return Folder(model, links, types).run();
}

}  // namespace cleave
