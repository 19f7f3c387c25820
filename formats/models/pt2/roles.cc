// Steps:
// 1. checks, from the last node to the first: what only checks read is part of the check;
// 2. constants, from the first to the last: their operands are parameters and earlier constants.
#include "formats/models/pt2/roles.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

namespace cleave {
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
    for (std::uint32_t a = node.argument_begin; a < node.argument_end; ++a) {
      const Pt2Argument& argument = program_.arguments[a];
      for (std::uint32_t r = argument.ref_begin; r < argument.ref_end; ++r) {
        visit(effects_.read_as[r]);
      }
    }
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
      found->second =
          known && !known->is_random &&
          std::none_of(known->arguments.begin(), known->arguments.end(),
                       [](const TorchArgument& argument) { return argument.is_written; });
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
  return std::any_of(kChecks.begin(), kChecks.end(),
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

}  // namespace cleave
