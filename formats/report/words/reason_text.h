// Reasons as text. Every report and drawing, and `explain`, takes them from here. Patterns of support
// lists: which match accepts a node, and why none does. Nodes that are accepted on trust, by rule.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/condition/op_facts.h"
#include "core/graph/graph.h"
#include "core/split/split.h"
#include "core/support/reason.h"
#include "core/support/support.h"
#include "core/support/support_list.h"

namespace cleave {

struct Report;

// The data needed to turn a reason into text.
struct ReasonContext {
  const Graph& graph;
  const std::vector<SupportList>& lists;
  const OpFacts& facts;
  std::size_t min_acc_size = 1;
  const Support* support = nullptr;  // null: nothing is said about matches of patterns
  // Of several targets: all of them, whose reasons these are, and where nodes are. Empty: there is one
  // accelerator.
  std::span<const Target> targets = {};
  TargetId target = TargetId{0};
  const Partition* partition = nullptr;
};

// The context of a report, which must outlive it.
ReasonContext reason_context(const Report& report);
// The context of the reasons of one of several targets.
ReasonContext reason_context(const Report& report, TargetId target);

// "npu", of several targets; else "acc"; "CPU" for parts that are on none.
std::string device_name(const Report& report, PartId part);

// One line, lower case, no full stop: `rule "Conv" of npu.json:12 fails: input 0 is int64, wants
// float32 or float16`; `reads "n" (tuple), made by CPU node "size"`.
std::string reason_text(const ReasonContext& context, NodeId node, const Reason& reason);

// A code in a few words, for a button or a table: "no rule", "subgraph too small". Empty for none.
std::string_view reason_code_words(ReasonCode code);

// The text that all nodes with one cause share: `the list does not have op "Foo"`, `rule "Conv" of
// npu.json:12 fails`.
std::string cause_text(const ReasonContext& context, NodeId node, const Reason& reason);

// What there is to add about the node beyond its cause; may be empty.
std::string detail_text(const ReasonContext& context, NodeId node, const Reason& reason);

// `samples/npu.json:12`, or the list's name when it has no path.
std::string rule_place(const SupportList& list, const Rule& rule);

// `denied by npu.json:29 for name "top_2" (accuracy)`.
std::string deny_rule_text(const SupportList& list, const Rule& rule);

// CPU nodes with one cause, in model order.
struct Cause {
  std::string text;
  std::vector<NodeId> nodes;
};

// The causes of all nodes on the CPU: the most frequent first, then by their first nodes. Leaves
// out nodes without a reason. Linear, plus sorting the causes.
std::vector<Cause> group_by_cause(const ReasonContext& context, const PerNode<Reason>& reasons);

// `pattern "layer norm" of npu.json:12`
std::string pattern_place(const SupportList& list, const Pattern& pattern);
std::string pattern_place(const ReasonContext& context, const PatternMatch& match);

// What is in the way of a pattern around a node with the reason pattern_failed: `value "d" is read
// by "y", which is not in it`. Empty when the context has no verdicts.
std::string pattern_miss_text(const ReasonContext& context, const Reason& reason);

// The matches by pattern, in the order of the lists: `"layer norm" 2 times`.
std::string pattern_counts_text(const ReasonContext& context, const PatternMatches& matches);

struct UncheckedRule {
  std::uint16_t list;
  std::uint32_t rule;  // an allow rule, or a pattern
  bool is_pattern;
  std::vector<NodeId> nodes;  // in model order
};

// The rule with the most nodes first; if several are equal, the first in the lists.
std::vector<UncheckedRule> unchecked_rules(const Support& support);

// `rule "Resize" of coreml.json:12: sizes must be constants`
std::string unchecked_text(const std::vector<SupportList>& lists, const UncheckedRule& rule);

}  // namespace cleave
