// Folding of constants, and functions written out.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/words.h"
#include "core/graph/graph.h"
#include "formats/base/faults.h"
#include "formats/onnx/index/index.h"
#include "formats/onnx/infer/infer.h"
#include "formats/onnx/read/reader.h"

namespace cleave {

// ---- inline functions ----

namespace {

// The number of nodes bounds what functions may become, but not the passes over the model: a chain
// of functions that each call the next one takes a pass a level. Exporters nest as deep as modules,
// some ten.
constexpr std::size_t kMostLevels = 100;
constexpr std::uint64_t kUnknown = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kMany = kUnknown - 1;

// ---- attributes that a call gives ----

// By name: what the call gives, or else the function's default.
using AttributeValues = std::unordered_map<std::string_view, const OnnxAttribute*>;

// A copy of the message with what `change` does: it gets each field, puts another into the copy, or nothing,
// and returns true, or false for one that stays as it is.
std::string copied(std::string_view payload, const char* what, const auto& change) {
  std::string out;
  OnnxWalk walk;
  for (OnnxFields field(payload, what, walk); field.next();) {
    field.skip();
    if (!change(field, out)) out += field.whole();
  }
  return out;
}

// Without its field of that number.
std::string copied_without(std::string_view payload, const char* what, std::uint32_t number) {
  return copied(payload, what, [&](OnnxFields& field, std::string&) {
    return field.key() == bytes_field(number);
  });
}

std::string node_with_values(const OnnxNode& node, const AttributeValues& values);

std::string body_with_values(const OnnxGraph& body, const AttributeValues& values) {
  std::size_t node = 0;
  return copied(body.record.payload, "a graph", [&](OnnxFields& field, std::string& out) {
    if (field.key() != bytes_field(graph_field::kNode)) return false;
    put_bytes(out, graph_field::kNode, node_with_values(body.nodes[node++], values));
    return true;
  });
}

// The value under the name that the node has for it.
std::string value_named(std::string_view name, const OnnxAttribute& value) {
  std::string out;
  put_bytes(out, attribute_field::kName, name);
  return out + copied_without(value.record.payload, "an attribute", attribute_field::kName);
}

// The payload of the attribute's message with each body written anew. Everything else is copied as it is.
std::string with_bodies(const OnnxAttribute& attribute,
                        const std::function<std::string(const OnnxGraph&)>& written) {
  std::size_t body = 0;
  const auto write = [&](OnnxFields& field, std::string& out) {
    const bool is_body = field.key() == bytes_field(attribute_field::kGraph) ||
                         field.key() == bytes_field(attribute_field::kGraphs);
    if (is_body) put_bytes(out, field.field_number(), written(attribute.graphs[body++]));
    return is_body;
  };
  return copied(attribute.record.payload, "an attribute", write);
}

// nullopt: neither the call nor the function gives it, so the node does not have it.
std::optional<std::string> attribute_with_values(const OnnxAttribute& attribute,
                                                 const AttributeValues& values) {
  if (!attribute.reference.empty()) {
    const auto found = values.find(attribute.reference);
    if (found == values.end()) return std::nullopt;
    return value_named(attribute.name, *found->second);
  }
  return with_bodies(attribute,
                     [&](const OnnxGraph& body) { return body_with_values(body, values); });
}

// The payload of the node's message with the values in place of references.
std::string node_with_values(const OnnxNode& node, const AttributeValues& values) {
  std::size_t attribute = 0;
  return copied(node.record.payload, "a node", [&](OnnxFields& field, std::string& out) {
    if (field.key() != bytes_field(node_field::kAttribute)) return false;
    const auto made = attribute_with_values(node.attributes[attribute++], values);
    if (made) put_bytes(out, node_field::kAttribute, *made);
    return true;
  });
}

std::string with_name(std::string_view payload, std::string_view name) {
  std::string out = copied_without(payload, "a node", node_field::kName);
  put_bytes(out, node_field::kName, name);
  return out;
}

// ---- calls ----

class FunctionInliner {
 public:
  FunctionInliner(OnnxModel& model, std::uint64_t most_nodes)
      : model_(model), most_nodes_(most_nodes), nodes_(model.graph.nodes.emptied()) {
    for (std::uint32_t i = 0; i < model.functions.size(); ++i) {
      const OnnxFunction& function = model.functions[i];
      functions_.emplace(onnx_function_key(function.domain, function.name, function.overload), i);
    }
    for (const auto& [domain, version] : model.opsets) opsets_[plain_domain(domain)] = version;
  }

  std::optional<OnnxInlined> run() {
    if (functions_.empty()) return OnnxInlined{};
    if (count_nodes() > most_nodes_) return std::nullopt;
    take_names();
    std::size_t level = 0;
    while (write_level()) {
      if (model_.graph.nodes.size() > most_nodes_) return std::nullopt;
      if (++level == kMostLevels) break;
    }
    for (const auto& [function, why] : kept_) {
      out_.kept.push_back("calls of the function " +
                          escaped_in_quotes(model_.functions[function].name) + " stay: " + why);
    }
    if (out_.calls > 0) model_.is_folded = true;
    return std::move(out_);
  }

 private:
  // ---- the nodes that there will be, before any is made ----

  // The function that the node calls, and which can take the call's place; else none.
  std::optional<std::uint32_t> inlined_by(const OnnxNode& node) const {
    const auto found = functions_.find(onnx_function_key(node.domain, node.op_type, node.overload));
    if (found == functions_.end() || passes_bodies(node)) return std::nullopt;
    for (const auto& [domain, version] : model_.functions[found->second].opsets) {
      const auto stated = opsets_.find(plain_domain(domain));
      if (stated != opsets_.end() && stated->second != version) return std::nullopt;
    }
    return found->second;
  }

  // Nodes of the main graph with all calls written out; at most kMany.
  std::uint64_t count_nodes() const {
    std::vector<std::uint64_t> sizes(model_.functions.size(), kUnknown);
    std::uint64_t count = 0;
    OnnxNode room;
    for (std::size_t i = 0; i < model_.graph.nodes.size(); ++i) {
      const auto function = inlined_by(model_.graph.nodes.read(i, room));
      count = sum_of(count, function ? size_of(*function, sizes) : 1);
    }
    return count;
  }

  static std::uint64_t sum_of(std::uint64_t a, std::uint64_t b) {
    return a > kMany - b ? kMany : a + b;
  }

  // Functions may call each other as deep as the file is long: no recursion.
  std::uint64_t size_of(std::uint32_t function, std::vector<std::uint64_t>& sizes) const {
    std::vector<std::uint32_t> open{function};
    while (!open.empty()) {
      const std::uint32_t at = open.back();
      if (sizes[at] != kUnknown) {
        open.pop_back();
        continue;
      }
      const std::size_t known = open.size();
      std::uint64_t size = copied_outputs(model_.functions[at]);
      for (const OnnxNode& node : model_.functions[at].nodes) {
        const auto called = inlined_by(node);
        const bool is_open = called && sizes[*called] == kUnknown;
        if (is_open) open.push_back(*called);
        if (!is_open) size = sum_of(size, called ? sizes[*called] : 1);
      }
      if (open.size() > known) continue;
      sizes[at] = size;
      open.pop_back();
    }
    return sizes[function];
  }

  // Outputs that are copies of others or of inputs: see names_for().
  static std::uint64_t copied_outputs(const OnnxFunction& function) {
    std::unordered_set<std::string_view> names(function.inputs.begin(), function.inputs.end());
    return static_cast<std::uint64_t>(std::ranges::count_if(
        function.outputs, [&](std::string_view output) { return !names.insert(output).second; }));
  }

  // The names of all values of the main graph; the names inside bodies hide others only there.
  void take_names() {
    for (const OnnxValueInfo& input : model_.graph.inputs) taken_.insert(input.name);
    for (const OnnxTensor& tensor : model_.graph.initializers) taken_.insert(tensor.name);
    OnnxNode room;
    for (std::size_t i = 0; i < model_.graph.nodes.size(); ++i) {
      const OnnxNode& node = model_.graph.nodes.read(i, room);
      taken_.insert(node.outputs.begin(), node.outputs.end());
      for (const OnnxAttribute& attribute : node.attributes) {
        for (const OnnxGraph& body : attribute.graphs) take_names_in(body);
      }
    }
  }

  // A value of that name in a body would be hidden from what a written-out node has in it.
  void take_names_in(const OnnxGraph& body) {
    for (const OnnxValueInfo& input : body.inputs) taken_.insert(input.name);
    for (const OnnxTensor& tensor : body.initializers) taken_.insert(tensor.name);
    for (const OnnxNode& node : body.nodes) {
      taken_.insert(node.outputs.begin(), node.outputs.end());
      for (const OnnxAttribute& attribute : node.attributes) {
        for (const OnnxGraph& inner : attribute.graphs) take_names_in(inner);
      }
    }
  }

  // One level of calls; false if there was none.
  bool write_level() {
    OnnxNodes& nodes = model_.graph.nodes;
    const std::size_t before = out_.calls;
    OnnxNode room;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const OnnxNode& names = nodes.read_names(i, room);
      const auto found =
          functions_.find(onnx_function_key(names.domain, names.op_type, names.overload));
      if (found == functions_.end() || !may_inline(found->second)) {
        nodes.move_to(i, nodes_);
        continue;
      }
      const OnnxNode& call = nodes.read(i, room);
      if (passes_bodies(call)) {
        kept_.emplace(found->second, "a call gives it a graph");
        nodes.move_to(i, nodes_);
        continue;
      }
      inline_call(call, model_.functions[found->second]);
    }
    nodes = std::move(nodes_);
    nodes_ = nodes.emptied();
    return out_.calls > before;
  }

  static bool passes_bodies(const OnnxNode& call) {
    return std::ranges::any_of(
        call.attributes, [](const OnnxAttribute& attribute) { return !attribute.graphs.empty(); });
  }

  // Its operators must mean the same in the model.
  bool may_inline(std::uint32_t i) {
    const OnnxFunction& function = model_.functions[i];
    for (const auto& [domain, version] : function.opsets) {
      const auto found = opsets_.find(plain_domain(domain));
      if (found == opsets_.end()) {
        model_.opsets.emplace_back(domain, version);
        opsets_[plain_domain(domain)] = version;
      } else if (found->second != version) {
        kept_.emplace(i, "it is written for version " + std::to_string(version) +
                             " of the operators, the model for " + std::to_string(found->second));
        return false;
      }
    }
    return true;
  }

  std::string_view keep(std::string text) { return model_.made.emplace_back(std::move(text)); }

  std::string_view free_name(const std::string& wanted) {
    std::string name = wanted;
    for (std::size_t number = 2; taken_.contains(name); ++number) {
      name = wanted + "_" + std::to_string(number);
    }
    const std::string_view kept = keep(std::move(name));
    taken_.insert(kept);
    return kept;
  }

  // The names that values of the function get. Outputs that it only passes on, or gives twice, are
  // copied.
  OnnxRenames names_for(const OnnxNode& call, const OnnxFunction& function,
                        const std::string& prefix,
                        std::vector<std::pair<std::string_view, std::string_view>>& copies) {
    OnnxRenames names;
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
      names[function.inputs[i]] = i < call.inputs.size() ? call.inputs[i] : std::string_view();
    }
    for (std::size_t i = 0; i < function.outputs.size() && i < call.outputs.size(); ++i) {
      if (call.outputs[i].empty()) continue;
      const bool is_new = names.emplace(function.outputs[i], call.outputs[i]).second;
      if (!is_new) copies.emplace_back(function.outputs[i], call.outputs[i]);
    }
    for (const OnnxNode& node : function.nodes) {
      for (const std::string_view output : node.outputs) {
        if (output.empty() || names.contains(output)) continue;
        names[output] = free_name(prefix + std::string(output));
      }
    }
    return names;
  }

  void inline_call(const OnnxNode& call, const OnnxFunction& function) {
    ++out_.calls;
    const std::string_view called = !call.name.empty()      ? call.name
                                    : !call.outputs.empty() ? call.outputs[0]
                                                            : call.op_type;
    const std::string prefix = std::string(called) + "/";
    std::vector<std::pair<std::string_view, std::string_view>> copies;
    const OnnxRenames names = names_for(call, function, prefix, copies);
    AttributeValues values;
    for (const OnnxAttribute& one : function.default_attributes) values[one.name] = &one;
    for (const OnnxAttribute& one : call.attributes) values[one.name] = &one;
    std::size_t number = 0;
    for (const OnnxNode& node : function.nodes) {
      const std::string inner = node.name.empty()
                                    ? std::string(node.op_type) + "_" + std::to_string(number)
                                    : std::string(node.name);
      ++number;
      const OnnxNode valued = made_node(node_with_values(node, values));
      add_made(with_name(renamed_onnx_node(valued, names), prefix + inner));
    }
    for (const auto& [from, to] : copies) {
      add_made(encode_node({.name = {},
                            .op = "Identity",
                            .domain = {},
                            .inputs = {renamed(from, names)},
                            .outputs = {to}}));
    }
  }

  OnnxNode made_node(const std::string& payload) {
    std::string& made = model_.made.emplace_back();
    put_bytes(made, graph_field::kNode, payload);
    const std::string_view field = made;
    return index_onnx_node(
        {.payload = field.substr(field.size() - payload.size()), .field = field});
  }

  void add_made(const std::string& payload) {
    OnnxNode node = made_node(payload);
    nodes_.add(node);
  }

  OnnxModel& model_;
  std::uint64_t most_nodes_;
  std::unordered_map<std::string, std::uint32_t> functions_;
  std::map<std::string_view, std::int64_t> opsets_;
  std::unordered_set<std::string_view> taken_;
  std::map<std::uint32_t, std::string> kept_;  // by function: why it stays
  OnnxNodes nodes_;
  OnnxInlined out_;
};

}  // namespace

std::optional<OnnxInlined> inline_functions(OnnxModel& model, std::uint64_t most_nodes) {
  return FunctionInliner(model, most_nodes).run();
}

// ---- fold ----

// A body hides the names that it makes itself; below it, only the other ones are renamed. Decoded
// records and the fields of their messages are walked side by side, so that unknown fields stay.

namespace {

// The renames that hold inside the body.
OnnxRenames renames_within(const OnnxGraph& body, const OnnxRenames& names) {
  OnnxRenames inner = names;
  for (const OnnxValueInfo& input : body.inputs) inner.erase(input.name);
  for (const OnnxTensor& tensor : body.initializers) inner.erase(tensor.name);
  for (const OnnxNode& node : body.nodes) {
    for (const std::string_view output : node.outputs) inner.erase(output);
  }
  return inner;
}

bool body_mentions(const OnnxGraph& body, const OnnxRenames& names) {
  const OnnxRenames inner = renames_within(body, names);
  if (inner.empty()) return false;
  const auto is_renamed = [&](const auto& one) { return inner.contains(one.name); };
  const auto mentions = [&](const OnnxNode& node) { return mentions_renamed(node, inner); };
  return std::ranges::any_of(body.outputs, is_renamed) || std::ranges::any_of(body.nodes, mentions);
}

std::string renamed_value_info(const OnnxValueInfo& info, const OnnxRenames& names) {
  std::string out;
  put_bytes(out, value_info_field::kName, renamed(info.name, names));
  return out + copied_without(info.record.payload, "a value's type", value_info_field::kName);
}

std::string renamed_body(const OnnxGraph& body, const OnnxRenames& names) {
  const OnnxRenames inner = renames_within(body, names);
  std::size_t node = 0, output = 0;
  return copied(body.record.payload, "a graph", [&](OnnxFields& field, std::string& out) {
    const bool is_node = field.key() == bytes_field(graph_field::kNode);
    if (!is_node && field.key() != bytes_field(graph_field::kOutput)) return false;
    put_bytes(out, field.field_number(),
              is_node ? renamed_onnx_node(body.nodes[node++], inner)
                      : renamed_value_info(body.outputs[output++], inner));
    return true;
  });
}

}  // namespace

std::string_view renamed(std::string_view name, const OnnxRenames& names) {
  const auto found = names.find(name);
  return found == names.end() ? name : found->second;
}

bool mentions_renamed(const OnnxNode& node, const OnnxRenames& names) {
  const auto is_renamed = [&](std::string_view name) { return names.contains(name); };
  if (std::ranges::any_of(node.inputs, is_renamed)) return true;
  if (std::ranges::any_of(node.outputs, is_renamed)) return true;
  for (const OnnxAttribute& attribute : node.attributes) {
    for (const OnnxGraph& body : attribute.graphs) {
      if (body_mentions(body, names)) return true;
    }
  }
  return false;
}

std::string renamed_onnx_node(const OnnxNode& node, const OnnxRenames& names) {
  std::string out;
  std::size_t attribute = 0;
  OnnxWalk walk;
  for (OnnxFields field(node.record.payload, "a node", walk); field.next();) {
    if (field.key() == bytes_field(node_field::kInput) ||
        field.key() == bytes_field(node_field::kOutput)) {
      put_bytes(out, field.field_number(), renamed(field.text(), names));
      continue;
    }
    field.skip();
    if (field.key() == bytes_field(node_field::kAttribute)) {
      put_bytes(out, node_field::kAttribute,
                with_bodies(node.attributes[attribute++],
                            [&](const OnnxGraph& body) { return renamed_body(body, names); }));
    } else {
      out += field.whole();
    }
  }
  return out;
}

namespace {

// A node with more bytes is not copied to rename its result: an Identity does it.
constexpr std::size_t kMostCopied = std::size_t{1} << 16U;

// By name: the node of the branch that makes it.
std::unordered_map<std::string_view, const OnnxNode*> makers_of(const OnnxGraph& branch) {
  std::unordered_map<std::string_view, const OnnxNode*> makers;
  for (const OnnxNode& node : branch.nodes) {
    for (const std::string_view output : node.outputs) {
      if (!output.empty()) makers.emplace(output, &node);
    }
  }
  return makers;
}

bool fits(const OnnxNode& node) { return node.record.payload.size() <= kMostCopied; }

}  // namespace

OnnxBranchPlanner::OnnxBranchPlanner(OnnxModel& model, const OnnxLinks& links)
    : model_(model), links_(links) {
  OnnxNode room;
  for (std::size_t i = 0; i < model.graph.nodes.size(); ++i) {
    if (model.graph.nodes.has_bodies(i)) count_names(model.graph.nodes.read(i, room), in_bodies_);
  }
}

// Counts the names that the node's bodies make. Recurses into bodies, as deep as the file nests.
void OnnxBranchPlanner::count_names(const OnnxNode& node, Counts& counts) {
  for (const OnnxAttribute& attribute : node.attributes) {
    for (const OnnxGraph& body : attribute.graphs) {
      for (const OnnxValueInfo& input : body.inputs) ++counts[input.name];
      for (const OnnxTensor& tensor : body.initializers) ++counts[tensor.name];
      for (const OnnxNode& inner : body.nodes) {
        for (const std::string_view output : inner.outputs) ++counts[output];
        count_names(inner, counts);
      }
    }
  }
}

// `own`: names in the bodies of the If itself, which goes.
bool OnnxBranchPlanner::is_taken(std::string_view name, const Counts& own) const {
  if (links_.values.find(name) != OnnxValueNumbers::kNone || spliced_.contains(name)) return true;
  const auto all = in_bodies_.find(name);
  if (all == in_bodies_.end()) return false;
  const auto of_own = own.find(name);
  return all->second > (of_own == own.end() ? 0 : of_own->second);
}

std::string_view OnnxBranchPlanner::free_name(std::string_view name, const Counts& own) {
  for (std::size_t number = 2;; ++number) {
    std::string made = std::string(name) + "_" + std::to_string(number);
    if (is_taken(made, own) || own.contains(made)) continue;
    return model_.made.emplace_back(std::move(made));
  }
}

std::variant<OnnxBranchPlan, std::string_view> OnnxBranchPlanner::plan(const OnnxNode& node,
                                                                       const OnnxGraph& branch) {
  if (branch.outputs.size() < node.outputs.size()) return "its branch gives fewer values";
  Counts own;
  count_names(node, own);
  for (const OnnxTensor& tensor : branch.initializers) {
    if (is_taken(tensor.name, own)) return "a weight of its branch has the name of another value";
  }
  const auto makers = makers_of(branch);
  OnnxBranchPlan out;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    const std::string_view from = branch.outputs[i].name, to = node.outputs[i];
    if (to.empty()) continue;
    const auto maker = makers.find(from);
    const bool is_renamed =
        maker != makers.end() && fits(*maker->second) && out.names.emplace(from, to).second;
    if (!is_renamed) out.copies.emplace_back(from, to);
  }
  for (const auto& [name, maker] : makers) {
    if (out.names.contains(name) || !is_taken(name, own)) continue;
    if (!fits(*maker)) return "a large node of its branch makes a value with the name of another";
    out.names.emplace(name, free_name(name, own));
  }
  for (const auto& [name, maker] : makers) spliced_.insert(renamed(name, out.names));
  for (const OnnxTensor& tensor : branch.initializers) spliced_.insert(tensor.name);
  return out;
}

namespace {

// The number of readers of each value; graph outputs are read.
std::vector<std::uint32_t> count_readers(const OnnxModel& model, const OnnxLinks& links) {
  std::vector<std::uint32_t> readers(links.values.count(), 0);
  const auto read = [&](std::uint32_t number) {
    if (number != OnnxValueNumbers::kNone) ++readers[number];
  };
  for (std::uint32_t i = 0; i < model.graph.nodes.size(); ++i) {
    for (const std::uint32_t number : links.reads.of(i)) read(number);
    for (const std::string_view name : links.captures_of(i)) read(links.values.find(name));
  }
  for (const OnnxValueInfo& output : model.graph.outputs) read(links.values.find(output.name));
  return readers;
}

}  // namespace

std::optional<std::size_t> drop_unread_nodes(OnnxModel& model, const OnnxLinks& links,
                                             std::span<const std::string_view> loose) {
  OnnxNodes& nodes = model.graph.nodes;
  std::vector<std::uint32_t> readers = count_readers(model, links);
  std::vector<bool> is_dropped(nodes.size(), false);
  bool is_any = false;
  std::vector<std::uint32_t> work;
  for (const std::string_view name : loose) work.push_back(links.values.find(name));
  const auto release = [&](std::uint32_t number) {
    if (number != OnnxValueNumbers::kNone && --readers[number] == 0) work.push_back(number);
  };
  while (!work.empty()) {
    const std::uint32_t number = work.back();
    work.pop_back();
    const auto& first = links.first_output;
    if (number == OnnxValueNumbers::kNone || number < first.front()) continue;
    const auto maker = static_cast<std::uint32_t>(
        std::upper_bound(first.begin(), first.end(), number) - first.begin() - 1);
    const auto begin = readers.begin() + first[maker], end = readers.begin() + first[maker + 1];
    const bool is_read = std::any_of(begin, end, [](std::uint32_t count) { return count > 0; });
    if (is_read || is_dropped[maker]) continue;
    is_dropped[maker] = true;
    is_any = true;
    for (const std::uint32_t input : links.reads.of(maker)) release(input);
    for (const std::string_view name : links.captures_of(maker)) release(links.values.find(name));
  }
  if (!is_any) return std::nullopt;
  std::size_t dropped = 0;
  OnnxNode room;
  OnnxNodes left = nodes.emptied();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!is_dropped[i]) {
      nodes.move_to(i, left);
    } else if (nodes.read_names(i, room).op_type != "Constant") {
      ++dropped;
    }
  }
  nodes = std::move(left);
  return dropped;
}

// The nodes of the main graph are listed anew, in their order: most move as they are, a decided If
// is replaced by copies of its branch's records, a node with known results by Constants. What is
// made here and not in the file is kept in OnnxModel::made.

namespace {

// The schema of STFT infers both halves of the spectrum for one half, as soon as the length of its
// signal is known: runtimes then refuse the model. So what it depends on does not become known to them.
constexpr std::string_view kMisinferredOp = "STFT";

constexpr std::int64_t kIntegerConstantOpset = 9;  // before it, a Constant holds floats only

// A TensorProto with these elements, all of which are known.
std::string encode_tensor(const OnnxElements& elements) {
  std::string out;
  for (const std::int64_t dim : elements.dims) put_number(out, tensor_field::kDims, dim);
  put_number(out, tensor_field::kDataType, static_cast<std::int64_t>(elements.dtype));
  const auto width = static_cast<std::size_t>(dtype_bits(elements.dtype)) / 8;
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
      : model_(model),
        links_(links),
        types_(types),
        planner_(model, links),
        nodes_(model.graph.nodes.emptied()) {
    for (const auto& [domain, version] : model.opsets) {
      if (plain_domain(domain).empty()) opset_ = version;
    }
    if (types.known.empty()) return;
    makes_constants_ = true;
    find_constants();
    hold_back_misinferred();
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
      if (!std::ranges::all_of(reads, is_constant)) continue;
      if (!constants.is_pure(model_.graph.nodes.read(i, room))) continue;
      for (std::uint32_t at = links_.first_output[i]; at < links_.first_output[i + 1]; ++at) {
        is_constant_[at] = true;
      }
    }
  }

  // Marks the nodes on which an operator depends whose schema would infer a wrong shape.
  void hold_back_misinferred() {
    const OnnxNodes& nodes = model_.graph.nodes;
    std::vector<bool> feeds(links_.values.count(), false);
    std::vector<bool> is_held(nodes.size(), false);
    std::size_t held = 0;
    OnnxNode room;
    for (std::size_t at = links_.order.size(); at-- > 0;) {
      const std::uint32_t i = links_.order[at];
      const auto first = feeds.begin() + links_.first_output[i];
      const auto end = feeds.begin() + links_.first_output[i + 1];
      const bool is_before = std::find(first, end, true) != end;
      if (!is_before && !is_misinferred(i, nodes.read_names(i, room))) continue;
      const auto feed = [&](std::uint32_t number) {
        if (number != OnnxValueNumbers::kNone) feeds[number] = true;
      };
      for (const std::uint32_t number : links_.reads.of(i)) feed(number);
      for (const std::string_view name : links_.captures_of(i)) feed(links_.values.find(name));
      if (!is_known(i)) continue;
      is_held[i] = true;
      ++held;
    }
    if (held == 0) return;
    is_held_ = std::move(is_held);
    out_.kept.push_back(
        std::to_string(held) +
        (held == 1 ? " node with a known result stays" : " nodes with known results stay") +
        ": ONNX infers a wrong shape of " + std::string(kMisinferredOp) + ", which depends on " +
        (held == 1 ? "it" : "them") + ", once those of its inputs are known");
  }

  bool is_misinferred(std::uint32_t i, const OnnxNode& node) const {
    if (node.op_type != kMisinferredOp || !plain_domain(node.domain).empty()) return false;
    const auto reads = links_.reads.of(i);
    if (reads.empty() || reads[0] == OnnxValueNumbers::kNone) return false;
    const OnnxType* const signal = types_.main[reads[0]];
    return signal != nullptr && signal->has_shape && signal->rank() > 1 && signal->size(1) >= 0;
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
    if (!is_held_.empty() && is_held_[i]) return false;
    for (std::uint32_t at = begin; at < end; ++at) {
      if (is_constant_[at] || !types_.known.contains(at)) return false;
    }
    return true;
  }

  void add_made(std::string payload, std::string label) {
    std::string& made = model_.made.emplace_back();
    put_bytes(made, graph_field::kNode, payload);
    const std::string_view field = made;
    OnnxNode node =
        index_onnx_node({.payload = field.substr(field.size() - payload.size()), .field = field});
    nodes_.add(node);
    nodes_.set_label(std::move(label));
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
      add_made(encode_constant(name, output, types_.known.at(at - 1)), model_.graph.nodes.label(i));
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
    add_branch(i, branch, std::get<OnnxBranchPlan>(planned));
    out_.branches.push_back(text + ", which is in its place");
    return true;
  }

  void add_branch(std::uint32_t i, const OnnxGraph& branch, const OnnxBranchPlan& plan) {
    OnnxMainGraph& graph = model_.graph;
    const std::string label = graph.nodes.label(i) + "_";
    std::size_t added = 0;
    graph.initializers.insert(graph.initializers.end(), branch.initializers.begin(),
                              branch.initializers.end());
    for (const OnnxValueInfo& info : branch.value_infos) {
      if (!plan.names.contains(info.name)) graph.value_infos.push_back(info);
    }
    for (const OnnxNode& node : branch.nodes) {
      if (mentions_renamed(node, plan.names)) {
        add_made(renamed_onnx_node(node, plan.names), label + std::to_string(added));
      } else {
        OnnxNode copy = node;
        nodes_.add(copy);
        nodes_.set_label(label + std::to_string(added));
      }
      ++added;
    }
    for (const auto& [from, to] : plan.copies) {
      add_made(encode_node({.name = {},
                            .op = "Identity",
                            .domain = {},
                            .inputs = {renamed(from, plan.names)},
                            .outputs = {to}}),
               label + std::to_string(added++));
    }
  }

  OnnxModel& model_;
  const OnnxLinks& links_;
  const OnnxTypes& types_;
  OnnxBranchPlanner planner_;
  std::int64_t opset_ = 1;  // of the default domain
  bool makes_constants_ = false;
  std::vector<bool> is_held_;  // by node: known, but it stays; empty: none
  // By number of the value; empty when no constants are made.
  std::vector<bool> is_constant_, is_needed_;
  OnnxNodes nodes_;
  OnnxFolded out_;
};

// Replaces the Ifs in `types.decided` and the nodes whose results are in `types.known`. Links and
// types of the model must be made anew afterwards; an If within a branch is decided then. An If
// stays when its branch has weights that would have to be renamed. Linear in the model's records.
OnnxFolded fold_onnx(OnnxModel& model, const OnnxLinks& links, const OnnxTypes& types) {
  if (types.decided.empty() && types.known.empty()) return {};
  return Folder(model, links, types).run();
}

constexpr std::size_t kFoldsNamed = 5;

// Sentences for the report about what was folded.
class FoldNotes {
 public:
  void add(OnnxFolded folded, std::size_t dropped) {
    std::move(folded.branches.begin(), folded.branches.end(), std::back_inserter(branches_));
    constants_ += folded.constants;
    dropped_ += dropped;
  }
  // `kept`: of the last round, in which nothing was replaced.
  std::vector<std::string> take(std::vector<std::string> kept, const ShapeBindings& bindings) {
    name_first(branches_, "and # more Ifs were replaced by their branch");
    name_first(kept, "and # more stay");
    if (constants_ > 0) {
      notes_.push_back(
          counted(constants_, "node has a result that is", "nodes have results that are") +
          " known: they are constants here and in what is written" +
          (bindings.dims.empty() && bindings.inputs.empty() ? "" : ", for the given sizes only"));
    }
    if (dropped_ > 0) {
      constexpr std::string_view kWhy = " left out, because only what was replaced read what ";
      notes_.push_back(counted(dropped_, "node is", "nodes are") + std::string(kWhy) +
                       (dropped_ == 1 ? "it makes" : "they make"));
    }
    return std::move(notes_);
  }

 private:
  void name_first(std::vector<std::string>& texts, std::string_view rest) {
    CappedList list(kFoldsNamed);
    for (std::string& text : texts) {
      if (list.shows_next()) notes_.push_back(std::move(text));
    }
    if (list.left_out() > 0) notes_.push_back(list.rest(rest));
  }
  std::vector<std::string> branches_, notes_;
  std::size_t constants_ = 0, dropped_ = 0;
};

}  // namespace

Loaded<OnnxInferred> infer_folded_onnx(const SourceFile& source, OnnxModel& model,
                                       const ShapeBindings& bindings, const Progress& progress) {
  Loaded<OnnxLinks> links = link_onnx_graph(source.path(), model);
  FoldNotes notes;
  while (links) {
    Loaded<OnnxTypes> types = infer_onnx_types(source, model, *links, bindings, progress);
    if (!types) return std::move(types).error();
    OnnxFolded folded;
    if (bindings.folding != Folding::off) folded = fold_onnx(model, *links, *types);
    if (!folded.is_any()) {
      return OnnxInferred{*std::move(links), *std::move(types),
                          notes.take(std::move(folded.kept), bindings)};
    }
    links = link_onnx_graph(source.path(), model);
    if (!links) break;
    const auto dropped = drop_unread_nodes(model, *links, folded.loose);
    if (dropped) links = link_onnx_graph(source.path(), model);
    notes.add(std::move(folded), dropped.value_or(0));
  }
  return std::move(links).error();
}

}  // namespace cleave
