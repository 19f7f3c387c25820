// Reads the document of a program in one pass:
//   1. the graph: inputs, outputs, nodes, tables of values
//   2. the signature: the kinds of the inputs and outputs
//   3. positions of the rest: module calls, ranges of symbols, versions
// Unknown fields of objects are ignored: newer torch adds fields that older readers do not need.
#include <algorithm>
#include <array>
#include <utility>

#include "formats/models/pt2/arguments.h"
#include "formats/models/pt2/program.h"

namespace cleave {
namespace {

constexpr std::int64_t kSchemaMajor = 8;
constexpr std::string_view kBodyCalls = "torch.ops.higher_order.";
constexpr std::size_t kMostNestedBodies = 8;

class ProgramReader {
 public:
  ProgramReader(const Pt2Archive& archive, const std::string& file, const ModelLimits& limits)
      : ProgramReader(archive, archive.program, file, limits) {}
  // Reads `text`, a part of the archive's program.
  ProgramReader(const Pt2Archive& archive, std::string_view text, const std::string& file,
                const ModelLimits& limits)
      : archive_(archive),
        file_(file),
        limits_(limits),
        cursor_(text, limits.depth),
        arguments_(cursor_, program_, limits) {
    program_.text = text;
  }

  Loaded<Pt2Program> read();
  // Reads the body of a node at that depth; an empty program if it is none.
  Pt2Program read_body(std::size_t depth);

 private:
  void each_field(const auto& visit) { arguments_.each_field(visit); }
  void each_item(const auto& visit) { arguments_.each_item(visit); }
  // Skips the value at the cursor and returns its position.
  SourceSpan pass() {
    const std::uint64_t begin = cursor_.offset();
    cursor_.skip();
    return span_from(begin);
  }
  SourceSpan span_from(std::uint64_t begin) const { return arguments_.span_from(begin); }
  Pt2Reading reading() { return {cursor_, arguments_, program_, limits_}; }
  void fail(std::uint64_t at, std::string what) { arguments_.fail(at, std::move(what)); }

  void read_document();
  void read_schema_version();
  void read_module();
  void read_graph();
  void read_node();
  void name_node(Pt2Node& node);
  void read_node_argument();
  void read_metadata(Pt2Node& node);
  void read_results(Pt2Node& node);
  void add_maker(std::uint32_t value);
  void read_modules();
  void check_inputs();
  void check_refs();
  void read_bodies(std::size_t depth);
  Diagnostics errors() const;

  const Pt2Archive& archive_;
  const std::string& file_;
  const ModelLimits& limits_;
  Pt2Program program_;
  JsonCursor cursor_;
  Pt2Arguments arguments_;
  bool has_graph_ = false, has_signature_ = false, has_version_ = false;
  std::vector<SourceSpan> graph_inputs_, graph_outputs_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> input_refs_, output_refs_;
  std::vector<SourceSpan> bodies_;
  NameTable node_names_;
};

void ProgramReader::read_document() {
  each_field([&](std::string_view key) {
    if (key == "graph_module") return read_module();
    if (key == "range_constraints") {
      return each_field(
          [&](std::string_view symbol) { program_.ranges.emplace_back(symbol, pass()); });
    }
    const std::uint64_t begin = cursor_.offset();
    if (key == "schema_version") {
      read_schema_version();
    } else {
      cursor_.skip();
    }
    program_.fields.emplace_back(key, span_from(begin));
  });
  cursor_.expect_end();
  if (!has_graph_) fail(0, "has no graph");
  if (!has_version_) fail(0, "has no \"schema_version\"");
}

void ProgramReader::read_schema_version() {
  const std::uint64_t begin = cursor_.offset();
  has_version_ = true;
  each_field([&](std::string_view key) {
    if (key != "major") return cursor_.skip();
    const std::int64_t major = arguments_.take_integer();
    if (major == kSchemaMajor || major == 0) return;
    fail(begin, "is of schema version " + std::to_string(major) + "; cleave reads version " +
                    std::to_string(kSchemaMajor) + ": save it again with torch 2.6 to 2.15");
  });
}

void ProgramReader::read_module() {
  each_field([&](std::string_view key) {
    if (key == "graph") return read_graph();
    if (key == "signature") {
      has_signature_ = true;
      return read_pt2_signature(reading());
    }
    if (key == "module_call_graph") return read_modules();
    cursor_.skip();
  });
}

void ProgramReader::read_graph() {
  if (has_graph_) return fail(cursor_.offset(), "has two graphs");
  has_graph_ = true;
  const auto read_list = [&](std::vector<SourceSpan>& spans, auto& refs) {
    each_item([&] {
      const std::uint64_t begin = cursor_.offset();
      const Pt2Arguments::Read read = arguments_.read();
      spans.push_back(span_from(begin));
      refs.emplace_back(read.ref_begin, static_cast<std::uint32_t>(program_.refs.size()));
    });
  };
  each_field([&](std::string_view key) {
    if (key == "inputs") return read_list(graph_inputs_, input_refs_);
    if (key == "outputs") return read_list(graph_outputs_, output_refs_);
    if (key == "nodes") {
      const std::uint64_t begin = cursor_.offset();
      each_item([&] { read_node(); });
      program_.nodes_at = span_from(begin);
      return;
    }
    for (std::uint8_t table = 0; table < std::size(kPt2ValueTables); ++table) {
      if (key == kPt2ValueTables[table]) return read_value_table(reading(), table);
    }
    cursor_.skip();
  });
}

void ProgramReader::read_node() {
  const std::uint64_t begin = cursor_.offset();
  if (program_.nodes.size() >= limits_.nodes) {
    return fail(begin, "the graph has " + beyond_limit(limits_, &ModelLimits::nodes));
  }
  Pt2Node node;
  bool has_body_flag = false;
  node.argument_begin = static_cast<std::uint32_t>(program_.arguments.size());
  each_field([&](std::string_view key) {
    if (key == "target") {
      node.target = arguments_.take_name();
    } else if (key == "name" && cursor_.type() == JsonType::string) {
      node.name = arguments_.take_name();
    } else if (key == "inputs") {
      each_item([&] { read_node_argument(); });
    } else if (key == "outputs") {
      read_results(node);
    } else if (key == "metadata") {
      read_metadata(node);
    } else if (key == "is_hop_single_tensor_return") {
      has_body_flag = true;
      cursor_.skip();
    } else {
      cursor_.skip();
    }
  });
  if (arguments_.is_over()) return;
  node.argument_end = static_cast<std::uint32_t>(program_.arguments.size());
  if (node.argument_end - node.argument_begin > limits_.attributes) {
    return fail(begin, "a node has " + beyond_limit(limits_, &ModelLimits::attributes));
  }
  node.span = span_from(begin);
  if (node.target.empty()) return fail(begin, "a node has no \"target\"");
  node.body_begin = static_cast<std::uint32_t>(bodies_.size());
  for (const SourceSpan body : arguments_.take_graphs()) bodies_.push_back(body);
  node.body_end = static_cast<std::uint32_t>(bodies_.size());
  node.is_old_body_call = node.target.starts_with(kBodyCalls) && !has_body_flag;
  name_node(node);
  program_.nodes.push_back(node);
}

// Torch up to 2.7 has no node names: a node is named after its only result, else after the
// operator.
void ProgramReader::name_node(Pt2Node& node) {
  const std::string number = std::to_string(program_.nodes.size());
  const bool has_one = node.result_end - node.result_begin == 1 && !node.lists_results;
  if (node.name.empty() && has_one) {
    node.name = program_.values[program_.refs[node.result_begin].value].name;
  }
  const auto is_taken = [&](std::string_view name) {
    const auto fresh = static_cast<std::uint32_t>(program_.nodes.size());
    return node_names_.find_or_insert(name, fresh, [&](std::uint32_t i) {
      return program_.nodes[i].name;
    }) != NameTable::kAbsent;
  };
  if (!node.name.empty() && !is_taken(node.name)) return;
  const std::string_view path =
      node.target;  // torch.ops.aten.add.Tensor, torch.ops.higher_order.cond
  const bool has_overload = std::count(path.begin(), path.end(), '.') > 3;
  const std::string_view whole = has_overload ? path.substr(0, path.rfind('.')) : path;
  const std::string name = std::string(whole.substr(whole.rfind('.') + 1)) + "__" + number;
  node.name = program_.arena.keep(name);
  is_taken(node.name);
}

void ProgramReader::read_node_argument() {
  Pt2Argument argument;
  argument.ref_begin = static_cast<std::uint32_t>(program_.refs.size());
  each_field([&](std::string_view key) {
    if (key == "name") {
      argument.name = arguments_.take_name();
    } else if (key == "kind" && cursor_.type() == JsonType::number) {
      argument.is_keyword = arguments_.take_integer() == 2;
    } else if (key == "arg") {
      const Pt2Arguments::Read read = arguments_.read();
      argument.is_list = read.is_list;
      argument.has_literal = read.has_literal;
      argument.literal = read.literal;
    } else {
      cursor_.skip();
    }
  });
  argument.ref_end = static_cast<std::uint32_t>(program_.refs.size());
  program_.arguments.push_back(argument);
}

void ProgramReader::read_metadata(Pt2Node& node) {
  const std::uint64_t begin = cursor_.offset();
  if (cursor_.type() != JsonType::object) return cursor_.skip();
  each_field([&](std::string_view key) {
    if (key != "nn_module_stack" || cursor_.type() != JsonType::string) return cursor_.skip();
    const JsonString stack = cursor_.take_string();
    const std::string_view text =
        stack.has_escapes ? program_.arena.keep(unescaped(stack)) : stack.text;
    node.scope = innermost_scope(text);
  });
  node.metadata = span_from(begin);
}

void ProgramReader::read_results(Pt2Node& node) {
  const std::uint64_t begin = cursor_.offset();
  node.result_begin = static_cast<std::uint32_t>(program_.refs.size());
  each_item([&] {
    if (arguments_.read().is_list) node.lists_results = true;
  });
  node.result_end = static_cast<std::uint32_t>(program_.refs.size());
  node.results = span_from(begin);
  for (std::uint32_t i = node.result_begin; i < node.result_end; ++i) {
    add_maker(program_.refs[i].value);
  }
}

void ProgramReader::add_maker(std::uint32_t number) {
  Pt2Value& value = program_.values[number];
  if (value.maker != kNoPt2) {
    return fail(cursor_.end_of_last(), "value " + escaped_in_quotes(value.name) + " is made twice");
  }
  value.maker = static_cast<std::uint32_t>(program_.nodes.size());
}

void ProgramReader::read_modules() {
  const std::uint64_t list = cursor_.offset();
  each_item([&] {
    const std::uint64_t begin = cursor_.offset();
    std::string_view name;
    each_field([&](std::string_view key) {
      if (key == "fqn" && cursor_.type() == JsonType::string) {
        name = arguments_.take_name();
      } else {
        cursor_.skip();
      }
    });
    program_.modules.emplace_back(name, span_from(begin));
  });
  program_.modules_at = span_from(list);
}

// Joins the graph's lists of inputs and outputs with the signature.
void ProgramReader::check_inputs() {
  if (!has_signature_) return fail(0, "has no signature");
  if (program_.modules_at.length == 0) return fail(0, "has no \"module_call_graph\"");
  if (program_.inputs.size() != graph_inputs_.size() ||
      program_.outputs.size() != graph_outputs_.size()) {
    return fail(0, "has a signature that does not fit the graph's inputs and outputs");
  }
  for (std::size_t i = 0; i < program_.inputs.size(); ++i) {
    Pt2Input& input = program_.inputs[i];
    input.argument = graph_inputs_[i];
    const auto [begin, end] = input_refs_[i];
    if (begin == end) {
      if (is_lifted(input.kind)) fail(input.argument.offset, "an input has no name");
      input.kind = Pt2InputKind::constant_input;
      continue;
    }
    input.value = program_.refs[begin].value;
    Pt2Value& value = program_.values[input.value];
    if (value.maker != kNoPt2 || value.input != kNoPt2 || end - begin > 1) {
      return fail(input.argument.offset,
                  "value " + escaped_in_quotes(value.name) + " is made twice");
    }
    value.input = static_cast<std::uint32_t>(i);
  }
  for (std::size_t i = 0; i < program_.outputs.size(); ++i) {
    program_.outputs[i].argument = graph_outputs_[i];
    const auto [begin, end] = output_refs_[i];
    program_.outputs[i].refs.assign(program_.refs.begin() + begin, program_.refs.begin() + end);
  }
}

// Checks that every value that is read is an input or made by an earlier node.
void ProgramReader::check_refs() {
  const auto check = [&](const Pt2Ref& ref, std::uint32_t reader) {
    const Pt2Value& value = program_.values[ref.value];
    if (value.input != kNoPt2) return;
    if (value.maker == kNoPt2) {
      return fail(ref.name_at, "nothing makes the value " + escaped_in_quotes(value.name));
    }
    if (value.maker >= reader) {
      fail(ref.name_at, "value " + escaped_in_quotes(value.name) + " is read before it is made");
    }
  };
  const auto count = static_cast<std::uint32_t>(program_.nodes.size());
  for (std::uint32_t i = 0; i < count && !arguments_.is_over(); ++i) {
    const Pt2Node& node = program_.nodes[i];
    for (std::uint32_t a = node.argument_begin; a < node.argument_end; ++a) {
      const Pt2Argument& argument = program_.arguments[a];
      for (std::uint32_t r = argument.ref_begin; r < argument.ref_end; ++r) {
        check(program_.refs[r], i);
      }
    }
  }
  for (const Pt2Output& output : program_.outputs) {
    for (const Pt2Ref& ref : output.refs) check(ref, count);
  }
}

Diagnostics ProgramReader::errors() const {
  const std::string name = file_ + ":" + archive_.program_name;
  if (const auto& fault = arguments_.fault()) {  // it came before any fault of the JSON
    return {diagnostic_at(name, program_.text, fault->offset, fault->message)};
  }
  return {diagnostic_at(name, program_.text, cursor_.fault()->offset, cursor_.fault()->message)};
}

Loaded<Pt2Program> ProgramReader::read() {
  read_document();
  if (!arguments_.is_over()) check_inputs();
  if (!arguments_.is_over()) check_refs();
  if (arguments_.is_over()) return errors();
  read_bodies(0);
  return std::move(program_);
}

void ProgramReader::read_bodies(std::size_t depth) {
  program_.bodies.reserve(bodies_.size());
  for (const SourceSpan body : bodies_) {
    program_.bodies.push_back(
        depth == kMostNestedBodies
            ? Pt2Program()
            : ProgramReader(archive_, program_.text_of(body), file_, limits_).read_body(depth + 1));
  }
}

//   {"name": "body", "graph": {"inputs": [...], "outputs": [...], "nodes": [...], ...}}
Pt2Program ProgramReader::read_body(std::size_t depth) {
  each_field([&](std::string_view key) { key == "graph" ? read_graph() : cursor_.skip(); });
  for (std::size_t i = 0; i < input_refs_.size() && !arguments_.is_over(); ++i) {
    const auto [begin, end] = input_refs_[i];
    Pt2Input& input = program_.inputs.emplace_back();
    if (begin == end) continue;
    input.value = program_.refs[begin].value;
    program_.values[input.value].input = static_cast<std::uint32_t>(i);
  }
  for (const auto& [begin, end] : output_refs_) {
    program_.outputs.emplace_back().refs.assign(program_.refs.begin() + begin,
                                                program_.refs.begin() + end);
  }
  if (!arguments_.is_over()) check_refs();
  if (arguments_.is_over() || !has_graph_) return {};
  read_bodies(depth);
  return std::move(program_);
}

}  // namespace

bool is_region(std::string_view target) {
  constexpr std::array<std::string_view, 5> kRegions = {
      "wrap_with_set_grad_enabled", "wrap_with_autocast", "wrap", "wrap_activation_checkpoint",
      "tag_activation_checkpoint"};
  if (!target.starts_with(kBodyCalls)) return false;
  return std::find(kRegions.begin(), kRegions.end(), target.substr(kBodyCalls.size())) !=
         kRegions.end();
}

std::uint32_t Pt2Program::find_value(std::string_view name) const {
  const std::uint32_t found =
      value_table.find(name, [this](std::uint32_t i) { return values[i].name; });
  return found == NameTable::kAbsent ? kNoPt2 : found;
}

Loaded<Pt2Program> read_pt2_program(const Pt2Archive& archive, const std::string& file,
                                    const ModelLimits& limits) {
  return ProgramReader(archive, file, limits).read();
}

}  // namespace cleave
