#include "formats/pt2/pt2.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/words.h"
#include "core/graph/graph.h"
#include "core/graph/graph_builder.h"
#include "formats/base/json.h"
#include "formats/base/model.h"
#include "formats/pt2/internal.h"

namespace cleave {

std::optional<std::int64_t> bound_size(const Pt2Model& model, std::string_view symbol) {
  const auto found = model.symbol_sizes.find(symbol);
  if (found == model.symbol_sizes.end()) return std::nullopt;
  return found->second;
}

// Layouts of symbolic sizes are found by trying them: each symbol is replaced by a large prime of
// its own, twice. Sizes and strides are products of symbols and small numbers, so strides that are
// right for two such sets of sizes are right for all.

namespace {

constexpr int kSparseFirst = 1, kSparseLast = 5, kStridedLayout = 7;  // torch's numbers

using Primes = std::array<std::int64_t, 6>;
constexpr Primes kPrimes[] = {{10007, 10009, 10037, 10039, 10061, 10067},
                              {20011, 20021, 20023, 20029, 20047, 20051}};

std::optional<std::int64_t> evaluated(const Pt2Size& size, const SymbolValue& value_of) {
  if (!size.expression.empty()) return read_size_expression(size.expression, value_of).value;
  return size.size < 0 ? std::nullopt : std::optional(size.size);
}

class LayoutReader {
 public:
  LayoutReader(const Pt2Model& model, const Pt2Value& value)
      : model_(model),
        sizes_(dims_of(value.size_begin, value.size_count)),
        strides_(dims_of(value.stride_begin, value.stride_count)) {
    for (const auto& dims : {sizes_, strides_}) {
      for (const Pt2Size& dim : dims) {
        const auto symbols = symbols_in(dim.expression);
        symbols_.insert(symbols_.end(), symbols.begin(), symbols.end());
      }
    }
    sort_unique(symbols_);
  }

  std::optional<TensorLayout> read() const {
    const auto first = layouts_with(kPrimes[0]);
    if (!first || first != layouts_with(kPrimes[1])) return std::nullopt;
    TensorLayout layout{*first, {}};
    for (const Pt2Size& stride : strides_) {
      layout.strides.push_back(
          evaluated(stride, [&](std::string_view symbol) { return bound_size(model_, symbol); }));
    }
    return layout;
  }

 private:
  std::span<const Pt2Size> dims_of(std::uint32_t begin, std::uint32_t count) const {
    return std::span(model_.program.sizes).subspan(begin, count);
  }

  // nullopt when a size or a stride cannot be computed.
  std::optional<LayoutSet> layouts_with(const Primes& primes) const {
    const SymbolValue value_of = [&](std::string_view symbol) -> std::optional<std::int64_t> {
      if (const auto size = bound_size(model_, symbol)) return size;
      const auto at = std::lower_bound(symbols_.begin(), symbols_.end(), symbol);
      const auto number = static_cast<std::size_t>(at - symbols_.begin());
      if (number >= primes.size()) return std::nullopt;
      return primes[number];
    };
    std::vector<std::int64_t> sizes, strides;
    for (const auto& [dims, numbers] : {std::pair(sizes_, &sizes), std::pair(strides_, &strides)}) {
      for (const Pt2Size& dim : dims) {
        const auto number = evaluated(dim, value_of);
        if (!number) return std::nullopt;
        numbers->push_back(*number);
      }
    }
    return strided_layouts(sizes, strides);
  }

  const Pt2Model& model_;
  std::span<const Pt2Size> sizes_, strides_;
  std::vector<std::string_view> symbols_;  // sorted
};

}  // namespace

std::optional<TensorLayout> tensor_layout(const Pt2Model& model, const Pt2Value& value) {
  if (!value.has_meta) return std::nullopt;
  if (value.layout >= kSparseFirst && value.layout <= kSparseLast) {
    TensorLayout layout;
    layout.layouts.add(LayoutName::sparse);
    return layout;
  }
  if (value.layout != kStridedLayout || value.size_count != value.stride_count) return std::nullopt;
  return LayoutReader(model, value).read();
}

std::vector<bool> written_inputs(const Pt2Model& model) {
  std::set<std::string_view> targets;  // that the signature says are written
  for (const Pt2Output& output : model.program.outputs) {
    const bool is_write = output.kind == Pt2OutputKind::buffer_mutation ||
                          output.kind == Pt2OutputKind::parameter_mutation ||
                          output.kind == Pt2OutputKind::user_input_mutation;
    if (is_write) targets.insert(output.target);
  }
  std::vector<bool> written(model.program.values.size());
  for (const Pt2WrittenInput& input : model.effects.written_inputs) written[input.value] = true;
  using Place = std::pair<const Pt2Table*, std::uint32_t>;
  const auto place_of = [&](const Pt2Input& input) -> std::optional<Place> {
    for (const Pt2Table* const table : {&model.archive.weights, &model.archive.constants}) {
      if (const Pt2Entry* const entry = table->find(input.target)) return {{table, entry->record}};
    }
    return std::nullopt;
  };
  std::set<Place> records;
  for (const Pt2Input& input : model.program.inputs) {
    if (input.value == kNoPt2) continue;
    if (targets.count(input.target) != 0) written[input.value] = true;
    const auto place = place_of(input);
    if (written[input.value] && place) records.insert(*place);
  }
  for (const Pt2Input& input : model.program.inputs) {
    if (input.value == kNoPt2 || records.empty()) continue;
    const auto place = place_of(input);
    if (place && records.count(*place) != 0) written[input.value] = true;
  }
  return written;
}

namespace {

constexpr std::string_view kSizeOperator = "torch.ops.aten.sym_";

// Finds the nodes whose results are known sizes.
class KnownSizes {
 public:
  explicit KnownSizes(Pt2Model& model)
      : model_(model), program_(model.program), must_stay_(program_.values.size()) {}

  void find() {
    if (model_.symbol_sizes.empty()) return;
    find_readers();
    for (std::size_t i = 0; i < program_.nodes.size(); ++i) {
      const Pt2Node& node = program_.nodes[i];
      Pt2Role& role = model_.roles[i];
      if (role == Pt2Role::check ? !reads_known_only(node) : !computes_known(node)) continue;
      role = Pt2Role::known;
    }
  }

 private:
  // Values that the program returns, or that are read where no number can be.
  void find_readers() {
    for (const Pt2Output& output : program_.outputs) {
      for (const Pt2Ref& ref : output.refs) must_stay_[ref.value] = true;
    }
    for (const Pt2Node& node : program_.nodes) {
      each_ref(program_, node, [&](std::uint32_t r) {
        const Pt2Ref& ref = program_.refs[r];
        if (node.body_begin < node.body_end || !symbol_argument(program_, ref)) {
          must_stay_[ref.value] = true;
        }
      });
    }
  }

  // Python's functions compute on numbers alone.
  bool computes_known(const Pt2Node& node) {
    const bool is_size =
        node.target.starts_with(kSizeOperator) ||
        (!node.target.starts_with("torch.ops.") && node.body_begin == node.body_end);
    if (!is_size || node.result_begin == node.result_end) return false;
    std::vector<std::pair<std::uint32_t, std::int64_t>> sizes;
    for (std::uint32_t r = node.result_begin; r < node.result_end; ++r) {
      const std::uint32_t number = program_.refs[r].value;
      const Pt2Value& value = program_.values[number];
      if (value.kind != Pt2ValueKind::sym_int || must_stay_[number]) return false;
      const auto size =
          read_size_expression(number_expression(program_, value),
                               [&](std::string_view symbol) { return bound_size(model_, symbol); });
      if (!size.value) return false;
      sizes.emplace_back(number, *size.value);
    }
    model_.known_sizes.insert(sizes.begin(), sizes.end());
    return true;
  }

  bool reads_known_only(const Pt2Node& node) const {
    bool reads_any = false, reads_others = false;
    each_ref(program_, node, [&](std::uint32_t r) {
      const std::uint32_t maker = program_.values[program_.refs[r].value].maker;
      reads_any = true;
      reads_others = reads_others || maker == kNoPt2 || model_.roles[maker] != Pt2Role::known;
    });
    return reads_any && !reads_others;
  }

  Pt2Model& model_;
  const Pt2Program& program_;
  std::vector<bool> must_stay_;  // by value
};

}  // namespace

void find_meaning(Pt2Model& model, Folding folding) {
  model.effects = find_effects(model.program, overlapping_inputs(model.archive, model.program));
  if (folding == Folding::off) {
    model.roles.assign(model.program.nodes.size(), Pt2Role::node);
  } else {
    model.roles = find_roles(model.program, model.effects, written_inputs(model));
    KnownSizes(model).find();
  }
  model.node_ids = graph_ids(model.roles);
}

// From an archive to a graph:
//   1. read the archive's directory and tables, the program's JSON, and what its operators write
//   2. turn shapes from --input-shape into sizes of symbols
//   3. add inputs, lifted values and nodes, in the program's order, under the names that are read
//      after in-place operators

namespace {

constexpr std::size_t kNodesBetweenTold = 4096;

// Turns shapes from --input-shape into sizes of symbols: dims of inputs are symbols or fixed.
class InputShapes {
 public:
  InputShapes(const Pt2Program& program, const std::string& file)
      : program_(program), file_(file) {}

  // `bindings` with a dim added for each symbol that a shape binds.
  Loaded<ShapeBindings> bind(const ShapeBindings& bindings) {
    ShapeBindings all = bindings;
    for (const auto& [name, dims] : bindings.inputs) {
      const std::uint32_t number = program_.find_value(name);
      if (number == kNoPt2 || program_.values[number].input == kNoPt2) continue;  // reported later
      const std::string fault = bind_input(program_.values[number], dims, all);
      if (!fault.empty()) {
        return Diagnostics{
            diagnostic_of(file_, "--input-shape gives " + escaped_in_quotes(name) + " " + fault)};
      }
    }
    return all;
  }

 private:
  std::string bind_input(const Pt2Value& value, const std::vector<std::int64_t>& dims,
                         ShapeBindings& all) const {
    if (!value.has_meta) return "a shape, but it is not a tensor";
    if (dims.size() != value.size_count) {
      return std::to_string(dims.size()) + " dims, but it has " + std::to_string(value.size_count);
    }
    for (std::size_t i = 0; i < dims.size(); ++i) {
      const Pt2Size& size = program_.sizes[value.size_begin + i];
      if (dims[i] < 0 || dims[i] == size.size) continue;
      const SizeText text = read_size_expression(
          size.expression, [](std::string_view) { return std::optional<std::int64_t>(); });
      const bool is_symbol = text.symbols.size() == 1 && text.symbols.front() == text.text;
      if (!is_symbol) {
        return "the size " + std::to_string(dims[i]) + " in dim " + std::to_string(i) +
               ", which the model was exported with as " +
               (size.size >= 0 ? std::to_string(size.size) : text.text);
      }
      all.dims.emplace_back(text.text, dims[i]);
    }
    return {};
  }

  const Pt2Program& program_;
  const std::string& file_;
};

class GraphMaker {
 public:
  GraphMaker(Pt2Model& model, const ShapeBindings& bindings)
      : program_(model.program), model_(model), binder_(bindings) {}

  void make(const Progress& progress) {
    handles_.resize(program_.values.size());
    add_inputs();
    const std::size_t count = program_.nodes.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (i % kNodesBetweenTold == 0) tell(progress, {"reading", "nodes", i, count});
      if (model_.node_ids[i] != kNone<NodeId>) add_node(program_.nodes[i], model_.roles[i]);
    }
    for (const Pt2Output& output : program_.outputs) {
      for (const Pt2Ref& ref : output.refs) {
        builder_.add_graph_output(handles_[model_.effects.newest[ref.value]], {});
      }
    }
  }

  Result<Graph, std::vector<GraphFault>> finish() {
    auto graph = builder_.finish();
    if (!graph) return graph;
    model_.value_numbers = PerValue<std::uint32_t>(graph->value_count(), kNoPt2);
    const std::span<const ValueId> ids = builder_.value_ids();
    for (std::uint32_t i = 0; i < handles_.size(); ++i) {
      if (is_in_graph(program_.values[i])) {
        model_.value_numbers[ids[static_cast<std::size_t>(handles_[i])]] = i;
      }
    }
    return graph;
  }

  const ShapeBinder& binder() const { return binder_; }
  // Symbols without a binding, with the sizes they had when the model was exported.
  const std::map<std::string, std::int64_t, std::less<>>& traced() const { return traced_; }

 private:
  bool is_in_graph(const Pt2Value& value) const {
    if (value.maker == kNoPt2) return value.input != kNoPt2;
    return model_.node_ids[value.maker] != kNone<NodeId>;
  }

  Dim dim_of(const Pt2Size& size) {
    if (size.expression.empty()) return size.size < 0 ? Dim() : Dim::fixed(size.size);
    const auto [known, is_new] = dims_.try_emplace(size.expression);
    if (!is_new) return known->second;
    bool is_bound = false;  // some symbol of it
    const SizeText text = read_size_expression(size.expression, [&](std::string_view symbol) {
      const auto bound = binder_.size_of(symbol);
      is_bound = is_bound || bound;
      return bound;
    });
    if (text.value) return known->second = Dim::fixed(*text.value);
    const bool is_symbol = text.symbols.size() == 1 && text.symbols.front() == text.text;
    if (size.traced >= 0 && is_symbol) traced_.emplace(text.text, size.traced);
    const std::int64_t traced = is_bound ? size_with_traced(size.expression) : size.traced;
    known->second = Dim::symbol(builder_.intern(text.text), traced);
    return known->second;
  }

  // With one of several symbols bound, the traced size of the whole is another model's: the others count as traced. -1 where one
  // of them was in no shape so far; inputs come first.
  std::int64_t size_with_traced(std::string_view expression) {
    const SizeText text = read_size_expression(expression, [&](std::string_view symbol) {
      if (const auto bound = binder_.size_of(symbol)) return bound;
      const auto found = traced_.find(symbol);
      return found == traced_.end() ? std::nullopt : std::optional(found->second);
    });
    return text.value.value_or(-1);
  }

  ValueDecl declaration_of(const Pt2Value& value) { return declaration_of(program_, value); }
  ValueDecl declaration_of(const Pt2Program& program, const Pt2Value& value) {
    ValueDecl decl{.name = value.name};
    if (value.kind != Pt2ValueKind::tensor) {
      decl.type = value.kind == Pt2ValueKind::custom_obj ? ValueType::unknown : ValueType::scalar;
      return decl;
    }
    decl.type = ValueType::tensor;
    if (!value.has_meta) return decl;
    decl.dtype = dtype_from_torch(value.scalar_type);
    shape_.clear();
    for (std::uint32_t i = 0; i < value.size_count; ++i) {
      shape_.push_back(dim_of(program.sizes[value.size_begin + i]));
    }
    decl.shape = builder_.intern_shape(shape_);
    return decl;
  }

  void add_inputs() {
    std::map<std::string_view, ValueHandle> by_config;
    for (const Pt2Input& input : program_.inputs) {
      if (input.value == kNoPt2) continue;
      const Pt2Value& value = program_.values[input.value];
      if (is_lifted(input.kind)) continue;
      binder_.shape_of(value.name);
      handles_[input.value] = builder_.add_input(declaration_of(value), {});
    }
    for (const Pt2Input& input : program_.inputs) {
      if (input.value == kNoPt2 || !is_lifted(input.kind)) continue;
      const ValueHandle handle =
          builder_.add_parameter(declaration_of(program_.values[input.value]), {});
      handles_[input.value] = handle;
      const Pt2Entry* entry = model_.archive.weights.find(input.target);
      if (entry == nullptr) entry = model_.archive.constants.find(input.target);
      if (entry == nullptr) continue;
      const auto [first, is_new] = by_config.try_emplace(entry->config, handle);
      if (!is_new) builder_.set_alias(handle, first->second);
    }
  }

  void add_node(const Pt2Node& node, Pt2Role role) {
    const NodeDecl decl = {.name = node.name,
                           .op = node.target,
                           .scope = node.scope,
                           .kind = NodeKind::call_function,
                           .source = {}};
    const NodeHandle handle =
        role == Pt2Role::constant ? builder_.add_constant(decl) : builder_.add_node(decl);
    const auto read = [&](std::uint32_t ref) { return handles_[model_.effects.read_as[ref]]; };
    add_arguments(program_, node, read);
    for (std::uint32_t r = node.result_begin; r < node.result_end; ++r) {
      const std::uint32_t value = program_.refs[r].value;
      handles_[value] =
          builder_.add_output(declaration_of(program_.values[value]), r - node.result_begin);
    }
    std::vector<ValueHandle> operands;
    each_ref(program_, node, [&](std::uint32_t ref) { operands.push_back(read(ref)); });
    add_bodies(program_, node, operands, node.name, handle);
  }

  // The nodes of the bodies that a node calls, and of theirs: a region's inputs are its operands, and
  // so are those of a branch. Those of loops have types of their own.
  void add_bodies(const Pt2Program& program, const Pt2Node& node,
                  const std::vector<ValueHandle>& operands, std::string_view path,
                  NodeHandle owner) {
    const bool is_branch = node.target == "torch.ops.higher_order.cond";
    for (std::uint32_t b = node.body_begin; b < node.body_end; ++b) {
      const Pt2Program& body = program.bodies[b];
      const std::size_t skipped = is_branch ? 1 : 0;  // the condition
      const bool passes_operands =
          (is_branch || is_region(node.target)) && operands.size() == body.inputs.size() + skipped;
      std::vector<ValueHandle> locals(body.values.size());
      std::vector<bool> is_known(body.values.size());
      for (std::size_t i = 0; i < body.inputs.size() && passes_operands; ++i) {
        if (body.inputs[i].value == kNoPt2) continue;
        locals[body.inputs[i].value] = operands[i + skipped];
        is_known[body.inputs[i].value] = true;
      }
      for (std::uint32_t value = 0; value < body.values.size(); ++value) {
        if (is_known[value]) continue;
        locals[value] = builder_.add_local_value(declaration_of(body, body.values[value]));
      }
      for (const Pt2Node& inner : body.nodes) add_body_node(body, inner, locals, path, owner);
    }
  }

  void add_body_node(const Pt2Program& body, const Pt2Node& node,
                     const std::vector<ValueHandle>& locals, std::string_view path,
                     NodeHandle owner) {
    const std::string_view name = builder_.keep(std::string(path) + "/" + std::string(node.name));
    std::vector<ValueHandle> operands;
    each_ref(body, node,
             [&](std::uint32_t ref) { operands.push_back(locals[body.refs[ref].value]); });
    if (!is_check(node.target) && !is_region(node.target)) {
      builder_.add_body_node({.name = name,
                              .op = node.target,
                              .scope = node.scope,
                              .target = path,
                              .kind = NodeKind::call_function,
                              .source = {}},
                             owner);
      add_arguments(body, node, [&](std::uint32_t ref) { return locals[body.refs[ref].value]; });
      for (std::uint32_t r = node.result_begin; r < node.result_end; ++r) {
        builder_.add_body_output(locals[body.refs[r].value]);
      }
    }
    add_bodies(body, node, operands, name, owner);
  }

  void add_arguments(const Pt2Program& program, const Pt2Node& node, const auto& read) {
    for (const bool keywords : {false, true}) add_operands(program, node, keywords, read);
    for (std::uint32_t a = node.argument_begin; a < node.argument_end; ++a) {
      add_attribute(program, program.arguments[a]);
    }
  }

  // Positional ones come first; an operand is a keyword if it is one in the file.
  void add_operands(const Pt2Program& program, const Pt2Node& node, bool keywords,
                    const auto& read) {
    for (std::uint32_t a = node.argument_begin; a < node.argument_end; ++a) {
      const Pt2Argument& argument = program.arguments[a];
      const bool is_keyword = argument.is_keyword && !argument.name.empty();
      if (is_keyword != keywords) continue;
      const OperandSlot plain = is_keyword ? OperandSlot::keyword(builder_.intern(argument.name))
                                           : OperandSlot::positional(a - node.argument_begin);
      const OperandSlot slot = argument.is_list ? plain.inside_list() : plain;
      for (std::uint32_t r = argument.ref_begin; r < argument.ref_end; ++r) {
        const bool is_main = &program == &program_;
        if (is_main && model_.known_sizes.contains(program.refs[r].value)) continue;
        builder_.add_operand(read(r), slot);
      }
    }
  }

  void add_attribute(const Pt2Program& program, const Pt2Argument& argument) {
    if (!argument.has_literal || argument.name.empty()) return;
    const NameId name = builder_.intern(argument.name);
    const Pt2Literal& literal = argument.literal;
    switch (literal.type) {
      case AttributeType::opaque:
        return builder_.add_opaque_attribute(name);
      case AttributeType::real:
      case AttributeType::reals:
        return builder_.add_attribute(
            name, std::span(program.reals).subspan(literal.begin, literal.count), literal.type);
      case AttributeType::string:
      case AttributeType::strings:
        return builder_.add_attribute(name,
                                      std::span<const std::string_view>(program.strings)
                                          .subspan(literal.begin, literal.count),
                                      literal.type);
      default:
        return builder_.add_attribute(
            name,
            std::span<const std::int64_t>(program.integers).subspan(literal.begin, literal.count),
            literal.type);
    }
  }

  const Pt2Program& program_;
  Pt2Model& model_;
  ShapeBinder binder_;
  GraphBuilder builder_;
  std::vector<ValueHandle> handles_;  // by value
  std::vector<Dim> shape_;
  std::unordered_map<std::string_view, Dim> dims_;  // by expression
  std::map<std::string, std::int64_t, std::less<>> traced_;
};

// "bytes and FLOPs are counted at the sizes as traced, s77 = 2: --dim s77=SIZE sets others"
std::string traced_note(const Pt2Model& model,
                        const std::map<std::string, std::int64_t, std::less<>>& traced) {
  if (traced.empty()) return {};
  std::size_t count = 0;
  for (std::size_t i = 0; i < model.roles.size(); ++i) {
    count +=
        model.roles[i] == Pt2Role::node && model.program.nodes[i].target.starts_with(kSizeOperator);
  }
  std::string sizes, options;
  for (const auto& [symbol, size] : traced) {
    const std::string text = escaped(symbol), number = std::to_string(size);
    sizes += (sizes.empty() ? "" : ", ") + text + " = " + number;
    options += (options.empty() ? "--dim " : " --dim ") + text + "=SIZE";
  }
  return "bytes and FLOPs are counted at the sizes as traced, " + sizes + ": " + options +
         " sets others" +
         (count == 0
              ? std::string()
              : ", for which " +
                    counted(count, "node that asks for a size is", "nodes that ask for sizes are") +
                    " not needed, nor ties others together");
}

// One warning for all operators whose effects are unknown, with the first of them.
void warn_of_unknown(const Pt2Model& model, const std::string& file,
                     std::vector<Diagnostic>& warnings) {
  const std::vector<std::string_view>& targets = model.effects.unknown_targets;
  if (targets.empty()) return;
  constexpr std::size_t kMostTargets = 6;
  const auto name = [](std::string_view target) { return escaped(torch_path(target)); };
  warnings.push_back(diagnostic_of(
      file, "what these operators write is not in the file: " +
                capped_list(targets, kMostTargets, name, ", ...") +
                "; they are kept in order with every node that uses a tensor that they read"));
  warnings.back().severity = Severity::warning;
  warnings.back().notes.emplace_back(
      "--op-schemas FILE states it: a line for each, as torch prints "
      "torch.ops.X.Y.default._schema");
}

}  // namespace

Loaded<Pt2Loaded> read_pt2(const SourceFile& source, const ShapeBindings& bindings,
                           const ModelLimits& limits, const Progress& progress) {
  auto archive = read_pt2_archive(source, bindings.signature);
  if (!archive) return std::move(archive).error();
  std::unique_ptr<Pt2Model, DeletePt2Model> model(new Pt2Model());
  model->archive = *std::move(archive);
  auto program = read_pt2_program(model->archive, source.path(), limits);
  if (!program) return std::move(program).error();
  model->program = *std::move(program);
  auto bound = InputShapes(model->program, source.path()).bind(bindings);
  if (!bound) return std::move(bound).error();
  model->symbol_sizes.insert(bound->dims.begin(), bound->dims.end());
  find_meaning(*model, bindings.folding);
  GraphMaker maker(*model, *bound);
  maker.make(progress);
  JsonFaults faults(source);
  maker.binder().report_faults(faults);
  report_sizes_out_of_range(model->program, *bound, faults);
  if (!faults.empty()) return faults.errors();
  auto graph = maker.finish();
  if (!graph) return faults_of(source, graph.error());
  Graph ordered = graph->with_order(pt2_ties(*model).order);
  Pt2Loaded loaded{std::move(model), std::move(ordered), {}, {}};
  warn_of_unknown(*loaded.model, source.path(), loaded.warnings);
  if (std::string note = traced_note(*loaded.model, maker.traced()); !note.empty()) {
    loaded.notes.push_back(std::move(note));
  }
  return loaded;
}

NodeTies pt2_ties(const Pt2Model& model) {
  NodeTies ties{.order = {},
                .whole = {},
                .way_out =
                    "decompose the program before it is saved, which makes it functional: "
                    "ep = ep.run_decompositions({})"};
  for (const Pt2Order& order : model.effects.order) {
    const NodeId before = model.placed(order.before), after = model.placed(order.after);
    if (before == kNone<NodeId> || after == kNone<NodeId>) continue;
    ties.order.push_back({before, after, shared_memory_text(model, order)});
  }
  for (const Pt2Whole& whole : model.effects.whole) {
    std::vector<NodeId> nodes;
    for (const std::uint32_t node : whole.nodes) {
      if (model.placed(node) != kNone<NodeId>) nodes.push_back(model.placed(node));
    }
    if (nodes.size() < 2) continue;
    ties.whole.push_back(std::move(nodes));
    ties.causes.push_back(whole_text(whole));
  }
  return ties;
}

std::string shared_memory_text(const Pt2Model& model, const Pt2Order& order) {
  if (order.value == kNoPt2) return "the generator of random numbers";
  return escaped_in_quotes(model.program.values[order.value].name) + ", which is written in place";
}

std::string whole_text(const Pt2Whole& whole) {
  return whole.is_vmap ? "nodes of one vmap region" : "nodes that write or view the same memory";
}

void DeletePt2Model::operator()(Pt2Model* model) const noexcept { delete model; }

OpFacts torch_op_facts(const Pt2Model& model) {
  OpFacts facts;
  facts.whole = pt2_ties(model).whole;
  facts.default_attribute = [](std::string_view, std::string_view op, std::int64_t,
                               std::string_view attribute) { return torch_default(op, attribute); };
  facts.is_written = [&model, written = written_inputs(model)](ValueId parameter) {
    return written[model.value_numbers[parameter]];
  };
  facts.layout = [&model](ValueId tensor) -> std::optional<TensorLayout> {
    const std::uint32_t number = model.value_numbers[tensor];
    if (number == kNoPt2) return std::nullopt;  // of a body
    return tensor_layout(model, model.program.values[number]);
  };
  facts.is_region = is_region;
  return facts;
}

}  // namespace cleave
