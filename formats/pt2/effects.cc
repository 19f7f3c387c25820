// What operators write and which values share memory.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "core/base/base.h"
#include "core/base/words.h"
#include "core/graph/graph.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/text.h"
#include "formats/pt2/internal.h"
#include "formats/pt2/pt2.h"

namespace cleave {

// ---- op schemas ----

namespace {

using Lines = std::map<std::string, std::string, std::less<>>;

Lines& stated() {
  static Lines lines;
  return lines;
}

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_word_char);
}

// The end of what is bracketed from `begin` on, behind its last bracket; npos when it has none.
std::size_t end_of_brackets(std::string_view text, std::size_t begin) {
  std::size_t depth = 0;
  for (std::size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '(' || text[i] == '[') ++depth;
    if (text[i] != ')' && text[i] != ']') continue;
    if (depth == 0) return text.npos;
    if (--depth == 0) return i + 1;
  }
  return text.npos;
}

// Parts between commas that are in no brackets.
std::vector<std::string_view> parts_of(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t depth = 0, begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const bool is_end = i == text.size() || (text[i] == ',' && depth == 0);
    if (!is_end) {
      if (text[i] == '(' || text[i] == '[') ++depth;
      if ((text[i] == ')' || text[i] == ']') && depth > 0) --depth;
      continue;
    }
    if (const auto part = trimmed(text.substr(begin, i - begin)); !part.empty()) {
      parts.push_back(part);
    }
    begin = i + 1;
  }
  return parts;
}

// The set of "Tensor(a!)": "!a", ":a" when it is not written, "" without one.
std::string alias_of(std::string_view type) {
  constexpr std::string_view kTensor = "Tensor(";
  const std::size_t at = type.find(kTensor);
  if (at == type.npos) return {};
  std::string_view set = type.substr(at + kTensor.size());
  set = trimmed(set.substr(0, set.find_first_of(")-")));
  const bool is_written = set.ends_with('!');
  if (is_written) set.remove_suffix(1);
  return (is_written ? "!" : ":") + (is_name(set) ? std::string(set) : "*");
}

// "Tensor(a!) self=None" as "self!a"; nullopt when it has no name.
std::optional<std::string> argument_of(std::string_view text) {
  text = trimmed(text.substr(0, text.find('=')));
  std::size_t begin = text.size();
  while (begin > 0 && is_word_char(text[begin - 1])) --begin;
  const std::string_view name = text.substr(begin);
  if (name.empty() || trimmed(text.substr(0, begin)).empty()) return std::nullopt;
  return std::string(name) + alias_of(text.substr(0, begin));
}

}  // namespace

Result<std::string> operator_line(std::string_view schema) {
  const std::string form =
      "is not of the form mylib::scale_(Tensor(a!) self, float by) -> Tensor(a!)";
  const std::size_t open = schema.find('(');
  const std::size_t colons = schema.find("::");
  if (open == schema.npos || colons == schema.npos || colons > open) return Error{form};
  const std::string_view space = trimmed(schema.substr(0, colons));
  std::string_view name = trimmed(schema.substr(colons + 2, open - colons - 2));
  const std::size_t dot = name.find('.');
  const std::string_view overload = dot == name.npos ? "default" : name.substr(dot + 1);
  name = name.substr(0, dot);
  const std::size_t close = end_of_brackets(schema, open);
  if (!is_name(space) || !is_name(name) || !is_name(overload) || close == schema.npos)
    return Error{form};
  const std::string_view rest = trimmed(schema.substr(close));
  if (!rest.starts_with("->")) return Error{form};
  std::string_view made = trimmed(rest.substr(2));
  if (made.starts_with('(') && end_of_brackets(made, 0) == made.size()) {
    made = made.substr(1, made.size() - 2);
  }
  std::vector<std::string> arguments, results;
  for (const std::string_view part : parts_of(schema.substr(open + 1, close - open - 2))) {
    if (part == "*") continue;
    const auto argument = argument_of(part);
    if (!argument)
      return Error{"has an argument without a type or a name: \"" + std::string(part) + '"'};
    arguments.push_back(*argument);
  }
  for (const std::string_view part : parts_of(made)) {
    const std::string alias = alias_of(part);
    results.push_back(alias.empty() ? "-" : alias.substr(1));
  }
  return std::string(space) + '.' + std::string(name) + '.' + std::string(overload) + ' ' +
         (arguments.empty() ? "-" : joined(arguments, ",")) + ' ' +
         (results.empty() ? "0" : joined(results, ","));
}

Status<Diagnostics> state_torch_operators(const std::string& path) {
  const auto source = open_side_file(path);
  if (!source) return source.error();
  const std::string_view bytes = source->bytes();
  TextFaults faults(source->path(), bytes);
  if (faults.refuses_bytes("schemas of operators are")) return std::move(faults.errors());
  Lines lines;
  for (std::size_t begin = 0; begin < bytes.size() && !faults.is_full();) {
    const std::size_t end = std::min(bytes.find('\n', begin), bytes.size());
    std::string_view text = bytes.substr(begin, end - begin);
    text = trimmed(text.substr(0, text.find('#')));
    const std::size_t offset = begin;
    begin = end + 1;
    if (text.empty()) continue;
    auto line = operator_line(text);
    if (!line) {
      faults.error(offset, line.error().message,
                   {"torch prints it as torch.ops.mylib.scale_.default._schema"});
      continue;
    }
    std::string name = line->substr(0, line->find(' '));
    const bool is_of_torch = name.starts_with("aten.") || name.starts_with("prims.");
    if (is_of_torch && find_torch_operator("torch.ops." + name)) {
      faults.error(offset, "is an operator of torch, whose effects are known");
    } else if (!lines.emplace(std::move(name), *std::move(line)).second) {
      faults.error(offset, "this operator is stated twice");
    }
  }
  if (!faults.errors().empty()) return std::move(faults.errors());
  stated().merge(lines);
  return Done{};
}

std::string_view stated_operator_line(std::string_view name) {
  const auto found = stated().find(name);
  return found == stated().end() ? std::string_view() : std::string_view(found->second);
}

// ---- shared memory ----

namespace {

// Where the data of one input are in the archive.
struct Range {
  bool is_constant;  // which table has it
  std::uint32_t record;
  std::int64_t begin, end;  // bits
  std::uint32_t value;
};

std::vector<bool> read_values(const Pt2Program& program) {
  std::vector<bool> is_read(program.values.size());
  for (const Pt2Argument& argument : program.arguments) {
    for (std::uint32_t r = argument.ref_begin; r < argument.ref_end; ++r) {
      is_read[program.refs[r].value] = true;
    }
  }
  for (const Pt2Output& output : program.outputs) {
    for (const Pt2Ref& ref : output.refs) is_read[ref.value] = true;
  }
  return is_read;
}

// Elements from the first to the last, both counted. nullopt for a tensor that has none, or open sizes.
std::optional<std::int64_t> extent(const Pt2Program& program, const Pt2Value& value) {
  if (!value.has_meta || value.size_count != value.stride_count) return std::nullopt;
  std::optional<std::int64_t> count = 1;
  for (std::uint32_t i = 0; i < value.size_count && count; ++i) {
    const std::int64_t size = program.sizes[value.size_begin + i].size;
    const std::int64_t stride = program.sizes[value.stride_begin + i].size;
    if (size < 1 || stride < 0) return std::nullopt;
    const auto more = checked_product(size - 1, stride);
    count = more ? checked_sum(*count, *more) : std::nullopt;
  }
  return count;
}

std::optional<Range> range_of(const Pt2Archive& archive, const Pt2Program& program,
                              const Pt2Input& input) {
  const Pt2Value& value = program.values[input.value];
  const auto elements = extent(program, value);
  const std::int64_t bits = dtype_bits(dtype_from_torch(value.scalar_type));
  if (!elements || bits == 0) return std::nullopt;
  for (const Pt2Table* const table : {&archive.weights, &archive.constants}) {
    const Pt2Entry* const entry = table->find(input.target);
    if (entry == nullptr) continue;
    const auto begin = checked_product(entry->first_element, bits);
    const auto length = checked_product(*elements, bits);
    const auto end = begin && length ? checked_sum(*begin, *length) : std::nullopt;
    if (!end) return std::nullopt;
    return Range{table == &archive.constants, entry->record, *begin, *end, input.value};
  }
  return std::nullopt;
}

}  // namespace

std::vector<Pt2Overlap> overlapping_inputs(const Pt2Archive& archive, const Pt2Program& program) {
  const std::vector<bool> is_read = read_values(program);
  std::vector<Range> ranges;
  for (const Pt2Input& input : program.inputs) {
    if (input.value == kNoPt2 || !is_lifted(input.kind) || !is_read[input.value]) continue;
    if (const auto range = range_of(archive, program, input)) ranges.push_back(*range);
  }
  const auto place = [](const Range& r) {
    return std::tuple(r.is_constant, r.record, r.begin, r.value);
  };
  std::ranges::sort(ranges, [&](const Range& a, const Range& b) { return place(a) < place(b); });
  std::vector<Pt2Overlap> overlaps;
  const Range* widest = nullptr;  // the one that ends last, of the same record
  for (const Range& range : ranges) {
    const bool is_same_record = widest != nullptr && widest->is_constant == range.is_constant &&
                                widest->record == range.record;
    if (is_same_record && range.begin < widest->end) {
      overlaps.push_back({widest->value, range.value});
    }
    if (!is_same_record || range.end > widest->end) widest = &range;
  }
  return overlaps;
}

// ---- roles ----
//
// Steps:
// 1. checks, from the last node to the first: what only checks read is part of the check;
// 2. constants, from the first to the last: their operands are parameters and earlier constants.

namespace {

class RoleFinder {
 public:
  RoleFinder(const Pt2Program& program, const Pt2Effects& effects,
             const std::vector<bool>& is_written)
      : program_(program),
        effects_(effects),
        is_written_(is_written),
        roles_(program.nodes.size(), Pt2Role::node),
        is_returned_(program.values.size()),
        has_readers_(program.values.size()) {
    for (const Pt2Output& output : program.outputs) {
      for (const Pt2Ref& ref : output.refs) {
        is_returned_[ref.value] = is_returned_[effects.newest[ref.value]] = true;
      }
    }
  }

  std::vector<Pt2Role> find() {
    for (std::size_t i = roles_.size(); i-- > 0;) find_check(i);
    const std::vector<bool> has_effects = nodes_with_effects();
    for (std::size_t i = 0; i < roles_.size(); ++i) {
      if (roles_[i] == Pt2Role::node && !has_effects[i] && is_constant(program_.nodes[i])) {
        roles_[i] = Pt2Role::constant;
      }
    }
    return std::move(roles_);
  }

 private:
  // Calls visit(value) for each value that the node reads.
  void each_read(const Pt2Node& node, const auto& visit) const {
    each_ref(program_, node, [&](std::uint32_t r) { visit(effects_.read_as[r]); });
  }

  void find_check(std::size_t number) {
    const Pt2Node& node = program_.nodes[number];
    bool is_symbolic = node.result_begin < node.result_end;
    bool is_used = false;
    for (std::uint32_t r = node.result_begin; r < node.result_end; ++r) {
      const std::uint32_t value = program_.refs[r].value;
      const Pt2ValueKind kind = program_.values[value].kind;
      is_symbolic = is_symbolic && kind != Pt2ValueKind::tensor && kind != Pt2ValueKind::custom_obj;
      is_used = is_used || is_returned_[value] || has_readers_[value] == Readers::others;
    }
    const bool serves_checks =
        is_symbolic && !is_used &&
        has_readers_[program_.refs[node.result_begin].value] == Readers::checks;
    const bool is_one = !is_used && (serves_checks || cleave::is_check(node.target));
    if (is_one) roles_[number] = Pt2Role::check;
    each_read(node, [&](std::uint32_t value) {
      Readers& readers = has_readers_[value];
      readers = std::max(readers, is_one ? Readers::checks : Readers::others);
    });
  }

  // Nodes that order or memory ties to others.
  std::vector<bool> nodes_with_effects() const {
    std::vector<bool> has(roles_.size());
    for (const Pt2Order& order : effects_.order) has[order.before] = has[order.after] = true;
    for (const Pt2Whole& whole : effects_.whole) {
      for (const std::uint32_t node : whole.nodes) has[node] = true;
    }
    for (const std::uint32_t node : effects_.unknown) has[node] = true;
    return has;
  }

  bool is_pure(std::string_view target) {
    const auto [found, is_new] = is_pure_.try_emplace(target, false);
    if (is_new) {
      const auto known = find_torch_operator(target);
      found->second = known && !known->is_random &&
                      std::ranges::none_of(known->arguments, [](const TorchArgument& argument) {
                        return argument.is_written;
                      });
    }
    return found->second;
  }

  bool is_constant(const Pt2Node& node) {
    if (node.result_begin == node.result_end || !is_pure(node.target)) return false;
    for (std::uint32_t r = node.result_begin; r < node.result_end; ++r) {
      const std::uint32_t value = program_.refs[r].value;
      if (is_returned_[value] || program_.values[value].kind != Pt2ValueKind::tensor) return false;
    }
    bool reads_any = false, reads_others = false;
    each_read(node, [&](std::uint32_t value) {
      reads_any = true;
      reads_others = reads_others || !is_constant_value(value);
    });
    return reads_any && !reads_others;
  }

  bool is_constant_value(std::uint32_t number) const {
    const Pt2Value& value = program_.values[number];
    if (value.kind != Pt2ValueKind::tensor) return false;
    if (value.maker != kNoPt2) return roles_[value.maker] == Pt2Role::constant;
    return is_lifted(program_.inputs[value.input].kind) && !is_written_[number];
  }

  enum class Readers : std::uint8_t { none, checks, others };

  const Pt2Program& program_;
  const Pt2Effects& effects_;
  const std::vector<bool>& is_written_;
  std::vector<Pt2Role> roles_;
  std::vector<bool> is_returned_;     // by value
  std::vector<Readers> has_readers_;  // by value
  std::unordered_map<std::string_view, bool> is_pure_;
};

}  // namespace

bool is_check(std::string_view target) {
  constexpr std::array<std::string_view, 5> kChecks = {
      "torch.ops.aten._assert_tensor_metadata.", "torch.ops.aten._assert_scalar.",
      "torch.ops.aten._assert_async.", "torch.ops.aten.sym_constrain_range.",
      "torch.ops.aten.sym_constrain_range_for_size."};
  return std::ranges::any_of(kChecks,
                             [&](std::string_view known) { return target.starts_with(known); });
}

std::vector<Pt2Role> find_roles(const Pt2Program& program, const Pt2Effects& effects,
                                const std::vector<bool>& is_written) {
  return RoleFinder(program, effects, is_written).find();
}

std::vector<NodeId> graph_ids(const std::vector<Pt2Role>& roles) {
  std::vector<NodeId> ids(roles.size(), kNone<NodeId>);
  std::uint32_t next = 0;
  for (const Pt2Role role : {Pt2Role::node, Pt2Role::constant}) {
    for (std::size_t i = 0; i < roles.size(); ++i) {
      if (roles[i] == role) ids[i] = NodeId{next++};
    }
  }
  return ids;
}

// ---- effects ----

// The table's lines are explained in scripts/dev/torch_operators.py. They are sorted by name.

namespace {

using namespace std::string_view_literals;

constexpr std::string_view kOperators[] = {
#include "formats/pt2/operators.inc"
};

std::string_view operator_name(std::string_view line) { return line.substr(0, line.find(' ')); }

// name[:alias|!alias|?][=default]
TorchArgument read_argument(std::string_view text) {
  TorchArgument argument;
  const std::size_t equals = text.find('=');
  if (equals != text.npos) argument.default_text = text.substr(equals + 1);
  text = text.substr(0, equals);
  const std::size_t sign = text.find_first_of(":!?");
  argument.name = text.substr(0, sign);
  argument.may_be_result = sign != text.npos && text[sign] == '?';
  if (sign != text.npos && !argument.may_be_result) {
    argument.alias = text.substr(sign + 1);
    argument.is_written = text[sign] == '!';
  }
  return argument;
}

TorchOperator read_operator(std::string_view line) {
  TorchOperator found;
  int field = 0;
  for (const std::string_view part : split_at(line, ' ')) {
    const int number = field++;
    if (number == 1 && part != "-") {
      for (const std::string_view argument : split_at(part, ',')) {
        found.arguments.push_back(read_argument(argument));
      }
    } else if (number == 2 && part != "0") {
      for (const std::string_view alias : split_at(part, ',')) {
        found.results.push_back(alias == "-" ? std::string_view() : alias);
      }
    } else if (number == 3) {
      found.is_random = part == "r";
    }
  }
  return found;
}

// The number, text or truth value in `text`; nullopt for "none".
std::optional<Literal> read_literal(std::string_view text) {
  if (text == "none" || text.empty()) return std::nullopt;
  if (text == "true") return Literal(std::int64_t{1});
  if (text == "false") return Literal(std::int64_t{0});
  if (text.front() == '\'') return Literal(std::string(text.substr(1, text.size() - 2)));
  if (const auto integer = parse_number<std::int64_t>(text)) return Literal(*integer);
  double real = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), real);
  if (parsed.ec != std::errc()) return std::nullopt;
  return Literal(real);
}

}  // namespace

const TorchArgument* TorchOperator::find(std::string_view argument) const {
  const auto found = std::ranges::find(arguments, argument, &TorchArgument::name);
  return found == arguments.end() ? nullptr : &*found;
}

std::optional<TorchOperator> find_torch_operator(std::string_view target) {
  constexpr std::string_view kOps = "torch.ops.";
  if (!target.starts_with(kOps)) return std::nullopt;
  target.remove_prefix(kOps.size());
  const auto* const line = std::lower_bound(std::begin(kOperators), std::end(kOperators), target,
                                            [](std::string_view known, std::string_view wanted) {
                                              return operator_name(known) < wanted;
                                            });
  if (line != std::end(kOperators) && operator_name(*line) == target) return read_operator(*line);
  const std::string_view stated = stated_operator_line(target);
  if (stated.empty()) return std::nullopt;
  return read_operator(stated);
}

std::optional<AttributeValue> torch_default(std::string_view target, std::string_view argument) {
  const auto known = find_torch_operator(target);
  const TorchArgument* const found = known ? known->find(argument) : nullptr;
  if (found == nullptr) return std::nullopt;
  if (!found->default_text.starts_with('[')) {
    const auto literal = read_literal(found->default_text);
    if (!literal) return std::nullopt;
    return std::visit([](const auto& value) { return AttributeValue(value); }, *literal);
  }
  std::vector<Literal> items;
  const auto texts = found->default_text.substr(1, found->default_text.size() - 2);
  for (const std::string_view item : split_at(texts, ';')) {
    if (auto literal = read_literal(item)) items.push_back(*std::move(literal));
  }
  return AttributeValue(std::move(items));
}

namespace {

// Operators that write their running statistics in training, which their schemas do not state.
struct TrainingOperator {
  std::string_view name, flag;
};
constexpr std::array<TrainingOperator, 4> kTrainingOperators = {{
    {"aten.batch_norm.default", "training"},
    {"aten.native_batch_norm.default", "training"},
    {"aten.cudnn_batch_norm.default", "training"},
    {"aten.instance_norm.default", "use_input_stats"},
}};
constexpr std::array<std::string_view, 2> kStatistics = {"running_mean", "running_var"};
// Arguments that turn chance off: flags when they are false, rates when they are 0.
constexpr std::array<std::string_view, 2> kChanceFlags = {"train", "training"};
constexpr std::array<std::string_view, 3> kChanceRates = {"dropout_p", "dropout", "p"};

const Pt2Argument* find_argument(const Pt2Program& program, const Pt2Node& node,
                                 std::string_view name) {
  for (std::uint32_t a = node.argument_begin; a < node.argument_end; ++a) {
    if (program.arguments[a].name == name) return &program.arguments[a];
  }
  return nullptr;
}

// The number that an argument has; the schema's default when the file does not state it.
std::optional<double> number_of(const Pt2Program& program, const Pt2Node& node,
                                const TorchArgument& schema) {
  if (const Pt2Argument* const argument = find_argument(program, node, schema.name)) {
    if (!argument->has_literal || argument->literal.count != 1) return std::nullopt;
    const Pt2Literal& literal = argument->literal;
    if (literal.type == AttributeType::real) return program.reals[literal.begin];
    const bool is_whole =
        literal.type == AttributeType::integer || literal.type == AttributeType::boolean;
    if (!is_whole) return std::nullopt;
    return static_cast<double>(program.integers[literal.begin]);
  }
  const auto literal = read_literal(schema.default_text);
  if (!literal) return std::nullopt;
  if (const auto* const real = std::get_if<double>(&*literal)) return *real;
  const auto* const integer = std::get_if<std::int64_t>(&*literal);
  return integer == nullptr ? std::nullopt : std::optional(static_cast<double>(*integer));
}

bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return contains(names, name);
}

}  // namespace

bool has_unknown_effects(std::string_view target) {
  constexpr std::array<std::string_view, 4> kPure = {"torch.ops.higher_order.", "torch.ops.prim.",
                                                     "torch.ops._c10d_functional.",
                                                     "torch.ops.export."};
  if (!target.starts_with("torch.ops.") || find_torch_operator(target)) return false;
  return std::ranges::none_of(kPure,
                              [&](std::string_view space) { return target.starts_with(space); });
}

std::string functional_twin(std::string_view target) {
  const std::size_t end = target.rfind("_.");
  const auto known = find_torch_operator(target);
  if (!known || end == target.npos || known->arguments.empty()) return {};
  std::string twin(target.substr(0, end));
  twin += target.substr(end + 1);
  const auto other = find_torch_operator(twin);
  if (!other || other->results.size() != 1 || !other->results[0].empty()) return {};
  const bool fits =
      std::equal(known->arguments.begin(), known->arguments.end(), other->arguments.begin(),
                 other->arguments.end(), [](const TorchArgument& a, const TorchArgument& b) {
                   return a.name == b.name && a.default_text == b.default_text;
                 });
  return fits ? twin : std::string();
}

bool draws_random_numbers(const Pt2Program& program, const Pt2Node& node) {
  for (std::uint32_t b = node.body_begin; b < node.body_end; ++b) {
    const Pt2Program& body = program.bodies[b];
    const bool draws = std::ranges::any_of(
        body.nodes, [&](const Pt2Node& inner) { return draws_random_numbers(body, inner); });
    if (draws) return true;
  }
  const auto known = find_torch_operator(node.target);
  if (!known) return false;
  const bool may_drop_out = known->find("dropout_p") != nullptr;
  if (!known->is_random && !may_drop_out) return false;
  const bool has_rate = may_drop_out || node.target.find("dropout") != node.target.npos;
  for (const TorchArgument& argument : known->arguments) {
    const bool decides = is_one_of(kChanceFlags, argument.name) ||
                         (has_rate && is_one_of(kChanceRates, argument.name));
    if (decides && number_of(program, node, argument) == 0.0) return false;
  }
  return true;
}

namespace {

class NodeEffectsFinder {
 public:
  explicit NodeEffectsFinder(const Pt2Program& program) : program_(program) {}

  Pt2NodeEffects effects_of(const Pt2Node& node) {
    Pt2NodeEffects effects;
    if (const auto& known = operator_of(node.target)) {
      add_by_schema(node, *known, effects);
    } else if (is_unknown(node.target)) {
      add_possible_writes(node, effects);
    } else if (is_region(node.target)) {
      add_region_effects(node, effects);
    }
    add_training_writes(node, effects);
    return effects;
  }

 private:
  const std::optional<TorchOperator>& operator_of(std::string_view target) {
    const auto [found, is_new] = operators_.try_emplace(target);
    if (is_new) found->second = find_torch_operator(target);
    return found->second;
  }

  bool is_unknown(std::string_view target) {
    const auto [found, is_new] = is_unknown_.try_emplace(target, false);
    if (is_new) found->second = has_unknown_effects(target);
    return found->second;
  }

  void each_tensor(const Pt2Argument& argument, const auto& visit) const {
    for (std::uint32_t r = argument.ref_begin; r < argument.ref_end; ++r) {
      const std::uint32_t value = program_.refs[r].value;
      if (program_.values[value].kind == Pt2ValueKind::tensor) visit(value);
    }
  }
  const Pt2Argument* find_argument(const Pt2Node& node, std::string_view name) const {
    return cleave::find_argument(program_, node, name);
  }

  void add_by_schema(const Pt2Node& node, const TorchOperator& known, Pt2NodeEffects& effects) {
    for (const TorchArgument& schema : known.arguments) {
      if (schema.alias.empty() && !schema.may_be_result) continue;
      const Pt2Argument* const argument = find_argument(node, schema.name);
      if (argument == nullptr) continue;
      each_tensor(*argument, [&](std::uint32_t value) {
        if (schema.is_written) effects.writes.push_back(value);
        share(node, value, schema, known, effects);
      });
    }
  }

  // Where a list is among the results the node has other results than the schema: each may be of every set.
  void share(const Pt2Node& node, std::uint32_t value, const TorchArgument& schema,
             const TorchOperator& known, Pt2NodeEffects& effects) {
    const std::size_t count = node.result_end - node.result_begin;
    const auto is_shared = [&](std::string_view set) {
      return schema.may_be_result || set == "*" ||
             (!schema.alias.empty() && set.find(schema.alias) != set.npos);  // "ab": of a or b
    };
    const bool are_paired = count == known.results.size();
    const bool shares_any = std::ranges::any_of(known.results, is_shared);
    for (std::size_t k = 0; k < count; ++k) {
      if (are_paired ? !is_shared(known.results[k]) : !shares_any) continue;
      effects.shares.push_back(
          {value, program_.refs[node.result_begin + k].value,
           schema.is_written && are_paired && known.results[k] == schema.alias});
    }
  }

  // A user's operator may write all that it reads.
  void add_possible_writes(const Pt2Node& node, Pt2NodeEffects& effects) const {
    for (std::uint32_t a = node.argument_begin; a < node.argument_end; ++a) {
      each_tensor(program_.arguments[a],
                  [&](std::uint32_t value) { effects.writes.push_back(value); });
    }
  }

  // A region does to its operands what its body does to its inputs.
  void add_region_effects(const Pt2Node& node, Pt2NodeEffects& effects) const;

  void add_training_writes(const Pt2Node& node, Pt2NodeEffects& effects) {
    for (const TrainingOperator& known : kTrainingOperators) {
      if (!node.target.ends_with(known.name)) continue;
      const Pt2Argument* const flag = find_argument(node, known.flag);
      const bool is_training = flag != nullptr && flag->literal.type == AttributeType::boolean &&
                               program_.integers[flag->literal.begin] != 0;
      for (const std::string_view name : kStatistics) {
        const Pt2Argument* const argument = is_training ? find_argument(node, name) : nullptr;
        if (argument == nullptr) continue;
        each_tensor(*argument, [&](std::uint32_t value) { effects.writes.push_back(value); });
      }
    }
  }

  const Pt2Program& program_;
  std::unordered_map<std::string_view, std::optional<TorchOperator>> operators_;
  std::unordered_map<std::string_view, bool> is_unknown_;
};

}  // namespace

// Values of a program that share memory, and whether it is written.
class MemoryOfBody {
 public:
  explicit MemoryOfBody(const Pt2Program& body)
      : parent_(body.values.size()), is_written_(body.values.size()) {
    for (std::uint32_t i = 0; i < parent_.size(); ++i) parent_[i] = i;
    const std::vector<Pt2NodeEffects> effects = find_node_effects(body);
    for (const Pt2NodeEffects& node : effects) {
      for (const Pt2Share& share : node.shares) parent_[find(share.to)] = find(share.from);
    }
    for (const Pt2NodeEffects& node : effects) {
      for (const std::uint32_t value : node.writes) is_written_[find(value)] = true;
    }
  }

  std::uint32_t find(std::uint32_t value) {
    while (parent_[value] != value) value = parent_[value] = parent_[parent_[value]];
    return value;
  }
  bool is_written(std::uint32_t value) { return is_written_[find(value)]; }

 private:
  std::vector<std::uint32_t> parent_;
  std::vector<bool> is_written_;  // by representative
};

void NodeEffectsFinder::add_region_effects(const Pt2Node& node, Pt2NodeEffects& effects) const {
  if (node.body_end - node.body_begin != 1) return;
  const Pt2Program& body = program_.bodies[node.body_begin];
  std::vector<std::uint32_t> operands;
  each_ref(program_, node, [&](std::uint32_t r) { operands.push_back(program_.refs[r].value); });
  std::vector<std::uint32_t> results;  // of the body
  for (const Pt2Output& output : body.outputs) {
    for (const Pt2Ref& ref : output.refs) results.push_back(ref.value);
  }
  const bool fits = operands.size() == body.inputs.size() &&
                    results.size() == node.result_end - node.result_begin;
  MemoryOfBody memory(body);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (program_.values[operands[i]].kind != Pt2ValueKind::tensor) continue;
    const std::uint32_t input = fits ? body.inputs[i].value : kNoPt2;
    if (input == kNoPt2 || memory.is_written(input)) effects.writes.push_back(operands[i]);
    for (std::size_t k = 0; k < results.size() && input != kNoPt2; ++k) {
      if (memory.find(results[k]) != memory.find(input)) continue;
      effects.shares.push_back({operands[i], program_.refs[node.result_begin + k].value, false});
    }
  }
}

std::vector<Pt2NodeEffects> find_node_effects(const Pt2Program& program) {
  NodeEffectsFinder finder(program);
  std::vector<Pt2NodeEffects> effects;
  effects.reserve(program.nodes.size());
  for (const Pt2Node& node : program.nodes) effects.push_back(finder.effects_of(node));
  return effects;
}

// Three rounds over the nodes:
//   1. join values that share memory to classes, and those that are one tensor, an argument and the
//      result of the operator that wrote it, to families (union-find)
//   2. find the written classes in which a stale tensor is read: one of a family that was there when
//      another family was written
//   3. give new names after each write, and order writers and readers, and those that draw random
//      numbers

namespace {

class EffectFinder {
 public:
  explicit EffectFinder(const Pt2Program& program)
      : program_(program),
        parent_(program.values.size()),
        family_(program.values.size()),
        newest_(program.values.size()) {
    for (std::uint32_t i = 0; i < parent_.size(); ++i) parent_[i] = family_[i] = newest_[i] = i;
  }

  Pt2Effects run(std::span<const Pt2Overlap> overlaps) {
    const auto count = static_cast<std::uint32_t>(program_.nodes.size());
    const std::vector<Pt2NodeEffects> effects = find_node_effects(program_);
    for (const Pt2NodeEffects& node : effects) {
      for (const Pt2Share& share : node.shares) {
        join(parent_, share.from, share.to);
        if (share.is_same) join(family_, share.from, share.to);
      }
      for (const std::uint32_t value : node.writes) classes_.try_emplace(value);
    }
    join_overlaps(overlaps);
    find_classes(effects);
    for (const std::uint32_t value : written_at_end_) {
      classes_.at(root(value)).has_stale_reads = true;
    }
    found_.is_renamed.assign(count, false);
    found_.read_as.resize(program_.refs.size());
    for (std::size_t i = 0; i < found_.read_as.size(); ++i) {
      found_.read_as[i] = program_.refs[i].value;
    }
    if (!classes_.empty()) {
      for (std::uint32_t i = 0; i < count; ++i) order_node(i, effects[i]);
    }
    order_random_nodes();
    find_vmap_regions();
    find_unknown();
    finish();
    return std::move(found_);
  }

 private:
  struct Write {
    std::uint32_t node = kNoPt2;  // kNoPt2: none
    std::uint32_t family = kNoPt2;
  };

  struct MemoryClass {
    Write last, last_of_another;  // the latter of another family than the former
    bool has_stale_reads = false;
    bool has_input = false;
    std::uint32_t last_writer = kNoPt2;
    std::vector<std::uint32_t> readers;  // since the last write
    std::vector<std::uint32_t> nodes;
  };

  using Sets = std::vector<std::uint32_t>;
  // The representative of the value's set is its first value.
  static std::uint32_t find(Sets& sets, std::uint32_t value) {
    while (sets[value] != value) value = sets[value] = sets[sets[value]];
    return value;
  }
  static void join(Sets& sets, std::uint32_t a, std::uint32_t b) {
    sets[find(sets, b)] = find(sets, a);
  }
  std::uint32_t root(std::uint32_t value) { return find(parent_, value); }
  std::uint32_t newest(std::uint32_t value) {
    while (newest_[value] != value) value = newest_[value] = newest_[newest_[value]];
    return value;
  }

  // Inputs that overlap are one class. Where the program writes one of them at its end, as programs without operators in place
  // do, the class is written, too, and the node that makes the new contents is one of its nodes.
  void join_overlaps(std::span<const Pt2Overlap> overlaps) {
    if (overlaps.empty()) return;
    std::unordered_map<std::string_view, std::uint32_t> shared;  // by target
    std::vector<bool> overlaps_one(program_.values.size());
    for (const Pt2Overlap& pair : overlaps) {
      join(parent_, pair.first, pair.second);
      overlaps_one[pair.first] = overlaps_one[pair.second] = true;
    }
    for (const Pt2Input& input : program_.inputs) {
      if (input.value != kNoPt2 && overlaps_one[input.value]) shared[input.target] = input.value;
    }
    for (const Pt2Output& output : program_.outputs) {
      const bool is_write = output.kind == Pt2OutputKind::buffer_mutation ||
                            output.kind == Pt2OutputKind::parameter_mutation;
      const auto found = shared.find(output.target);
      if (!is_write || found == shared.end()) continue;
      classes_.try_emplace(found->second);
      written_at_end_.push_back(found->second);
      for (const Pt2Ref& ref : output.refs) join(parent_, found->second, ref.value);
    }
  }

  void find_classes(const std::vector<Pt2NodeEffects>& effects) {
    const auto written = std::move(classes_);
    classes_.clear();
    for (const auto& [value, memory] : written) classes_.try_emplace(root(value));
    if (classes_.empty()) return;
    for (std::uint32_t i = 0; i < effects.size(); ++i) note_node(i, effects[i]);
    for (const Pt2Input& input : program_.inputs) {
      if (input.value == kNoPt2) continue;
      note_read(input.value);  // the caller sees what was written
      const auto found = classes_.find(root(input.value));
      if (found != classes_.end()) found->second.has_input = true;
    }
    for (const Pt2Output& output : program_.outputs) {
      for (const Pt2Ref& ref : output.refs) note_read(ref.value);
    }
  }

  void note_node(std::uint32_t number, const Pt2NodeEffects& effects) {
    each_ref(program_, program_.nodes[number],
             [&](std::uint32_t r) { note_read(program_.refs[r].value); });
    for (const std::uint32_t value : effects.writes) {
      MemoryClass& memory = classes_.at(root(value));
      const std::uint32_t family = find(family_, value);
      if (memory.last.family != family) memory.last_of_another = memory.last;
      memory.last = {number, family};
    }
  }

  void note_read(std::uint32_t value) {
    const auto found = classes_.find(root(value));
    if (found == classes_.end()) return;
    MemoryClass& memory = found->second;
    const std::uint32_t family = find(family_, value);
    const Write& write = memory.last.family == family ? memory.last_of_another : memory.last;
    if (write.node == kNoPt2) return;
    const std::uint32_t maker = program_.values[family].maker;
    if (maker == kNoPt2 || maker < write.node) memory.has_stale_reads = true;
  }

  // The written classes that the node uses, each once, in order of its values.
  std::vector<std::uint32_t> touch(std::uint32_t number) {
    const Pt2Node& node = program_.nodes[number];
    std::vector<std::uint32_t> touched;
    const auto note = [&](std::uint32_t value) {
      const auto found = classes_.find(root(value));
      if (found == classes_.end()) return false;
      if (!contains(touched, found->first)) {
        touched.push_back(found->first);
      }
      return !found->second.has_stale_reads;
    };
    each_ref(program_, node, [&](std::uint32_t r) {
      const std::uint32_t value = program_.refs[r].value;
      if (!note(value)) return;
      found_.read_as[r] = newest(value);
      if (found_.read_as[r] != value) found_.is_renamed[number] = true;
    });
    for (std::uint32_t r = node.result_begin; r < node.result_end; ++r) {
      note(program_.refs[r].value);
    }
    return touched;
  }

  void order_node(std::uint32_t number, const Pt2NodeEffects& effects) {
    for (const std::uint32_t key : touch(number)) {
      MemoryClass& memory = classes_.at(key);
      memory.nodes.push_back(number);
      if (memory.last_writer != kNoPt2) found_.order.push_back({memory.last_writer, number, key});
      const bool is_writer = std::ranges::any_of(
          effects.writes, [&](std::uint32_t value) { return root(value) == key; });
      if (!is_writer) {
        memory.readers.push_back(number);
        continue;
      }
      for (const std::uint32_t reader : memory.readers) {
        found_.order.push_back({reader, number, key});
      }
      memory.readers.clear();
      memory.last_writer = number;
    }
    for (const std::uint32_t value : effects.writes) {
      if (classes_.at(root(value)).has_stale_reads) continue;
      const bool is_named_anew = std::ranges::any_of(effects.shares, [&](const Pt2Share& share) {
        return share.from == value && share.is_same;
      });
      const std::uint32_t current = newest(value);
      if (!is_named_anew) found_.rewrites.push_back({number, current});
      for (const Pt2Share& share : effects.shares) {
        if (share.from != value || !share.is_same || newest(value) == share.to) continue;
        newest_[newest(value)] = share.to;
        break;
      }
    }
  }

  void order_random_nodes() {
    std::uint32_t last = kNoPt2;
    for (std::uint32_t i = 0; i < program_.nodes.size(); ++i) {
      if (!draws_random_numbers(program_, program_.nodes[i])) continue;
      if (last != kNoPt2) found_.order.push_back({last, i, kNoPt2});
      last = i;
    }
  }

  // From each node that enters vmap to the one that leaves it again; regions within are part of it,
  // and a node that prepares for it.
  void find_vmap_regions() {
    std::size_t depth = 0;
    std::uint32_t preparation = kNoPt2;
    for (std::uint32_t i = 0; i < program_.nodes.size(); ++i) {
      const std::string_view target = program_.nodes[i].target;
      if (depth == 0 && target.ends_with(".lazy_load_decompositions")) preparation = i;
      const bool enters = target.ends_with("._vmap_increment_nesting");
      if (enters && depth++ == 0) {
        found_.whole.push_back({{}, true});
        if (preparation != kNoPt2) found_.whole.back().nodes.push_back(preparation);
        preparation = kNoPt2;
      }
      if (depth > 0) found_.whole.back().nodes.push_back(i);
      if (depth > 0 && target.ends_with("._vmap_decrement_nesting")) --depth;
    }
  }

  void find_unknown() {
    std::unordered_map<std::string_view, bool> is_unknown;
    for (std::uint32_t i = 0; i < program_.nodes.size(); ++i) {
      if (is_unknown_node(program_, program_.nodes[i], is_unknown)) found_.unknown.push_back(i);
    }
  }

  bool is_unknown_node(const Pt2Program& program, const Pt2Node& node,
                       std::unordered_map<std::string_view, bool>& is_unknown) {
    const auto [found, is_new] = is_unknown.try_emplace(node.target, false);
    if (is_new) {
      found->second = has_unknown_effects(node.target);
      if (found->second) found_.unknown_targets.push_back(node.target);
    }
    bool is_one = found->second;
    for (std::uint32_t b = node.body_begin; b < node.body_end; ++b) {
      for (const Pt2Node& inner : program.bodies[b].nodes) {
        if (is_unknown_node(program.bodies[b], inner, is_unknown)) is_one = true;
      }
    }
    return is_one;
  }

  // After the last write all that is read is up to date, and can be handed to other partitions. An
  // input of the program is handed to all that read it as it was at the beginning.
  static std::vector<std::uint32_t> kept_together(const MemoryClass& memory) {
    std::vector<std::uint32_t> nodes = memory.nodes;
    if (memory.has_input) return nodes;
    nodes.erase(std::upper_bound(nodes.begin(), nodes.end(), memory.last_writer), nodes.end());
    return nodes;
  }

  void finish() {
    found_.newest.resize(program_.values.size());
    for (std::uint32_t i = 0; i < found_.newest.size(); ++i) found_.newest[i] = newest(i);
    std::vector<std::uint32_t> keys;
    for (const auto& [key, memory] : classes_) {
      if (memory.has_stale_reads && memory.nodes.size() > 1) keys.push_back(key);
    }
    std::ranges::sort(keys);
    for (const std::uint32_t key : keys) {
      found_.whole.push_back({kept_together(classes_.at(key))});
    }
    for (const Pt2Input& input : program_.inputs) {
      if (input.value == kNoPt2) continue;
      const auto found = classes_.find(root(input.value));
      if (found == classes_.end() || found->second.last_writer == kNoPt2) continue;
      found_.written_inputs.push_back(
          {input.value, newest(input.value), found->second.last_writer, found->second.nodes});
    }
  }

  const Pt2Program& program_;
  Pt2Effects found_;
  Sets parent_, family_;               // values of one class; values that are one tensor
  std::vector<std::uint32_t> newest_;  // by value
  std::unordered_map<std::uint32_t, MemoryClass> classes_;  // written ones, by root
  std::vector<std::uint32_t> written_at_end_;               // inputs that overlap others
};

}  // namespace

Pt2Effects find_effects(const Pt2Program& program, std::span<const Pt2Overlap> overlaps) {
  return EffectFinder(program).run(overlaps);
}

}  // namespace cleave
