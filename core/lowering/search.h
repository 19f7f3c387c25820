// Culprit search: which nodes of a partition make a backend refuse it, in as few runs as can be.
//
//   culprit     a node that fails alone in the way in which the partition fails
//   necessary   a node without which the rest does not fail, though alone it passes: it fails
//               together with nodes before it
//   region      a convex set of items that fails; the partition first, then what a found culprit
//               leaves of it: its descendants, and all the others
//
// For each region:
// 1. Hypotheses before blame: does it pass with its shapes pinned, values frozen, opset raised? Then
//    that is the remedy, and no node is to blame.
// 2. Known culprits, then hints of the message (hints.h): a node alone, one run each.
// 3. The smallest failing prefix of the item order, by bisection; its last item is necessary. Asked
//    alone it is a culprit or not. A prefix that fails in another way, or is not resolved, is
//    neither pass nor fail: the search goes to the nearest cut, up to 8 items away.
// 4. What was found is asked once more, freshly. If the answer is another one, the finding is
//    flaky. This is where a failure is reproduced: on the culprit rather than the whole partition.
// 5. Hypotheses again, on the culprit.
// 6. With SearchEffort::minimal: what fails only together is made as small as can be (minimize.h).
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
  std::uint32_t confirmations = 1;                         // times that a finding is asked again
  std::vector<Remedies> hypotheses = {};                   // in the order in which they are tried
  std::function<bool(NodeId)> is_known_culprit = nullptr;  // empty: none is known
};

enum class FindingKind : std::uint8_t {
  culprit,      // `nodes` fail alone: a node or a group
  together,     // `nodes` is necessary, or all of them are; `within` fails, and they alone do not
  remedy,       // `nodes` pass with `remedies`
  flaky,        // `within` failed, and did not when it was asked again
  unexplained,  // `within` fails; no part of it was found to blame
};

enum class FoundBy : std::uint8_t { hypothesis, known, hint, prefix, reduction };

struct Finding {
  FindingKind kind = FindingKind::unexplained;
  FoundBy by = FoundBy::prefix;
  std::vector<NodeId> nodes = {};   // model order
  std::vector<NodeId> within = {};  // the smallest piece that was seen to fail so
  Remedies remedies = {};           // those it failed under; of a remedy: under which it passes
  bool is_minimal = false;          // no node of `nodes` can be left out
  std::string signature = {};
  std::string message = {};
  std::size_t runs = 0;  // the backend's runs of the search when this was found
};

struct SearchResult {
  std::vector<Finding> findings;  // in the order in which they were found
  std::size_t runs = 0;
  bool is_complete = false;  // what the findings leave of the partition passes
};

struct FailedPartition {
  const Graph& graph;
  const ItemOrder& order;  // of the partition
  Answer answer;           // that it fails
  Remedies remedies = {};  // under which it was asked
};

// Runs: a named culprit 2 beyond the failing one, an unnamed one ceil(log2 n) + 2; each further
// region 1 more. The search's own time is linear in the partition's edges for each run.
SearchResult search_culprits(const FailedPartition& failed, const Oracle& oracle,
                             const SearchOptions& options);

}  // namespace cleave
