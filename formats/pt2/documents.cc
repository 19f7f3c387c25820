#include "formats/pt2/internal.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <unordered_set>
#include <vector>

#include "formats/base/json.h"

namespace cleave {

std::string_view number_expression(const Pt2Program& program, const Pt2Value& value) {
  const std::string_view entry = program.text_of(value.entry);
  const std::size_t key = entry.find("\"expr_str\"");
  const std::size_t begin = key == entry.npos ? key : entry.find('"', entry.find(':', key));
  if (begin == entry.npos) return {};
  return entry.substr(begin + 1, entry.find('"', begin + 1) - begin - 1);
}

std::optional<std::uint64_t> symbol_argument(const Pt2Program& program, const Pt2Ref& ref) {
  constexpr std::string_view kKey = "\"as_name\"";
  const std::size_t colon = program.text.find_last_not_of(" \t\r\n", ref.name_at - 1);
  if (program.text[colon] != ':') return std::nullopt;
  const std::size_t end = program.text.find_last_not_of(" \t\r\n", colon - 1) + 1;
  const bool is_symbol = program.text.substr(0, end).ends_with(kKey);
  return is_symbol ? std::optional(end - kKey.size()) : std::nullopt;
}

// A node's text is assembled from pieces between edits, in order of position.

namespace {

// Bytes [begin, end) of the program's text, and their replacement.
struct Edit {
  std::uint64_t begin, end;
  std::string text;
};

class NodeText {
 public:
  NodeText(const Pt2Model& model, std::uint32_t number)
      : model_(model), program_(model.program), node_(program_.nodes[number]) {}

  void rename() {
    each_ref(program_, node_, [&](std::uint32_t r) {
      const Pt2Ref& ref = program_.refs[r];
      const std::uint32_t value = model_.effects.read_as[r];
      if (value == ref.value) return;
      edits_.push_back(
          {ref.name_at, end_of_string(ref.name_at), json_string(program_.values[value].name)});
    });
  }

  // Puts numbers in the place of known sizes.
  void fill_in() {
    if (model_.known_sizes.empty()) return;
    each_ref(program_, node_, [&](std::uint32_t r) {
      const Pt2Ref& ref = program_.refs[r];
      const auto size = model_.known_sizes.find(ref.value);
      const auto begin = symbol_argument(program_, ref);
      if (size == model_.known_sizes.end() || !begin) return;
      edits_.push_back(
          {*begin, end_of_string(ref.name_at), "\"as_int\": " + std::to_string(size->second)});
    });
  }

  // Does nothing if the target is not in the text as such.
  void set_target(std::string_view target) {
    const std::string_view span = program_.text.substr(node_.span.offset, node_.span.length);
    const std::string old = json_string(node_.target);
    const std::size_t at = span.find(old);
    if (at == span.npos) return;
    const std::uint64_t begin = node_.span.offset + at;
    edits_.push_back({begin, begin + old.size(), json_string(target)});
  }

  // Torch up to 2.7 puts the results of a body's call into one list, and does not say whether they
  // are one tensor.
  void repair_body_call() {
    if (!node_.is_old_body_call) return;
    const std::uint32_t count = node_.result_end - node_.result_begin;
    const bool is_single = count == 1 && !node_.lists_results;
    const SourceSpan at = node_.results;
    std::string results(program_.text_of(at));
    if (node_.lists_results) results = listed_results();
    edits_.push_back(
        {at.offset, at.offset + at.length,
         results + ", \"is_hop_single_tensor_return\": " + (is_single ? "true" : "false")});
  }

  void set_metadata(std::string_view module, std::string_view name) {
    const SourceSpan at = node_.metadata;
    if (at.length == 0) return;
    edits_.push_back({at.offset, at.offset + at.length, metadata(at, module, name)});
  }

  void append_to(std::string& out) {
    std::ranges::sort(edits_, [](const Edit& a, const Edit& b) { return a.begin < b.begin; });
    std::uint64_t at = node_.span.offset;
    const std::uint64_t end = at + node_.span.length;
    for (const Edit& edit : edits_) {
      out += program_.text.substr(at, edit.begin - at);
      out += edit.text;
      at = edit.end;
    }
    out += program_.text.substr(at, end - at);
  }

 private:
  std::uint64_t end_of_string(std::uint64_t at) const {
    for (++at; program_.text[at] != '"'; ++at) {
      if (program_.text[at] == '\\') ++at;
    }
    return at + 1;
  }

  std::string listed_results() const {
    std::vector<std::string> items;
    for (std::uint32_t r = node_.result_begin; r < node_.result_end; ++r) {
      const std::string name = json_string(program_.values[program_.refs[r].value].name);
      items.push_back("{\"as_tensor\": {\"name\": " + name + "}}");
    }
    return json_list(items);
  }

  // The fields unchanged, except for the module, and the partition in the user's notes.
  std::string metadata(SourceSpan at, std::string_view module, std::string_view name) const {
    JsonObjectText fields;
    std::string custom;
    JsonCursor cursor(program_.text_of(at));
    cursor.enter();
    while (const auto key = cursor.next_key()) {
      const std::string field = unescaped(*key);
      const std::uint64_t begin = cursor.offset();
      if (field == "custom" && cursor.type() == JsonType::string) {
        custom = unescaped(cursor.take_string());
        continue;
      }
      cursor.skip();
      if (field == "nn_module_stack") continue;
      fields.add(field, program_.text.substr(at.offset + begin, cursor.end_of_last() - begin));
    }
    const std::string path(module);
    fields.add("nn_module_stack", json_string("L__self__,,cleave.Root;L__self___" + path + "," +
                                              path + ",cleave.Partition"));
    fields.add("custom", json_string(with_note(custom, name)));
    return fields.text();
  }

  // The user's notes, an object, with one note added.
  static std::string with_note(std::string_view custom, std::string_view name) {
    std::string note = "{\"cleave_partition\": " + json_string(name);
    const std::size_t begin = custom.find('{');
    const std::size_t end = custom.rfind('}');
    if (begin == custom.npos || end == custom.npos || end < begin) return note + "}";
    const std::string_view fields = custom.substr(begin + 1, end - begin - 1);
    if (fields.find_first_not_of(" \t\r\n") == fields.npos) return note + "}";
    return note + ", " + std::string(fields) + "}";
  }

  const Pt2Model& model_;
  const Pt2Program& program_;
  const Pt2Node& node_;
  std::vector<Edit> edits_;
};

}  // namespace

void append_pt2_node(std::string& out, const Pt2Model& model, std::uint32_t node, Pt2Names names,
                     std::string_view target) {
  NodeText text(model, node);
  if (!target.empty()) text.set_target(target);
  if (names == Pt2Names::as_read && model.effects.is_renamed[node]) text.rename();
  text.fill_in();
  text.repair_body_call();
  text.append_to(out);
}

namespace {

// The text with numbers for sizes of bound symbols, where nodes have such numbers, too.
std::string with_known_sizes(const Pt2Model& model, std::string text) {
  constexpr std::string_view kBegin = "{\"as_expr\":", kExpression = "\"expr_str\":";
  if (model.known_sizes.empty()) return text;
  std::string out;
  std::size_t done = 0;
  for (std::size_t at = text.find(kBegin); at != text.npos; at = text.find(kBegin, at + 1)) {
    const std::size_t key = text.find(kExpression, at);
    if (key == text.npos) break;
    const std::size_t begin = text.find('"', key + kExpression.size()) + 1;
    const std::size_t end = text.find('"', begin);
    const auto size =
        read_size_expression(std::string_view(text).substr(begin, end - begin),
                             [&](std::string_view symbol) { return bound_size(model, symbol); });
    if (!size.value) continue;
    out.append(text, done, at - done).append("{\"as_int\": " + std::to_string(*size.value) + "}");
    std::size_t depth = 0;
    for (done = at; done < text.size(); ++done) {
      depth += text[done] == '{' ? 1U : 0U;
      depth -= text[done] == '}' ? 1U : 0U;
      if (depth == 0) break;
    }
    at = done++;
  }
  return out.append(text, std::min(done, text.size()));
}

}  // namespace

void append_pt2_root_node(std::string& out, const Pt2Model& model, std::uint32_t node,
                          std::string_view module, std::string_view name) {
  NodeText text(model, node);
  text.fill_in();
  text.repair_body_call();
  text.set_metadata(module, name);
  text.append_to(out);
}

namespace {

using Layout = JsonText::Layout;

class ChainWriter {
 public:
  ChainWriter(const Pt2Model& model, const Pt2ChainNames& names)
      : program_(model.program), effects_(model.effects), names_(names) {}

  std::string write(const Pt2Plan& plan) {
    json_.begin_object();
    json_.begin_list("order");
    for (const Pt2Part& part : plan.parts) write_part(part);
    json_.end_list();
    write_inputs();
    write_outputs();
    write_state(plan);
    write_mutations(plan);
    json_.end_object();
    return std::move(json_).finish();
  }

 private:
  void write_values(std::string_view key, const std::vector<std::uint32_t>& values) {
    json_.begin_list(key, Layout::one_line);
    for (const std::uint32_t value : values) json_.text(program_.values[value].name);
    json_.end_list();
  }

  void write_part(const Pt2Part& part) {
    const std::size_t number = index(part.part);
    json_.begin_object();
    json_.text("name", names_.names[number]);
    json_.text("file", names_.files[number]);
    if (!names_.models.empty()) json_.text("model", names_.models[number]);
    write_values("inputs", part.inputs);
    write_values("outputs", part.outputs);
    write_values("writes_inputs", part.written_inputs);
    json_.begin_list("repeated", Layout::one_line);
    for (const std::uint32_t node : part.repeated) json_.text(program_.nodes[node].name);
    json_.end_list();
    json_.end_object();
  }

  void write_inputs() {
    json_.begin_list("inputs", Layout::one_line);
    for (const Pt2Input& input : program_.inputs) {
      if (is_lifted(input.kind)) continue;
      if (input.value == kNoPt2) {
        json_.null();
      } else {
        json_.text(program_.values[input.value].name);
      }
    }
    json_.end_list();
  }

  void write_outputs() {
    json_.begin_list("outputs");
    for (const Pt2Output& output : program_.outputs) {
      if (output.kind != Pt2OutputKind::user_output && output.kind != Pt2OutputKind::loss_output) {
        continue;
      }
      if (output.refs.empty()) {
        json_.document(program_.text_of(output.argument));
      } else {
        json_.text(program_.values[effects_.newest[output.refs.front().value]].name);
      }
    }
    json_.end_list();
  }

  void write_state(const Pt2Plan& plan) {
    json_.begin_list("state");
    for (const std::uint32_t value : plan.state) {
      const Pt2Input& input = program_.inputs[program_.values[value].input];
      json_.begin_object(Layout::one_line);
      json_.text("name", program_.values[value].name);
      json_.text("kind", input.kind == Pt2InputKind::parameter ? "parameter" : "buffer");
      json_.text("target", input.target);
      if (input.kind == Pt2InputKind::buffer) json_.flag("persistent", input.is_persistent);
      json_.end_object();
    }
    json_.end_list();
  }

  void write_mutations(const Pt2Plan& plan) {
    json_.begin_list("mutations");
    for (const Pt2Mutation& mutation : plan.mutations) {
      json_.begin_object(Layout::one_line);
      json_.text("kind", mutation.kind);
      json_.text("target", mutation.target);
      json_.text("value", program_.values[mutation.value].name);
      json_.end_object();
    }
    json_.end_list();
  }

  const Pt2Program& program_;
  const Pt2Effects& effects_;
  const Pt2ChainNames& names_;
  JsonText json_;
};

}  // namespace

std::string pt2_chain_json(const Pt2Model& model, const Pt2Plan& plan, const Pt2ChainNames& names) {
  return ChainWriter(model, names).write(plan);
}

// Two documents:
// 1. that of a partition: its inputs and outputs, its nodes, and the ranges of its symbols;
// 2. that of the root: the model's own, with nodes in modules and calls of these modules.

namespace {

constexpr std::string_view kLeaf = "{\"type\": null, \"context\": null, \"children_spec\": []}";

// A flat tuple with `count` items, as torch's pytree writes it.
std::string flat_tuple(std::size_t count) {
  const std::vector<std::string> leaves(count, std::string(kLeaf));
  return "{\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": " +
         json_list(leaves) + "}";
}

// Arguments: a tuple, and no keywords.
std::string input_tree(std::size_t count) {
  return "[1, {\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [" +
         flat_tuple(count) +
         ", {\"type\": \"builtins.dict\", \"context\": \"[]\", \"children_spec\": []}]}]";
}

std::string output_tree(std::size_t count) { return "[1, " + flat_tuple(count) + "]"; }

// The value as an argument of its kind.
std::string argument_of(const Pt2Value& value) {
  const std::string name = json_string(value.name);
  switch (value.kind) {
    case Pt2ValueKind::sym_int:
      return "{\"as_sym_int\": {\"as_name\": " + name + "}}";
    case Pt2ValueKind::sym_float:
      return "{\"as_sym_float\": {\"as_name\": " + name + "}}";
    case Pt2ValueKind::sym_bool:
      return "{\"as_sym_bool\": {\"as_name\": " + name + "}}";
    default:
      return "{\"as_tensor\": {\"name\": " + name + "}}";
  }
}

class PartDocument {
 public:
  PartDocument(const Pt2Model& model, const Pt2Part& part)
      : model_(model), program_(model.program), part_(part) {}

  std::string write() {
    gather();
    JsonObjectText module;
    module.add("graph", graph());
    module.add("signature", "{\"input_specs\": " + json_list(input_specs_) +
                                ", \"output_specs\": " + json_list(output_specs_) + "}");
    module.add("module_call_graph", "[" + module_call() + "]");
    module.add("metadata", "{}");
    module.add("treespec_namedtuple_fields", "{}");
    JsonObjectText document;
    document.add("graph_module", module.text());
    for (const auto& [key, span] : program_.fields) {
      if (key != "guards_code") document.add(key, program_.text_of(span));
    }
    document.add("range_constraints", ranges());
    document.add("guards_code", "[]");
    return document.text();
  }

 private:
  void gather() {
    for (const std::uint32_t value : part_.lifted_inputs) {
      const Pt2Input& input = program_.inputs[program_.values[value].input];
      std::string spec(program_.text_of(input.spec));
      if (const auto first = part_.first_names.find(value); first != part_.first_names.end()) {
        const std::string own = json_string(input.target);
        if (const std::size_t at = spec.rfind(own); at != spec.npos) {
          spec.replace(at, own.size(), json_string(first->second));
        }
      }
      add_input(value, std::string(program_.text_of(input.argument)), std::move(spec));
    }
    for (const std::uint32_t value : part_.inputs) {
      const std::string argument = argument_of(program_.values[value]);
      add_input(value, argument, "{\"user_input\": {\"arg\": " + argument + "}}");
    }
    for (const std::uint32_t number : part_.native_mutations) {
      const Pt2Output& output = program_.outputs[number];
      outputs_.emplace_back(program_.text_of(output.argument));
      output_specs_.emplace_back(program_.text_of(output.spec));
    }
    for (const std::uint32_t value : part_.outputs) {
      const std::string argument = argument_of(program_.values[value]);
      outputs_.push_back(argument);
      output_specs_.push_back("{\"user_output\": {\"arg\": " + argument + "}}");
    }
    for (const std::uint32_t node : part_.nodes) add_values_of(program_.nodes[node]);
    sort_unique(values_);
    open_rounded_sizes();
  }

  // torch finds a symbol from the first input that has it, and refuses the call where it cannot: where another part rounded the
  // size, (s - 1)//2 + 1. The part has a symbol of its own for such a size.
  void open_rounded_sizes() {
    std::unordered_set<std::string_view> found;
    for (const std::uint32_t value : part_.inputs) {
      for (const std::string_view size : sizes_of(program_.values[value])) {
        const std::vector<std::string_view> symbols = symbols_in(size);
        const bool has_one =
            !symbols.empty() && std::ranges::all_of(symbols, [&](std::string_view symbol) {
              return symbol == symbols.front();
            });
        if (!has_one || found.contains(symbols.front())) continue;
        const std::vector<std::string_view> rounded = rounded_terms(size);
        if (rounded.empty()) found.insert(symbols.front());
        for (const std::string_view term : rounded) add_own_symbol(size, term, symbols.front());
      }
    }
    std::ranges::sort(own_symbols_, [](const OwnSymbol& a, const OwnSymbol& b) {
      return a.term.size() > b.term.size();
    });
  }

  // The size that is the term and a number becomes the symbol, so that the term is the symbol less the number.
  void add_own_symbol(std::string_view size, std::string_view term, std::string_view symbol) {
    const bool is_known =
        std::ranges::any_of(own_symbols_, [&](const OwnSymbol& own) { return own.term == term; });
    if (is_known) return;
    std::string name;
    std::size_t number = own_symbols_.size();
    do {  // parts may be split again
      name = std::string(symbol) + "_" + std::to_string(++number);
    } while (program_.text.find("'" + name + "'") != program_.text.npos);
    std::string text = "Symbol('" + name + "', integer=True)";
    const std::string begin = "Add(" + std::string(term) + ", Integer(";
    if (size.starts_with(begin)) {
      const std::string_view addend = size.substr(begin.size(), size.size() - begin.size() - 2);
      const bool is_number = addend.find_first_not_of("-0123456789") == addend.npos;
      if (is_number)
        text = "Add(" + text + ", Mul(Integer(-1), Integer(" + std::string(addend) + ")))";
    }
    own_symbols_.push_back({term, std::move(text), name});
  }

  // The sizes of a tensor, or the number itself, that depend on symbols.
  std::vector<std::string_view> sizes_of(const Pt2Value& value) const {
    std::vector<std::string_view> sizes;
    for (std::uint32_t i = 0; i < value.size_count; ++i) {
      sizes.push_back(program_.sizes[value.size_begin + i].expression);
    }
    if (value.kind == Pt2ValueKind::sym_int) sizes.push_back(number_expression(program_, value));
    return sizes;
  }

  // The text with the part's own symbols.
  std::string with_own_symbols(std::string text) const {
    for (const OwnSymbol& own : own_symbols_) {
      std::string changed;
      std::size_t done = 0;
      for (std::size_t at = text.find(own.term); at != text.npos;
           at = text.find(own.term, at + own.term.size())) {
        const char before = at == 0 ? ' ' : text[at - 1];
        if (before >= 'A') continue;  // Mod(...) of PythonMod(...)
        changed.append(text, done, at - done).append(own.text);
        done = at + own.term.size();
      }
      text = changed.append(text, done);
    }
    return text;
  }

  void add_input(std::uint32_t value, std::string argument, std::string spec) {
    inputs_.push_back(std::move(argument));
    input_specs_.push_back(std::move(spec));
    values_.push_back(value);
  }

  void add_values_of(const Pt2Node& node) {
    each_ref(program_, node, [&](std::uint32_t r) {
      const std::uint32_t value = model_.effects.read_as[r];
      if (!model_.known_sizes.contains(value)) values_.push_back(value);
    });
    for (std::uint32_t r = node.result_begin; r < node.result_end; ++r) {
      values_.push_back(program_.refs[r].value);
    }
  }

  std::string graph() {
    std::string text = "{\"inputs\": " + json_list(inputs_) +
                       ", \"outputs\": " + json_list(outputs_) + ", \"nodes\": [";
    nodes_begin_ = text.size();
    for (std::size_t i = 0; i < part_.nodes.size(); ++i) {
      if (i > 0) text += ", ";
      append_pt2_node(text, model_, part_.nodes[i], Pt2Names::as_read,
                      target_in_part(part_.nodes[i]));
    }
    text += "]";
    for (std::uint8_t table = 0; table < std::size(kPt2ValueTables); ++table) {
      text += ", \"";
      text += kPt2ValueTables[table];
      text += "\": ";
      append_table(text, table);
    }
    text = with_own_symbols(with_known_sizes(model_, std::move(text)));
    if (!program_.ranges.empty()) {
      for (const std::string_view symbol : symbols_in(text)) symbols_.emplace(symbol);
    }
    return text + ", \"is_single_tensor_return\": false}";
  }

  // An operator that writes what another part made needs not write it: all later readers have its
  // result. Compilers refuse parts that write their inputs. "" if the target is to be left.
  std::string target_in_part(std::uint32_t number) const {
    const Pt2Node& node = program_.nodes[number];
    if (node.target.find("_.") == node.target.npos) return {};
    std::vector<std::uint32_t> reads;
    each_ref(program_, node, [&](std::uint32_t r) { reads.push_back(model_.effects.read_as[r]); });
    if (reads.size() != 1 || node.result_end - node.result_begin != 1) return {};
    const bool is_from_part =
        program_.values[reads[0]].maker != kNoPt2 && contains(part_.inputs, reads[0]);
    const bool is_tied = std::ranges::any_of(model_.effects.whole, [&](const auto& set) {
      return std::ranges::binary_search(set.nodes, number);
    });
    return is_from_part && !is_tied ? functional_twin(node.target) : std::string();
  }

  void append_table(std::string& text, std::uint8_t table) const {
    text += "{";
    bool is_first = true;
    for (const std::uint32_t number : values_) {
      const Pt2Value& value = program_.values[number];
      if (value.entry.length == 0 || value.table != table) continue;
      if (!is_first) text += ", ";
      is_first = false;
      text += json_string(value.name);
      text += ": ";
      text += entry_in_part(number);
    }
    text += "}";
  }

  // The type of a tensor with these strides; unchanged when it states none.
  static std::string with_strides(std::string_view entry, const std::vector<std::string>& strides) {
    std::string text(entry);
    const std::size_t begin = text.find('[', text.find("\"strides\""));
    std::size_t end = begin, depth = 0;
    while (end < text.size()) {
      depth += text[end] == '[' ? 1U : 0U;
      depth -= text[end] == ']' ? 1U : 0U;
      ++end;
      if (depth == 0) break;
    }
    return begin == text.npos ? text : text.replace(begin, end - begin, json_list(strides));
  }

  // The type of a value in the part. One that another part makes arrives as a copy, which has no
  // elements in common, so that no stride is 0 as it is after an expand.
  std::string entry_in_part(std::uint32_t number) const {
    const Pt2Value& value = program_.values[number];
    const std::string_view entry = program_.text_of(value.entry);
    const bool crosses = value.maker != kNoPt2 && contains(part_.inputs, number);
    if (!crosses || value.size_count != value.stride_count) return std::string(entry);
    bool is_spread = false;
    std::vector<std::string> strides(value.stride_count);
    std::int64_t elements = 1;
    for (std::uint32_t i = value.size_count; i > 0; --i) {
      const Pt2Size& size = program_.sizes[value.size_begin + i - 1];
      const Pt2Size& stride = program_.sizes[value.stride_begin + i - 1];
      if (size.size < 0) return std::string(entry);  // with open sizes torch finds the strides anew
      is_spread = is_spread || (stride.size == 0 && size.size > 1);
      strides[i - 1] = "{\"as_int\": " + std::to_string(elements) + "}";
      elements *= std::max<std::int64_t>(size.size, 1);
    }
    return is_spread ? with_strides(entry, strides) : std::string(entry);
  }

  // The ranges of the symbols that the part uses.
  std::string ranges() const {
    JsonObjectText ranges;
    for (const auto& [symbol, span] : program_.ranges) {
      if (symbols_.contains(std::string(symbol))) ranges.add(symbol, program_.text_of(span));
    }
    for (const OwnSymbol& own : own_symbols_) {
      ranges.add(own.name, "{\"min_val\": 0, \"max_val\": null}");
    }
    return ranges.text();
  }

  std::string module_call() const {
    std::vector<std::string> names;
    for (const std::uint32_t value : part_.inputs) {
      names.push_back(json_string(program_.values[value].name));
    }
    return "{\"fqn\": \"\", \"signature\": {\"inputs\": [], \"outputs\": [], \"in_spec\": " +
           json_string(input_tree(part_.inputs.size())) +
           ", \"out_spec\": " + json_string(output_tree(part_.outputs.size())) +
           ", \"forward_arg_names\": " + json_list(names) + "}}";
  }

  const Pt2Model& model_;
  const Pt2Program& program_;
  const Pt2Part& part_;
  std::size_t nodes_begin_ = 0;
  std::vector<std::string> inputs_, input_specs_, outputs_, output_specs_;
  std::vector<std::uint32_t> values_;  // that the part uses
  std::unordered_set<std::string> symbols_;

  // What the part has for a term of a size, in its tables.
  struct OwnSymbol {
    std::string_view term;
    std::string text, name;
  };
  std::vector<OwnSymbol> own_symbols_;  // longer terms first
};

}  // namespace

std::string pt2_part_document(const Pt2Model& model, const Pt2Part& part) {
  return PartDocument(model, part).write();
}

std::string pt2_root_document(const Pt2Model& model, const Pt2Plan& plan,
                              const std::vector<std::string>& modules,
                              const std::vector<std::string>& names) {
  const Pt2Program& program = model.program;
  std::string nodes = "[";
  std::string calls;
  std::unordered_set<std::uint32_t> written;  // constants, which are in each part that reads them
  for (const Pt2Part& part : plan.parts) {
    const std::string& module = modules[index(part.part)];
    calls += ", {\"fqn\": " + json_string(module) + ", \"signature\": null}";
    for (const std::uint32_t node : part.nodes) {
      if (std::ranges::binary_search(part.repeated, node)) continue;
      const bool is_constant = model.roles[node] == Pt2Role::constant;
      if (is_constant && !written.insert(node).second) continue;
      if (nodes.size() > 1) nodes += ", ";
      append_pt2_root_node(nodes, model, node, module, names[index(part.part)]);
    }
  }
  nodes += "]";
  const bool has_root = !program.modules.empty() && program.modules.front().first.empty();
  std::string modules_text = "[";
  if (has_root) modules_text += program.text_of(program.modules.front().second);
  modules_text += has_root || calls.empty() ? calls : calls.substr(2);
  modules_text += "]";
  // The rest of the document is unchanged.
  struct Part {
    SourceSpan at;
    const std::string& text;
  };
  std::array<Part, 2> parts = {{{program.nodes_at, nodes}, {program.modules_at, modules_text}}};
  const bool nodes_first = program.nodes_at.offset < program.modules_at.offset;
  std::string document;
  std::uint64_t at = 0;
  for (const Part& part : {parts[nodes_first ? 0 : 1], parts[nodes_first ? 1 : 0]}) {
    document += program.text.substr(at, part.at.offset - at);
    document += part.text;
    at = part.at.offset + part.at.length;
  }
  document += program.text.substr(at);
  return with_known_sizes(model, std::move(document));
}

}  // namespace cleave
