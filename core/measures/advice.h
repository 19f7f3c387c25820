// Advice: the gaps of lists, and what closing each gains.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/base.h"
#include "core/graph/graph.h"
#include "core/lists/condition.h"
#include "core/lists/support.h"
#include "core/measures/measures.h"
#include "core/split/options.h"
#include "core/split/split.h"

namespace cleave {

// ---- gaps ----
//
// Gaps: what support lists lack, model by model, each with the change that would close it.
//
// Nodes that no list accepts are grouped into gaps by cause:
//   op         no rule names the op             by op and the dtypes it reads
//              (though a pattern may)
// A node that a runtime replaces by its body has a gap of its own op, and those of the body's nodes.
//   condition  a rule names it and fails        by rule, failed conditions, and what the node has
//   denied     a deny rule matches              by rule
// A range, a factor or a largest dim that is exceeded is one gap, however far it is exceeded.

// Gap keys: nodes that fail a rule in the same way have the same key.

// Appends one failed condition to a key. `part` is the entry of failed_parts() for the condition.
// Two nodes that fail the condition with different values get different keys when the rule asks for
// a value (a dtype, an attribute, a rank), and the same key when it sets a bound. Whether the model
// states an attribute's value or the operator's default applies makes no difference.
void append_key(const FailedCondition& failed, const FailedPart& part, std::string& key);

// Loosening: changes a rule that refuses a node as little as possible, so that it accepts the node.

struct Gap {
  enum class Kind : std::uint8_t { op, condition, denied };
  Kind kind = Kind::op;
  std::string op;  // of the first node met
  std::string domain;
  Signature signature;  // of the first node met
  // condition, denied: the rule that refuses, and the list that contains it.
  std::uint16_t list = 0;
  Rule rule;
  std::vector<FailedPart> failed;  // condition
  // op, condition: an allow rule that accepts the nodes. For `denied` the remedy is to remove
  // `rule`.
  Rule remedy;
  std::string key;  // equal for equal gaps of any models under the same lists
};

struct GapFound {
  Gap gap;
  std::vector<NodeId> nodes;  // body nodes too; model order, body nodes last
};

// The gaps of the nodes outside `accepted`, in the order in which they are found. Body nodes have
// gaps of their own; the node that owns them has none when its own op is accepted. As linear as
// match_support, times the length of a key.
std::vector<GapFound> find_gaps(const Graph& graph, const std::vector<SupportList>& lists,
                                const OpFacts& facts, const NodeSet& accepted);

// Support lists with gaps closed: the lists without the deny rules that were removed, and one more
// list with the remedies. Lists about a runtime's graph have the remedies themselves: the nodes of a body are taken
// by one list, or not at all.
class FilledLists {
 public:
  explicit FilledLists(std::vector<SupportList> lists) : lists_(std::move(lists)) {}
  void fill(const Gap& gap);
  // The lists without the removed rules and without the remedies.
  const std::vector<SupportList>& lists() const { return lists_; }
  // The lists with the remedies as one more list; if every list must accept a node, or lists are about a
  // runtime's graph, the remedies are added to each of these instead.
  std::vector<SupportList> with_remedies() const;

 private:
  std::vector<SupportList> lists_;
  SupportList remedies_;
};

// ---- advice ----
//
// Advice: what to implement next. First each gap of the support lists is closed by itself and the
// models are split again. Then gaps are closed one after the other, each time the one that gains
// most.
//
//   now                 4 accelerator subgraphs, 6.1 MiB over the link
//   with Resize alone   2                        3.0 MiB
//   Resize, then Pad    1                        0.2 MiB
//
// Gaps of one op in several types are closed together. Where nodes of a gap are still refused once
// it is closed (a deny rule is lifted, and no rule names the op), the second gap is closed with it.
// Each step also tries what the nodes of one CPU subgraph lack, all of it and any two: it takes what gains most
// for each addition.
//
// No gain is estimated: each number comes from a real split with all passes.

// Settings sweep: the same support lists under other settings. A larger minimum size of accelerator
// subgraphs means fewer subgraphs and fewer bytes over the link, but less work on the accelerator.
// The *knee* is the point beyond which giving up more of the work no longer pays.
struct Setting {
  std::size_t min_acc_size = 1;
  StartSide start = StartSide::reference;
  Outcome outcome;
};

struct SettingsSweep {
  std::vector<Setting> settings;  // by minimum size, ascending, then by side
  std::size_t knee = 0;           // index in `settings`
};

// Splits the models with every start side and with every minimum size at which something changes:
// 1, and one more than each size of an accelerator subgraph; at most 12, spread evenly over the
// sizes. The knee is the setting farthest above the straight line from no subgraphs and no coverage
// to the most of both (Satopaa et al. 2011); the first on a tie. Coverage is by FLOPs, or by nodes
// when no FLOPs are known. Refuses what split_graph refuses.
Result<SettingsSweep> sweep_settings(std::span<const ModelToSplit> models,
                                     const std::vector<SupportList>& lists,
                                     const SplitOptions& split, const Link& link,
                                     const Progress& progress = {});

// One closed gap, and the outcome of the models with it closed.
struct Remedy {
  Gap gap;
  std::vector<Gap> with;            // closed together with it
  std::size_t nodes = 0;            // newly accepted
  std::vector<std::size_t> models;  // indices of the models with the gap, ascending
  Outcome then;
};

// Nodes of an op that no list accepts once all steps are done.
struct OpOutOfReach {
  std::string domain, op;
  std::size_t nodes = 0;
  std::size_t unknown_flops = 0;  // of these nodes
  double flops = 0;               // of the others
  double bytes = 0;               // that they read and write, where it is known
};

// Changes of the lists: the types of one op are one addition.
std::size_t count_additions(std::span<const Remedy> remedies);

struct Advice {
  Outcome now;
  // Every gap tried, closed by itself, the best first; before them those together that are the first step.
  std::vector<Remedy> each;
  std::vector<Remedy> steps;  // gaps closed one after the other; `nodes` are those of the step
  std::size_t untried = 0;    // gaps left out; each has at most as many nodes as those tried
  // Nodes that the lists refuse while sizes are open and accept at the sizes of ModelToSplit::sized. They are no gaps.
  std::size_t lack_sizes = 0;
  std::vector<OpOutOfReach> out_of_reach;  // most FLOPs first, then most bytes
};

// One of several targets, whose lists have the gaps that are closed. What it lacks and another takes
// gains less than what only the CPU takes.
struct AdvisedTarget {
  std::span<const SupportList> lists = {};  // of all targets
  std::span<const Target> targets = {};     // empty: there is one accelerator
  std::size_t which = 0;

  // The lists of the target.
  std::vector<SupportList> own() const;
};

struct AdviceOptions {
  Goal goal = Goal::subgraphs;
  AdvisedTarget target = {};  // of several; `lists` of advise() are its own
  std::size_t steps = 5;      // at most; fewer when no step gains any more
  // The most gaps tried in a round. Those with the most nodes are tried: this bounds how many nodes
  // closing a gap can bring to the accelerator's side by itself.
  std::size_t most_tried = 64;
  Progress progress = {};  // counts gaps tried, out of those that may be tried
};

// Refuses what split_graph refuses. With several targets `split` has the numbers of all of them, and
// `link` counts for nothing. Cost: for each gap tried and each step, a split of the models that have
// the gap.
Result<Advice> advise(std::span<const ModelToSplit> models, const std::vector<SupportList>& lists,
                      const SplitOptions& split, const Link& link, const AdviceOptions& options);

}  // namespace cleave
