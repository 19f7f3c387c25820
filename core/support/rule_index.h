// RuleIndex: the rules of one list, found by the op or the name of a node without checking each.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/support/rule_filter.h"
#include "core/support/rules_by_name.h"
#include "core/support/rules_by_op.h"
#include "core/support/support_list.h"

namespace cleave {

// Rules of one list that name an op, by index, ascending. Rules for certain node names are looked
// up by name. If the others are many, they are filtered before they are checked on a node.
struct NamedRules {
  RuleIndices unnamed;  // for nodes of any name
  RulesByName by_name;
  std::optional<RuleFilter> filter = {};  // of `unnamed`
};

struct OpRules {
  NamedRules allow;
  NamedRules deny;
};

class RuleIndex {
 public:
  // The list must outlive this.
  explicit RuleIndex(const SupportList& list);

  OpRules rules_of(std::string_view domain, std::string_view op) const;

  // Rules for any op that name the node, ascending.
  RuleIndices allow_of(std::string_view node_name) const {
    return allow_by_name_.matches(node_name);
  }
  RuleIndices deny_of(std::string_view node_name) const { return deny_by_name_.matches(node_name); }

  const SupportList& list() const { return list_; }

 private:
  const SupportList& list_;
  RulesByOp allow_, deny_;
  RulesByName allow_by_name_, deny_by_name_;
};

}  // namespace cleave
