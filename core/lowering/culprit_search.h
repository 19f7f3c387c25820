// Culprit search: finds the nodes of a partition that make a backend refuse it, in as few runs as
// possible.
//
//   culprit     a node that alone fails in the same way as the partition
//   necessary   a node that passes alone, but without which the rest does not fail: it fails
//               together with nodes before it
//   size        no node is to blame: pieces of more than so many nodes fail, whichever they are
//   region      a convex set of items that fails; first the partition, then what a found culprit
//               leaves of it: its descendants, and all the others
//
// For each region:
// 1. Hypotheses before blame: does it pass with its shapes pinned, values frozen, opset raised?
//    Then that is the remedy, and no node is to blame.
// 2. Nodes that the backend names with a reason (Answer::named), one of each op and reason: each alone,
//    one run each. Those that fail alone for the same reason are to blame, with the others of their op and
//    reason beside them (Finding::named_with), and the rest of the region is not looked into: rules change it. Else known culprits, then hints of the message (Hints).
// 3. The smallest failing prefix of the item order, by bisection; its last item is necessary. One
//    more run alone decides whether it is a culprit. A prefix that fails in another way, or is
//    unresolved, counts as neither pass nor fail: the search tries the nearest cuts, up to 8 items
//    away.
// 4. A prefix whose last item passes alone may only be too long: other pieces of the same size, and
//    of one item less, tell.
// 5. A finding is asked again, without the cache. If the answer differs, the finding is flaky. This
//    reproduces the failure on the culprit rather than on the whole partition. Failures that may
//    come by chance, and all once an answer has differed, are asked again more often.
// 6. Hypotheses again, on the culprit.
// 7. With SearchEffort::minimal, a set that only fails together is reduced (smallest_failing_set).
// 8. Where all of that finds nothing: one node of each node case alone, the last resort.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/graph/graph.h"
#include "core/lowering/item_order.h"
#include "core/lowering/oracle.h"

namespace cleave {

// Failing prefix: the shortest prefix of an ordered set that fails, found by bisection. Its last
// item is necessary: without it, the prefix passes.
//
// The method assumes that a piece that contains a failing piece fails too. The last two answers
// verify the result in any case: the prefix fails, and the prefix without its last item passes.
//
// A prefix that fails in another way, or is unresolved, counts as neither pass nor fail: the search
// tries the nearest cuts, up to 8 items away. If none of these is resolved, or the same other
// failure occurs twice (so that the cut did not cause it), the search continues after it.
struct FailingSet {
  const ItemSet& items;          // convex, in item order; it fails
  const Remedies& remedies;      // the remedies under which it fails
  const std::string& signature;  // how it fails; empty: in any way
  std::size_t good = 0;          // number of first items known to pass together
};

struct FailingPrefix {
  std::size_t length = 0;
  bool is_sharp = false;  // the prefix shorter by one item was seen to pass
};

// Asks ceil(log2 n) times for n items not known to pass, and up to 8 more times for each unresolved
// cut.
FailingPrefix smallest_failing_prefix(Questions& questions, const FailingSet& failing);

// The first `length` of the items.
ItemSet prefix_of(const ItemSet& items, std::size_t length);

// Minimize: reduces a failing piece whose last item is necessary to the smallest piece that still
// fails.
//
// 1. Cone: keeps only what the last item depends on, if that fails.
// 2. Radius: keeps the items of the cone within a given number of edges of the last item; the number is
//    found by bisection. Such a set is convex.
// 3. Convex ddmin: leaves out a half, a quarter, ... while the rest is convex and fails; at the end
//    no single item can be left out.

// Whether a convex set fails as the first did. Returns false when that is unknown.
using FailsTest = std::function<bool(const ItemSet&)>;

struct Minimized {
  ItemSet items;
  bool is_minimal = true;  // every single item was tested, or is known, to be needed
};

// `items` is convex and fails. Asks about log2(depth) times, then a number of times that is at
// worst quadratic in what is left; in practice a few times its size. Method: Zeller, Hildebrandt
// 2002.
Minimized smallest_failing_set(const ItemOrder& order, const ItemSet& items,
                               const FailsTest& fails);

// Hints: items that a backend's message may name. Most messages name the culprit, but each backend
// has its own way of doing so. Therefore every word and every quoted text of the message is looked
// up among the names of the nodes, then of their values, then of their ops.
//
// A name may be cut off at the front or have special characters replaced ("/loop/Loop" ->
// "main_graph_loop_Loop", "oop/Loop"). So a word of at least 8 characters also counts when it is
// the end of exactly one name, or exactly one name is its end.
class Hints {
 public:
  // Indexes the names of all nodes of the order. O(names log names).
  Hints(const Graph& graph, const ItemOrder& order);

  // The members of `items` that the message may name, each once, the most likely first: named
  // nodes, then makers of named values, then nodes of a named op, the rarest op first and one item
  // per node case. Linear in the message and the items, times log names.
  std::vector<std::uint32_t> in(std::string_view message,
                                std::span<const std::uint32_t> items) const;

  // The item of the only node of that name; nullopt when there is none, or several. O(log names).
  std::optional<std::uint32_t> item_named(std::string_view name) const;

 private:
  struct Name {
    std::string_view text;
    std::uint32_t item;
    bool operator<(const Name& other) const { return text < other.text; }
  };
  struct Ending {  // a name backwards, special characters as '_'
    std::string text;
    std::uint32_t item;
    bool operator<(const Ending& other) const { return text < other.text; }
  };

  void add_exact(const std::vector<Name>& names, std::string_view word,
                 std::vector<std::uint32_t>& found) const;
  void add_ending(std::string_view word, std::vector<std::uint32_t>& found) const;
  void add_ops(std::span<const std::string_view> words, std::span<const std::uint32_t> items,
               std::vector<std::uint32_t>& found) const;

  const Graph& graph_;
  const ItemOrder& order_;
  std::vector<Name> nodes_, values_;  // sorted
  std::vector<Ending> endings_;       // of nodes, sorted
};

enum class SearchEffort : std::uint8_t { hint, node, minimal };

struct SearchOptions {
  SearchEffort effort = SearchEffort::node;
  AskingLimits limits = {};
  std::size_t most_findings = 5;
  std::size_t most_hints = 4;             // runs for the hints of one message
  std::uint32_t confirmations = 1;        // how often a finding is asked again
  std::uint32_t more_confirmations = 3;   // the same, for one that may have come by chance
  std::vector<Remedies> hypotheses = {};  // in the order of trying
  std::function<bool(NodeId)> is_known_culprit = nullptr;  // empty: none is known
};

enum class FindingKind : std::uint8_t {
  culprit,      // `nodes` fail alone: a node or a group
  together,     // `nodes` is necessary, or all of them are; `within` fails, though they alone pass
  remedy,       // `nodes` pass with `remedies`
  flaky,        // `within` failed once, but not when asked again
  unexplained,  // `within` fails; the search found no part of it to blame
  left_out,     // `nodes` are compiled around, each by itself, as the backend says
  size,         // pieces of more than `most_nodes` nodes fail, as `within` does
};

// named: the backend names the node, and it fails alone for the same reason.
enum class FoundBy : std::uint8_t { hypothesis, named, known, hint, prefix, reduction, probe };

struct Finding {
  FindingKind kind = FindingKind::unexplained;
  FoundBy by = FoundBy::prefix;
  std::vector<NodeId> nodes = {};   // model order
  std::vector<NodeId> within = {};  // the smallest piece seen to fail this way
  // Further nodes of the same op that the backend named in the same answer for the same reason. Not tried.
  std::vector<NodeId> named_with = {};
  // the remedies under which it failed; for FindingKind::remedy those under which it passes
  Remedies remedies = {};
  bool is_minimal = false;           // no node of `nodes` can be left out
  std::size_t most_nodes = 0;        // for FindingKind::size
  std::vector<NodeId> blocked = {};  // a piece that told the search nothing, if there is one
  std::string blocked_why = {};      // and why
  std::string signature = {};
  std::string how = {};  // Answer::how
  std::string message = {};
  bool may_be_chance = false;  // Answer::may_be_chance
  std::size_t runs = 0;        // runs of the backend up to this finding
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
