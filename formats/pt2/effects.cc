// Three rounds over the nodes:
//   1. find what each operator writes and shares, from its schema and from the exceptions that
//      schemas omit; join values that share memory (union-find)
//   2. find which of the written classes have views
//   3. give new names after each write, and order writers and readers
#include "formats/pt2/effects.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "formats/pt2/operators.h"

namespace cleave {
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

struct Share {
  std::uint32_t from, to;
  bool is_same;  // the result is the argument itself, after the write
};

struct NodeEffects {
  std::vector<std::uint32_t> writes;
  std::vector<Share> shares;
};

class EffectFinder {
 public:
  explicit EffectFinder(const Pt2Program& program)
      : program_(program), parent_(program.values.size()), newest_(program.values.size()) {
    for (std::uint32_t i = 0; i < parent_.size(); ++i) parent_[i] = newest_[i] = i;
  }

  Pt2Effects run() {
    const auto count = static_cast<std::uint32_t>(program_.nodes.size());
    std::vector<NodeEffects> effects(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      effects[i] = effects_of(program_.nodes[i]);
      for (const Share& share : effects[i].shares) join(share.from, share.to);
    }
    mark_classes(effects);
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
  struct MemoryClass {
    bool has_views = false;
    std::uint32_t last_writer = kNoPt2;
    std::vector<std::uint32_t> readers;  // since the last write
    std::vector<std::uint32_t> nodes;
  };

  std::uint32_t root(std::uint32_t value) {
    while (parent_[value] != value) value = parent_[value] = parent_[parent_[value]];
    return value;
  }
  void join(std::uint32_t a, std::uint32_t b) { parent_[root(b)] = root(a); }
  std::uint32_t newest(std::uint32_t value) {
    while (newest_[value] != value) value = newest_[value] = newest_[newest_[value]];
    return value;
  }

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

  NodeEffects effects_of(const Pt2Node& node) {
    NodeEffects effects;
    if (const auto& known = operator_of(node.target)) {
      add_by_schema(node, *known, effects);
    } else {
      add_custom_writes(node, effects);
    }
    add_training_writes(node, effects);
    if (effects.shares.empty()) add_maybe_views(node, effects);
    return effects;
  }

  void add_by_schema(const Pt2Node& node, const TorchOperator& known, NodeEffects& effects) {
    for (const TorchArgument& schema : known.arguments) {
      if (schema.alias.empty()) continue;
      const Pt2Argument* const argument = find_argument(node, schema.name);
      if (argument == nullptr) continue;
      const bool is_shared =
          std::any_of(known.results.begin(), known.results.end(),
                      [&](std::string_view set) { return set == schema.alias || set == "*"; });
      each_tensor(*argument, [&](std::uint32_t value) {
        if (schema.is_written) effects.writes.push_back(value);
        if (is_shared) share(node, value, schema.is_written, effects);
      });
    }
  }

  void share(const Pt2Node& node, std::uint32_t value, bool is_written, NodeEffects& effects) {
    const bool has_one = node.result_end - node.result_begin == 1;
    for (std::uint32_t r = node.result_begin; r < node.result_end; ++r) {
      effects.shares.push_back({value, program_.refs[r].value, is_written && has_one});
    }
  }

  // A user's operator without results must write its arguments.
  void add_custom_writes(const Pt2Node& node, NodeEffects& effects) {
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

  void add_training_writes(const Pt2Node& node, NodeEffects& effects) {
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

  void add_maybe_views(const Pt2Node& node, NodeEffects& effects) {
    if (!node.target.starts_with(kAten)) return;
    const std::string_view rest = node.target.substr(kAten.size());
    const std::string_view name = rest.substr(0, rest.find('.'));
    if (std::find(kMaybeViews.begin(), kMaybeViews.end(), name) == kMaybeViews.end()) return;
    for (std::uint32_t a = node.argument_begin; a < node.argument_end; ++a) {
      each_tensor(program_.arguments[a],
                  [&](std::uint32_t value) { share(node, value, false, effects); });
    }
  }

  void mark_classes(const std::vector<NodeEffects>& effects) {
    for (const NodeEffects& node : effects) {
      for (const std::uint32_t value : node.writes) classes_.try_emplace(root(value));
    }
    if (classes_.empty()) return;
    for (const NodeEffects& node : effects) {
      for (const Share& share : node.shares) {
        const auto found = share.is_same ? classes_.end() : classes_.find(root(share.from));
        if (found != classes_.end()) found->second.has_views = true;
      }
    }
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
      return !found->second.has_views;
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

  void order_node(std::uint32_t number, const NodeEffects& effects) {
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
      if (classes_.at(root(value)).has_views) continue;
      for (const Share& share : effects.shares) {
        if (share.from != value || !share.is_same || newest(value) == share.to) continue;
        newest_[newest(value)] = share.to;
        break;
      }
    }
  }

  void finish() {
    found_.newest.resize(program_.values.size());
    for (std::uint32_t i = 0; i < found_.newest.size(); ++i) found_.newest[i] = newest(i);
    std::vector<std::uint32_t> keys;
    for (const auto& [key, memory] : classes_) {
      if (memory.has_views && memory.nodes.size() > 1) keys.push_back(key);
    }
    std::sort(keys.begin(), keys.end());
    for (const std::uint32_t key : keys) found_.whole.push_back(classes_.at(key).nodes);
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
  std::vector<std::uint32_t> parent_, newest_;
  std::unordered_map<std::string_view, std::optional<TorchOperator>> operators_;
  std::unordered_map<std::uint32_t, MemoryClass> classes_;  // written ones, by root
};

}  // namespace

Pt2Effects find_effects(const Pt2Program& program) { return EffectFinder(program).run(); }

}  // namespace cleave
