#include "formats/models/onnx/index/links.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "core/base/adjacency.h"
#include "core/base/capped_list.h"

namespace cleave {
namespace {

constexpr std::size_t kMostErrors = 20;
constexpr std::size_t kMostSuggestions = 3;  // each one searches all names
constexpr std::uint32_t kNoNode = std::numeric_limits<std::uint32_t>::max();

using Names = std::unordered_set<std::string_view>;

class Linker {
 public:
  Linker(const std::string& file, const OnnxModel& model) : file_(file), graph_(model.graph) {
    out_.values = OnnxValueNumbers(graph_.nodes.names());
  }
  Loaded<OnnxLinks> run();

 private:
  // The bodies around the current one, outermost first: the names that each makes.
  using Scopes = std::vector<const Names*>;

  void enter(std::uint32_t number, std::uint32_t node);
  void enter_input(std::string_view name) { enter(graph_.nodes.names()->number(name), kNoNode); }
  void enter_inputs();
  void enter_nodes();
  void link_nodes();
  void link_inputs(std::size_t i);
  void link_bodies(std::size_t i, const OnnxNode& node);
  void read_body(const OnnxGraph& body, std::size_t node, Scopes& scopes);
  Names names_made(const OnnxGraph& body, std::size_t node, const Scopes& scopes);
  void capture(std::string_view name, std::size_t node);
  void check_outputs();
  void find_hidden();
  void warn_of_hidden();
  void sort();
  std::vector<std::string_view> reads_of(std::size_t node) const;
  template <class Visit>
  void each_maker(std::uint32_t node, const Visit& visit) const;
  Adjacency waits_for() const;
  void report_cycle(const std::vector<std::uint32_t>& cycle);
  void report_order();
  void error(std::string message, std::vector<std::string> notes = {});
  void error_unknown(const std::string& reader, std::string_view name);
  std::string node_text(std::size_t i) const {
    OnnxNode room;
    return onnx_node_text(graph_.nodes.read_names(i, room), i);
  }
  bool is_known(std::string_view name) const {
    return out_.values.find(name) != OnnxValueNumbers::kNone;
  }
  // kNoNode for an input or initializer, and for an unknown name.
  std::uint32_t maker_of(std::string_view name) const {
    const std::uint32_t number = out_.values.find(name);
    return number == OnnxValueNumbers::kNone ? kNoNode : makers_[number];
  }

  const std::string& file_;
  const OnnxMainGraph& graph_;
  std::vector<std::uint32_t> makers_;  // by number of the value; kNoNode: input or initializer
  struct BodyValue {
    std::string_view name;
    std::size_t owner;
  };
  std::vector<BodyValue> made_in_bodies_;
  std::vector<BodyValue> hidden_;  // values of bodies with the name of an outer one
  Names captured_;                 // by the current node
  std::size_t suggestions_ = 0;
  OnnxLinks out_;
  Diagnostics errors_;
};

void Linker::error(std::string message, std::vector<std::string> notes) {
  if (errors_.size() == kMostErrors) return;
  errors_.push_back({.file = file_, .message = std::move(message), .notes = std::move(notes)});
}

void Linker::error_unknown(const std::string& reader, std::string_view name) {
  std::vector<std::string> notes;
  if (suggestions_++ < kMostSuggestions) {
    std::vector<std::string_view> names;
    names.reserve(out_.values.count());
    for (std::uint32_t i = 0; i < out_.values.count(); ++i) names.push_back(out_.values.name(i));
    std::sort(names.begin(), names.end());
    const std::string near = nearest_name(name, names);
    if (!near.empty()) notes.push_back("did you mean " + escaped_in_quotes(near) + "?");
  }
  error(reader + " reads " + escaped_in_quotes(name) + ", which nothing produces",
        std::move(notes));
}

// `number` is that of a name.
void Linker::enter(std::uint32_t number, std::uint32_t node) {
  const std::uint32_t known = out_.values.add_named(number);
  if (known == OnnxValueNumbers::kNone) {
    makers_.push_back(node);
    return;
  }
  const std::string_view name = out_.values.name(known);
  const std::uint32_t first = makers_[known];
  const auto maker = [&](std::uint32_t i) {
    return i == kNoNode ? std::string("an input or initializer") : node_text(i);
  };
  if (node == kNoNode) {
    error("two initializers or inputs are called " + escaped_in_quotes(name) +
          ": names of values must be unique");
  } else if (first == node) {
    error(node_text(node) + " makes " + escaped_in_quotes(name) +
          " twice: names of values must be unique");
  } else {
    error(node_text(node) + " makes " + escaped_in_quotes(name) + ", which " + maker(first) +
          (first == kNoNode ? " is" : " makes") + " too: names of values must be unique");
  }
}

void Linker::enter_inputs() {
  for (std::size_t i = 0; i < graph_.initializers.size(); ++i) {
    const std::string_view name = graph_.initializers[i].name;
    if (name.empty()) error("initializer " + std::to_string(i) + " has no name");
    enter_input(name);
  }
  const std::uint32_t initializers = out_.values.count();
  for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
    const std::string_view name = graph_.inputs[i].name;
    if (name.empty()) error("input " + std::to_string(i) + " of the graph has no name");
    if (out_.values.find(name) >= initializers) enter_input(name);
  }
}

void Linker::enter_nodes() {
  const OnnxNodes& nodes = graph_.nodes;
  out_.first_output.reserve(nodes.size() + 1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    out_.first_output.push_back(out_.values.count());
    for (const std::uint32_t name : nodes.outputs(i)) {
      if (name != OnnxNames::kEmpty) enter(name, static_cast<std::uint32_t>(i));
    }
  }
  out_.first_output.push_back(out_.values.count());
}

// A body's own values. A value of an enclosing body with the same name is hidden.
Names Linker::names_made(const OnnxGraph& body, std::size_t node, const Scopes& scopes) {
  Names made;
  for (const OnnxValueInfo& input : body.inputs) made.insert(input.name);
  for (const OnnxTensor& tensor : body.initializers) made.insert(tensor.name);
  for (const OnnxNode& inner : body.nodes) {
    for (const std::string_view name : inner.outputs) {
      if (!name.empty() && !made.insert(name).second) {
        error("a body of " + node_text(node) + " makes " + escaped_in_quotes(name) +
              " twice: names of values must be unique");
      }
    }
  }
  made.erase("");
  for (const Names* outer : scopes) {
    for (const std::string_view name : made) {
      if (outer->contains(name)) hidden_.push_back({name, node});
    }
  }
  return made;
}

// The recursion is as deep as bodies nest, which the index limits.
void Linker::read_body(const OnnxGraph& body, std::size_t node, Scopes& scopes) {
  const Names made = names_made(body, node, scopes);
  for (const std::string_view name : made) made_in_bodies_.push_back({name, node});
  scopes.push_back(&made);
  const auto is_inner = [&](std::string_view name) {
    return std::any_of(scopes.begin(), scopes.end(),
                       [&](const Names* names) { return names->contains(name); });
  };
  for (const OnnxNode& inner : body.nodes) {
    for (const std::string_view name : inner.inputs) {
      if (!name.empty() && !is_inner(name)) capture(name, node);
    }
    for (const OnnxAttribute& attribute : inner.attributes) {
      for (const OnnxGraph& nested : attribute.graphs) read_body(nested, node, scopes);
    }
  }
  for (const OnnxValueInfo& output : body.outputs) {
    if (made.contains(output.name)) continue;
    if (!is_inner(output.name)) capture(output.name, node);
    out_.warnings.push_back(
        {.severity = Severity::warning,
         .file = file_,
         .message = "a body of " + node_text(node) + " returns " + escaped_in_quotes(output.name) +
                    ", which is made outside it: runtimes refuse that; put an Identity between"});
  }
  scopes.pop_back();
}

void Linker::capture(std::string_view name, std::size_t node) {
  if (!captured_.insert(name).second) return;
  if (!is_known(name)) {
    error_unknown("a body of " + node_text(node), name);
    return;
  }
  out_.captures.push_back(name);
}

void Linker::link_inputs(std::size_t i) {
  for (const std::uint32_t name : graph_.nodes.inputs(i)) {
    const std::uint32_t number =
        name == OnnxNames::kEmpty ? OnnxValueNumbers::kNone : out_.values.named(name);
    if (name != OnnxNames::kEmpty && number == OnnxValueNumbers::kNone) {
      error_unknown(node_text(i), graph_.nodes.names()->text(name));
    }
    out_.reads.add(number);
  }
  out_.reads.end_list();
}

// What nodes and their bodies read. Who makes it is known by now, also where the file has it later.
void Linker::link_nodes() {
  OnnxNode room;
  out_.reads.begin.reserve(graph_.nodes.size() + 1);
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    link_inputs(i);
    if (graph_.nodes.has_bodies(i)) link_bodies(i, graph_.nodes.read_names(i, room));
  }
  if (!out_.capture_begin.empty()) {
    const auto end = static_cast<std::uint32_t>(out_.captures.size());
    out_.capture_begin.resize(graph_.nodes.size() + 1, end);
  }
}

void Linker::link_bodies(std::size_t i, const OnnxNode& node) {
  const auto begin = static_cast<std::uint32_t>(out_.captures.size());
  out_.capture_begin.resize(i + 1, begin);  // also for the nodes without bodies before it
  captured_.clear();
  captured_.insert(node.inputs.begin(), node.inputs.end());
  for (const OnnxAttribute& attribute : node.attributes) {
    Scopes scopes;
    for (const OnnxGraph& body : attribute.graphs) read_body(body, i, scopes);
  }
}

void Linker::check_outputs() {
  for (const OnnxValueInfo& output : graph_.outputs) {
    if (output.name.empty()) {
      error("an output of the graph has no name");
    } else if (!is_known(output.name)) {
      error_unknown("the graph's output", output.name);
    }
  }
}

// Calls visit(maker) for each value that the node or a body of it reads and that a node makes.
template <class Visit>
void Linker::each_maker(std::uint32_t node, const Visit& visit) const {
  const auto tell = [&](std::uint32_t number) {
    if (number != OnnxValueNumbers::kNone && makers_[number] != kNoNode) visit(makers_[number]);
  };
  for (const std::uint32_t number : out_.reads.of(node)) tell(number);
  for (const std::string_view name : out_.captures_of(node)) tell(out_.values.find(name));
}

Adjacency Linker::waits_for() const {
  Adjacency result;
  for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
    each_maker(i, [&](std::uint32_t maker) { result.add(maker); });
    result.end_list();
  }
  return result;
}

void Linker::report_cycle(const std::vector<std::uint32_t>& cycle) {
  constexpr std::size_t kShown = 8;
  const std::string text =
      "the nodes form a cycle: " +
      capped_list(
          cycle, kShown, [&](std::uint32_t node) { return node_text(node); }, " -> ...", " -> ") +
      " -> ";
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < std::min(cycle.size(), kShown); ++i) {
    const std::uint32_t reader = cycle[(i + 1) % cycle.size()];
    OnnxNode room;
    const auto& made = graph_.nodes.read_names(cycle[i], room).outputs;
    const std::vector<std::string_view> reads = reads_of(reader);
    const auto value = std::find_if(made.begin(), made.end(), [&](std::string_view name) {
      return !name.empty() && std::find(reads.begin(), reads.end(), name) != reads.end();
    });
    notes.push_back(node_text(cycle[i]) + " makes " + escaped_in_quotes(*value) + ", which " +
                    node_text(reader) + " reads");
  }
  error(text + node_text(cycle.front()), std::move(notes));
}

// The node's inputs and captures.
std::vector<std::string_view> Linker::reads_of(std::size_t node) const {
  const auto captures = out_.captures_of(node);
  OnnxNode room;
  std::vector<std::string_view> reads = graph_.nodes.read_names(node, room).inputs;
  reads.insert(reads.end(), captures.begin(), captures.end());
  return reads;
}

// Reports the first place where the file's order is wrong.
void Linker::report_order() {
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const auto is_later = [&](std::string_view name) {
      const std::uint32_t maker = maker_of(name);
      return maker != kNoNode && maker > i;
    };
    const std::vector<std::string_view> reads = reads_of(i);
    const auto read = std::find_if(reads.begin(), reads.end(), is_later);
    if (read == reads.end()) continue;
    out_.warnings.push_back(
        {.severity = Severity::warning,
         .file = file_,
         .message = "the nodes are not in topological order; they are read in an order that is",
         .notes = {node_text(i) + " reads " + escaped_in_quotes(*read) + ", which " +
                   node_text(maker_of(*read)) + " makes later"}});
    return;
  }
}

void Linker::sort() {
  for (std::uint32_t i = 0; i < graph_.nodes.size() && out_.was_sorted; ++i) {
    each_maker(i, [&](std::uint32_t maker) { out_.was_sorted = out_.was_sorted && maker < i; });
  }
  if (out_.was_sorted) {
    out_.order.resize(graph_.nodes.size());
    std::iota(out_.order.begin(), out_.order.end(), 0U);
    return;
  }
  TopologicalOrder sorted = topological_order(waits_for());
  if (!sorted.cycle.empty()) {
    report_cycle(sorted.cycle);
    return;
  }
  report_order();
  out_.order = std::move(sorted.order);
}

// Finds values of bodies that have the name of a visible outer value. ONNX forbids this, tools
// write it, and runtimes read it: inside the body, the body's own value counts. A name that is made
// after the owner of the body is not visible.
void Linker::find_hidden() {
  if (made_in_bodies_.empty()) return;
  std::vector<std::uint32_t> place(graph_.nodes.size());
  for (std::size_t i = 0; i < out_.order.size(); ++i) {
    place[out_.order[i]] = static_cast<std::uint32_t>(i);
  }
  for (const BodyValue& made : made_in_bodies_) {
    if (!is_known(made.name)) continue;
    const std::uint32_t maker = maker_of(made.name);
    const bool is_visible = maker == kNoNode || place[maker] < place[made.owner];
    if (is_visible) hidden_.push_back(made);
  }
  warn_of_hidden();
}

void Linker::warn_of_hidden() {
  if (hidden_.empty()) return;
  const auto key = [](const BodyValue& value) { return std::tie(value.owner, value.name); };
  const auto first =
      std::min_element(hidden_.begin(), hidden_.end(),
                       [&](const BodyValue& a, const BodyValue& b) { return key(a) < key(b); });
  CappedList others(0);
  others.leave_out(hidden_.size() - 1);
  out_.warnings.push_back(
      {.severity = Severity::warning,
       .file = file_,
       .message =
           "a body of " + node_text(first->owner) + " makes " + escaped_in_quotes(first->name) +
           ", which hides the outer value of that name: inside the body its own value is "
           "read, as runtimes do" +
           others.rest("; so does # more value of bodies", "; so do # more values of bodies")});
}

Loaded<OnnxLinks> Linker::run() {
  enter_inputs();
  enter_nodes();
  link_nodes();
  check_outputs();
  if (errors_.empty()) sort();
  if (errors_.empty()) find_hidden();
  if (!errors_.empty()) return std::move(errors_);
  return std::move(out_);
}

}  // namespace

std::string onnx_node_text(const OnnxNode& node, std::size_t index) {
  if (!node.name.empty()) return "node " + escaped_in_quotes(node.name);
  return "node " + std::to_string(index) + " (" + std::string(node.op_type) + ")";
}

Loaded<OnnxLinks> link_onnx_graph(const std::string& file, const OnnxModel& model) {
  return Linker(file, model).run();
}

}  // namespace cleave
