#include "formats/models/pt2/effects.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace cleave {

// The table's lines are explained in scripts/dev/torch_operators.py. They are sorted by name.

namespace {

using namespace std::string_view_literals;

constexpr std::string_view kOperators[] = {
#include "formats/models/pt2/operators.inc"
};

std::string_view operator_name(std::string_view line) { return line.substr(0, line.find(' ')); }

// Calls visit(part) for each part between separators.
template <class Visit>
void each_part(std::string_view text, char separator, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    visit(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// name[:alias|!alias][=default]
TorchArgument read_argument(std::string_view text) {
  TorchArgument argument;
  const std::size_t equals = text.find('=');
  if (equals != text.npos) argument.default_text = text.substr(equals + 1);
  text = text.substr(0, equals);
  const std::size_t sign = text.find_first_of(":!");
  argument.name = text.substr(0, sign);
  if (sign != text.npos) {
    argument.alias = text.substr(sign + 1);
    argument.is_written = text[sign] == '!';
  }
  return argument;
}

TorchOperator read_operator(std::string_view line) {
  TorchOperator found;
  int field = 0;
  each_part(line, ' ', [&](std::string_view part) {
    const int number = field++;
    if (number == 1 && part != "-") {
      each_part(part, ',', [&](std::string_view argument) {
        found.arguments.push_back(read_argument(argument));
      });
    } else if (number == 2 && part != "0") {
      each_part(part, ',', [&](std::string_view alias) {
        found.results.push_back(alias == "-" ? std::string_view() : alias);
      });
    } else if (number == 3) {
      found.is_random = part == "r";
    }
  });
  return found;
}

// The number, text or truth value in `text`; nullopt for "none".
std::optional<Literal> read_literal(std::string_view text) {
  if (text == "none" || text.empty()) return std::nullopt;
  if (text == "true") return Literal(std::int64_t{1});
  if (text == "false") return Literal(std::int64_t{0});
  if (text.front() == '\'') return Literal(std::string(text.substr(1, text.size() - 2)));
  std::int64_t integer = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), integer);
  if (error == std::errc() && end == text.data() + text.size()) return Literal(integer);
  double real = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), real);
  if (parsed.ec != std::errc()) return std::nullopt;
  return Literal(real);
}

}  // namespace

const TorchArgument* TorchOperator::find(std::string_view argument) const {
  const auto found = std::find_if(arguments.begin(), arguments.end(),
                                  [&](const TorchArgument& a) { return a.name == argument; });
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
  if (line == std::end(kOperators) || operator_name(*line) != target) return std::nullopt;
  return read_operator(*line);
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
  each_part(found->default_text.substr(1, found->default_text.size() - 2), ';',
            [&](std::string_view item) {
              if (auto literal = read_literal(item)) items.push_back(*std::move(literal));
            });
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
// Operators whose results may be their arguments, which their schemas do not state either.
constexpr std::array<std::string_view, 9> kMaybeViews = {
    "dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout", "einsum", "contiguous",
    "to",      "type_as",         "meshgrid"};
constexpr std::string_view kAten = "torch.ops.aten.";

class NodeEffectsFinder {
 public:
  explicit NodeEffectsFinder(const Pt2Program& program) : program_(program) {}

  Pt2NodeEffects effects_of(const Pt2Node& node) {
    Pt2NodeEffects effects;
    if (const auto& known = operator_of(node.target)) {
      add_by_schema(node, *known, effects);
    } else {
      add_custom_writes(node, effects);
    }
    add_training_writes(node, effects);
    if (effects.shares.empty()) add_maybe_views(node, effects);
    return effects;
  }

 private:
  const std::optional<TorchOperator>& operator_of(std::string_view target) {
    const auto [found, is_new] = operators_.try_emplace(target);
    if (is_new) found->second = find_torch_operator(target);
    return found->second;
  }

  void each_tensor(const Pt2Argument& argument, const auto& visit) const {
    for (std::uint32_t r = argument.ref_begin; r < argument.ref_end; ++r) {
      const std::uint32_t value = program_.refs[r].value;
      if (program_.values[value].kind == Pt2ValueKind::tensor) visit(value);
    }
  }
  const Pt2Argument* find_argument(const Pt2Node& node, std::string_view name) const {
    for (std::uint32_t a = node.argument_begin; a < node.argument_end; ++a) {
      if (program_.arguments[a].name == name) return &program_.arguments[a];
    }
    return nullptr;
  }

  void add_by_schema(const Pt2Node& node, const TorchOperator& known, Pt2NodeEffects& effects) {
    for (const TorchArgument& schema : known.arguments) {
      if (schema.alias.empty()) continue;
      const Pt2Argument* const argument = find_argument(node, schema.name);
      if (argument == nullptr) continue;
      const bool is_shared =
          std::any_of(known.results.begin(), known.results.end(),
                      [&](std::string_view set) { return set == schema.alias || set == "*"; });
      each_tensor(*argument, [&](std::uint32_t value) {
        if (schema.is_written) effects.writes.push_back(value);
        if (is_shared) share(node, value, schema.is_written ? Written::yes : Written::no, effects);
      });
    }
  }

  enum class Written { no, yes };
  void share(const Pt2Node& node, std::uint32_t value, Written written, Pt2NodeEffects& effects) {
    const bool has_one = node.result_end - node.result_begin == 1;
    for (std::uint32_t r = node.result_begin; r < node.result_end; ++r) {
      effects.shares.push_back({value, program_.refs[r].value, written == Written::yes && has_one});
    }
  }

  // A user's operator without results must write its arguments.
  void add_custom_writes(const Pt2Node& node, Pt2NodeEffects& effects) {
    const bool is_custom = node.target.starts_with("torch.ops.") &&
                           !node.target.starts_with(kAten) &&
                           !node.target.starts_with("torch.ops.higher_order.") &&
                           !node.target.starts_with("torch.ops.prims.");
    if (!is_custom || node.result_begin != node.result_end) return;
    for (std::uint32_t a = node.argument_begin; a < node.argument_end; ++a) {
      each_tensor(program_.arguments[a],
                  [&](std::uint32_t value) { effects.writes.push_back(value); });
    }
  }

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

  void add_maybe_views(const Pt2Node& node, Pt2NodeEffects& effects) {
    if (!node.target.starts_with(kAten)) return;
    const std::string_view rest = node.target.substr(kAten.size());
    const std::string_view name = rest.substr(0, rest.find('.'));
    if (std::find(kMaybeViews.begin(), kMaybeViews.end(), name) == kMaybeViews.end()) return;
    for (std::uint32_t a = node.argument_begin; a < node.argument_end; ++a) {
      each_tensor(program_.arguments[a],
                  [&](std::uint32_t value) { share(node, value, Written::no, effects); });
    }
  }

  const Pt2Program& program_;
  std::unordered_map<std::string_view, std::optional<TorchOperator>> operators_;
};

}  // namespace

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
//   3. give new names after each write, and order writers and readers

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

  Pt2Effects run() {
    const auto count = static_cast<std::uint32_t>(program_.nodes.size());
    const std::vector<Pt2NodeEffects> effects = find_node_effects(program_);
    for (const Pt2NodeEffects& node : effects) {
      for (const Pt2Share& share : node.shares) {
        join(parent_, share.from, share.to);
        if (share.is_same) join(family_, share.from, share.to);
      }
      for (const std::uint32_t value : node.writes) classes_.try_emplace(value);
    }
    find_classes(effects);
    found_.is_renamed.assign(count, false);
    found_.read_as.resize(program_.refs.size());
    for (std::size_t i = 0; i < found_.read_as.size(); ++i) {
      found_.read_as[i] = program_.refs[i].value;
    }
    if (!classes_.empty()) {
      for (std::uint32_t i = 0; i < count; ++i) order_node(i, effects[i]);
    }
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
    const Pt2Node& node = program_.nodes[number];
    for (std::uint32_t a = node.argument_begin; a < node.argument_end; ++a) {
      const Pt2Argument& argument = program_.arguments[a];
      for (std::uint32_t r = argument.ref_begin; r < argument.ref_end; ++r) {
        note_read(program_.refs[r].value);
      }
    }
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
      if (std::find(touched.begin(), touched.end(), found->first) == touched.end()) {
        touched.push_back(found->first);
      }
      return !found->second.has_stale_reads;
    };
    for (std::uint32_t a = node.argument_begin; a < node.argument_end; ++a) {
      const Pt2Argument& argument = program_.arguments[a];
      for (std::uint32_t r = argument.ref_begin; r < argument.ref_end; ++r) {
        const std::uint32_t value = program_.refs[r].value;
        if (!note(value)) continue;
        found_.read_as[r] = newest(value);
        if (found_.read_as[r] != value) found_.is_renamed[number] = true;
      }
    }
    for (std::uint32_t r = node.result_begin; r < node.result_end; ++r) {
      note(program_.refs[r].value);
    }
    return touched;
  }

  void order_node(std::uint32_t number, const Pt2NodeEffects& effects) {
    for (const std::uint32_t key : touch(number)) {
      MemoryClass& memory = classes_.at(key);
      memory.nodes.push_back(number);
      if (memory.last_writer != kNoPt2) found_.order.emplace_back(memory.last_writer, number);
      const bool is_writer = std::any_of(effects.writes.begin(), effects.writes.end(),
                                         [&](std::uint32_t value) { return root(value) == key; });
      if (!is_writer) {
        memory.readers.push_back(number);
        continue;
      }
      for (const std::uint32_t reader : memory.readers) found_.order.emplace_back(reader, number);
      memory.readers.clear();
      memory.last_writer = number;
    }
    for (const std::uint32_t value : effects.writes) {
      if (classes_.at(root(value)).has_stale_reads) continue;
      for (const Pt2Share& share : effects.shares) {
        if (share.from != value || !share.is_same || newest(value) == share.to) continue;
        newest_[newest(value)] = share.to;
        break;
      }
    }
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
    std::sort(keys.begin(), keys.end());
    for (const std::uint32_t key : keys) found_.whole.push_back(kept_together(classes_.at(key)));
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
};

}  // namespace

Pt2Effects find_effects(const Pt2Program& program) { return EffectFinder(program).run(); }

}  // namespace cleave
