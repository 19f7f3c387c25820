// Culprit search: finds the nodes of a partition that make a backend refuse it, in as few runs as
// possible.
//
//   culprit     a node that alone fails in the same way as the partition
//   necessary   a node that passes alone, but without which the rest does not fail: it fails
//               together with nodes before it
//   region      a convex set of items that fails; first the partition, then what a found culprit
//               leaves of it: its descendants, and all the others
//
// For each region:
// 1. Hypotheses before blame: does it pass with its shapes pinned, values frozen, opset raised?
//    Then that is the remedy, and no node is to blame.
// 2. Known culprits, then hints of the message (hints.h): each node alone, one run each.
// 3. The smallest failing prefix of the item order, by bisection; its last item is necessary. One
//    more run alone decides whether it is a culprit. A prefix that fails in another way, or is
//    unresolved, counts as neither pass nor fail: the search tries the nearest cuts, up to 8 items
//    away.
// 4. A finding is asked again, without the cache. If the answer differs, the finding is flaky. This
//    reproduces the failure on the culprit rather than on the whole partition.
// 5. Hypotheses again, on the culprit.
// 6. With SearchEffort::minimal, a set that only fails together is reduced (minimize.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/graph/graph.h"
#include "core/lowering/item_order.h"
#include "core/lowering/oracle.h"
#include "core/lowering/questions.h"

namespace cleave {

enum class SearchEffort : std::uint8_t { hint, node, minimal };

struct SearchOptions {
  SearchEffort effort = SearchEffort::node;
  AskingLimits limits = {};
  std::size_t most_findings = 5;
  std::size_t most_hints = 4;                              // runs for the hints of one message
  std::uint32_t confirmations = 1;                         // how often a finding is asked again
  std::vector<Remedies> hypotheses = {};                   // in the order of trying
  std::function<bool(NodeId)> is_known_culprit = nullptr;  // empty: none is known
};

enum class FindingKind : std::uint8_t {
  culprit,      // `nodes` fail alone: a node or a group
  together,     // `nodes` is necessary, or all of them are; `within` fails, though they alone pass
  remedy,       // `nodes` pass with `remedies`
  flaky,        // `within` failed once, but not when asked again
  unexplained,  // `within` fails; the search found no part of it to blame
};

enum class FoundBy : std::uint8_t { hypothesis, known, hint, prefix, reduction };

struct Finding {
  FindingKind kind = FindingKind::unexplained;
  FoundBy by = FoundBy::prefix;
  std::vector<NodeId> nodes = {};   // model order
  std::vector<NodeId> within = {};  // the smallest piece seen to fail this way
  // the remedies under which it failed; for FindingKind::remedy those under which it passes
  Remedies remedies = {};
  bool is_minimal = false;  // no node of `nodes` can be left out
  std::string signature = {};
  std::string how = {};  // Answer::how
  std::string message = {};
  std::size_t runs = 0;  // runs of the backend up to this finding
};

struct SearchResult {
  std::vector<Finding> findings;  // in the order in which they were found
  std::size_t runs = 0;
  bool is_complete = false;  // the partition passes without the findings
};

struct FailedPartition {
  const Graph& graph;
  const ItemOrder& order;  // of the partition
  Answer answer;           // the failure
  Remedies remedies = {};  // the remedies under which the partition fails
};

// Runs: beyond the failing one, 2 for a culprit that the message names and ceil(log2 n) + 2 for
// another; 1 more for each further region. The search's own time is linear in the partition's edges
// for each run.
SearchResult search_culprits(const FailedPartition& failed, const Oracle& oracle,
                             const SearchOptions& options);

}  // namespace cleave
