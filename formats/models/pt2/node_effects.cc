#include "formats/models/pt2/node_effects.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "formats/models/pt2/operators.h"

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
        if (is_shared) share(node, value, schema.is_written, effects);
      });
    }
  }

  void share(const Pt2Node& node, std::uint32_t value, bool is_written, Pt2NodeEffects& effects) {
    const bool has_one = node.result_end - node.result_begin == 1;
    for (std::uint32_t r = node.result_begin; r < node.result_end; ++r) {
      effects.shares.push_back({value, program_.refs[r].value, is_written && has_one});
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
                  [&](std::uint32_t value) { share(node, value, false, effects); });
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

}  // namespace cleave
