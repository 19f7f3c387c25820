// Lowering: the search for what a compiler refuses, and the rules that are learned.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/base.h"
#include "core/base/min_cut.h"
#include "core/graph/graph.h"
#include "core/lists/condition.h"
#include "core/lists/support.h"
#include "core/split/groups.h"

namespace cleave {

// ---- item order ----
//
// Item order: the nodes of a partition in the order in which the culprit search cuts them.
//
// An *item* is a node, or a group of nodes that must stay together (fusion and Q/DQ groups). Items
// are in depth-first topological order, so that a branch stays together: any run of neighbours is
// convex, and usually a connected piece of the model. Sets of items are ascending lists of
// positions in this order.

using ItemSet = std::vector<std::uint32_t>;

struct ItemOrder {
  Adjacency nodes;  // by item: its nodes, in model order
  Adjacency reads;  // by item: the items that it reads, each once, all earlier

  std::size_t count() const { return nodes.count(); }
  NodeId first_node(std::uint32_t item) const { return NodeId{nodes.of(item).front()}; }
};

// The items of `partition`, whose nodes are in model order and convex. Groups of `fusions` with
// members in the partition become items. Linear, plus sorting what each item reads.
ItemOrder order_items(const Graph& graph, std::span<const NodeId> partition,
                      const Fusions& fusions);
// As above, without groups.
ItemOrder order_items(const Graph& graph, std::span<const NodeId> partition);

// As above, with each quantised operator as an item: its DequantizeLinears, its chain and its QuantizeLinears (see
// QdqGroups). A DequantizeLinear that several operators read is of the first one's item; with_dequantizers() brings it to
// pieces of the others.
ItemOrder order_quantised(const Graph& graph, std::span<const NodeId> partition);
// The nodes, in model order, and what dequantises for them in the partition.
std::vector<NodeId> with_dequantizers(const Graph& graph, std::span<const NodeId> partition,
                                      std::vector<NodeId> nodes);
// The first of the nodes that neither quantises nor dequantises, else the last.
NodeId operator_of(const Graph& graph, std::span<const NodeId> nodes);

// The items 0 to count-1.
ItemSet all_items(const ItemOrder& order);
// The nodes of the items, in model order. O(n log n).
std::vector<NodeId> nodes_of(const ItemOrder& order, std::span<const std::uint32_t> items);

// True when no path leaves the set and comes back. Linear in the edges of the items from its first
// to its last.
bool is_convex(const ItemOrder& order, std::span<const std::uint32_t> items);
// The members of `items` from which a path within `items` leads to `last`, including `last`.
// Linear.
ItemSet cone_of(const ItemOrder& order, std::span<const std::uint32_t> items, std::uint32_t last);
// The members of `items` to which a path within `items` leads from `first`, without `first`.
// Linear.
ItemSet descendants_of(const ItemOrder& order, std::span<const std::uint32_t> items,
                       std::uint32_t first);
// `items` is a cone of its last item. For each item: the edges of the longest path to the last.
// Linear.
std::vector<std::uint32_t> distances_to_last(const ItemOrder& order,
                                             std::span<const std::uint32_t> items);
// The members of `items` that are not in `taken`. Linear.
ItemSet without(std::span<const std::uint32_t> items, std::span<const std::uint32_t> taken);

// ---- oracle ----
//
// Oracle: answers whether a backend accepts a piece of a partition. The culprit search asks an
// oracle; the code that runs a backend provides it. Tests pass lambdas.
//
//   piece     nodes that are cut out of the model, convex, compiled (and run) as a model
//   remedy    a change to a piece other than to its nodes: its open shapes pinned, ...
//   stage     what failed: "check", "compile", "values", ...

// How a piece is changed before the backend gets it. Remedies add up and are never undone.
struct Remedies {
  bool pin_shapes = false;        // open dims at the boundary get the sizes of the reference run
  bool freeze_values = false;     // small integer inputs become constants
  bool freeze_cuts = false;       // and those alone that the piece has because it was cut out
  bool constants_inside = false;  // parameters are initializers, not inputs
  bool state_inside = false;      // values within it, and bodies, state the reference's shapes
  std::optional<std::int64_t> opset = std::nullopt;  // the default domain's, raised to this
  bool operator==(const Remedies&) const = default;
};

// Both remedies. Of two opsets the higher one.
Remedies operator|(const Remedies& one, const Remedies& other);

struct Piece {
  std::vector<NodeId> nodes;  // model order
  Remedies remedies = {};
  // The piece that this one is cut out of, where a cut changes it: see Remedies::freeze_cuts.
  const std::vector<NodeId>* whole = nullptr;
  // Above 0: the piece was asked before, and the question is whether the answer is the same; so it
  // must not come from a cache.
  std::uint32_t attempt = 0;
  double tolerance = 1;  // factor on the difference of values that the backend's file allows
};

enum class OracleOutcome : std::uint8_t {
  passes,
  fails,
  unresolved,  // neither: a fault of the driver, a cut that cannot be made, a lost machine
  unchanged,   // the remedies do not change this piece: the answer without them holds
};

// How wrong values differ.
enum class Difference : std::uint8_t {
  none,  // no values were compared, or all are right
  wrong,
  lower_precision,  // right at the tolerance of a lower precision
  tie_order,        // equal values come in another order
  one_step,         // a few quantised values are one step off
};

// A node that a backend names, and why it does not take it.
struct NamedNode {
  std::string node;
  std::string why;
};

struct Answer {
  OracleOutcome outcome = OracleOutcome::unresolved;
  std::string stage = {};    // of a failure
  std::string how = {};      // of a failure, in words: "refused", "crashed (SIGSEGV)"
  std::string message = {};  // the backend's own
  Difference difference = Difference::none;
  std::optional<ValueId> first_wrong = std::nullopt;  // the first value that differs
  // Of quantised values: how many times as far off as rounding explains; 0: not known.
  double beyond_rounding = 0;
  std::size_t runs = 1;  // calls of the backend; 0: the answer was known
  // A failure of a kind that may come by chance, such as a crash: it takes more to believe it.
  bool may_be_chance = false;
  // Of a failure: nodes that the backend says it does not take, where it names them apart from its
  // message. Some may only follow from others.
  std::vector<NamedNode> named = {};
};

using Oracle = std::function<Answer(const Piece&)>;

// Failure signature: decides whether two failures of a backend are the same, whichever piece of the
// partition they occur in.
//
//   Failed analyse for node #12 "/loop/Loop" Unimplemented(Loop)      of the whole partition
//   Failed analyse for node #6 "/loop/Loop" Unimplemented(Loop)       of the node alone
//   compile: Failed analyse for node # _ Unimplemented_               the signature of both
//
// It leaves out numbers, addresses, paths, quoted text, shapes and the names of the partition,
// since they change with the cut, and backtraces. From a chain of causes it keeps the first and the
// last line.

// The names of nodes and values, and the op types, as words of a message.
class MessageNames {
 public:
  MessageNames() = default;
  MessageNames(const Graph& graph, const std::vector<NodeId>& nodes);
  bool contains(std::string_view word) const { return names_.contains(word); }

 private:
  std::unordered_set<std::string_view> names_;  // views into the graph
};

// The lines of a message that say what is wrong, joined by " <- ". With "Caused by:" these are the
// first line and the last cause; else the first line with a word such as "error", or, where it ends in a colon, all
// behind it that do not; else the first line that is not empty. Linear.
std::string essential_lines(std::string_view message);

// "<stage>: <what is wrong>", cut to at most 160 bytes. Linear in the message.
std::string failure_signature(const Answer& answer, const MessageNames& names);

// Questions: asks an oracle about sets of items, each set once, counts the backend's runs, and
// judges what an answer means for one failure.
struct JudgedAnswer {
  Answer answer;
  std::string signature = {};  // of a failure

  bool passes() const { return answer.outcome == OracleOutcome::passes; }
  bool fails() const { return answer.outcome == OracleOutcome::fails; }
};

// What an answer means for one failure.
enum class Judgement : std::uint8_t {
  same,   // fails in the same way
  pass,   // the backend takes the piece
  other,  // fails in another way, or is unresolved: neither
};

// When to stop asking.
struct AskingLimits {
  std::size_t most_runs = 64;
  std::function<bool()> is_time_up = nullptr;  // empty: never
};

class Questions {
 public:
  // All references must outlive this. `names` covers the whole partition, so that signatures of all
  // its pieces can be compared.
  Questions(const ItemOrder& order, const MessageNames& names, const Oracle& oracle,
            const AskingLimits& limits)
      : order_(order), names_(names), oracle_(oracle), limits_(limits) {}

  // Enters an answer that is already known; counts no run.
  const JudgedAnswer& know(const ItemSet& items, const Remedies& remedies, Answer answer);
  // The answer about a convex set. When is_spent(), unresolved without a run.
  const JudgedAnswer& ask(const ItemSet& items, const Remedies& remedies);
  // Asks about the same piece again, ignoring earlier answers; also when is_spent().
  JudgedAnswer ask_again(const ItemSet& items, const Remedies& remedies, std::uint32_t attempt);
  // Asks about the piece with values allowed to differ by `tolerance` times what the backend's file
  // allows.
  JudgedAnswer ask_tolerantly(const ItemSet& items, const Remedies& remedies, double tolerance);
  // A piece that said nothing of the failure searched for, and why.
  struct Blocked {
    ItemSet items;
    std::string why;
  };
  // Notes that the answer about the piece was of no use.
  void note_blocked(const ItemSet& items, const JudgedAnswer& answer);
  void forget_blocked() { blocked_.reset(); }
  // The first such piece; nullopt when all answers were of use.
  const std::optional<Blocked>& blocked() const { return blocked_; }
  // The pieces within these items that passed under the remedies.
  std::vector<ItemSet> passed(const ItemSet& items, const Remedies& remedies) const;
  bool is_asked(const ItemSet& items, const Remedies& remedies) const {
    return known_.contains({items, remedies});
  }
  // True when a piece with the item passed under the remedies.
  bool has_passed(std::uint32_t item, const Remedies& remedies) const;

  std::size_t runs() const { return runs_; }
  bool is_spent() const;
  // A reason without what changes with the cut, so that those of two pieces can be compared.
  std::string plain_reason(std::string_view why) const;

 private:
  struct Asked {
    ItemSet items;
    Remedies remedies;
    bool operator<(const Asked& other) const;
  };
  JudgedAnswer call(const Piece& piece);

  const ItemOrder& order_;
  const MessageNames& names_;
  const Oracle& oracle_;
  const AskingLimits& limits_;
  std::size_t runs_ = 0;
  std::map<Asked, JudgedAnswer> known_;
  std::optional<Blocked> blocked_;
};

// `signature` is that of the failure searched for; empty: any failure.
Judgement judge(const JudgedAnswer& answer, const std::string& signature);

// ---- node case ----
//
// Node case: everything about a node that a backend's verdict on it may depend on, as text. Nodes
// with the same case need one test, whichever model they are in.
//
//   MaxPool@17(0:float32[1,64,111,111]) {kernel_shape=[3,3] strides=[2,2]} -> 1
//   Reshape@17(0:float32[1,n], 1:const int64[2]) {} -> 1

// Lists op, domain, opset, dtypes and shapes of inputs, which of them are constant, attributes, and
// the number of outputs. A node with bodies, or with attributes other than numbers and strings, is
// a case of its own: its name is part of the text. Linear in the node's operands and attributes.
std::string node_case(const Graph& graph, NodeId node);

// ---- allowed op ----
//
// AllowedOp: the allow rule of an op that covers nodes that a backend accepts: their opsets and the
// dtypes of their inputs.

class AllowedOp {
 public:
  // Adds a node of the op, the same for all. Linear in its operands.
  void add(const Graph& graph, NodeId node, const OpFacts& facts);
  // The rule. It asks for the dtypes of the inputs before the first one that is not, in all nodes, a
  // tensor of known dtype.
  Rule rule() const;

 private:
  void add_dtypes(const Graph& graph, NodeId node);

  Rule rule_;
  std::vector<TypeSet> inputs_;
  bool is_first_ = true;
};

// ---- culprit search ----
//
// Culprit search: finds the nodes of a partition that make a backend refuse it, in as few runs as
// possible.
//
//   culprit     a node that alone fails in the same way as the partition
//   necessary   a node that passes alone, but without which the rest does not fail: it fails
//               together with nodes before it
//   size        no node is to blame: pieces above a size fail, whatever their nodes
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

// What a limit is of: first those of PartLimit, in their order, then of single tensors.
enum class SizeOf : std::uint8_t {
  nodes,
  parameter_bytes,
  inputs,
  outputs,
  activation_bytes,
  tensor_bytes,   // of the largest tensor that a node reads or makes
  axis_elements,  // of the longest axis of one
};
inline constexpr std::size_t kSizeCount = kPartLimitCount + 2;
using PieceSizes = std::array<std::uint64_t, kSizeCount>;

// Sizes as the limits of a list count them; nodes are in model order. What is unknown counts 0. O(n log n).
PieceSizes sizes_of(const Graph& graph, std::span<const NodeId> nodes);

struct SizeLimit {
  SizeOf of = SizeOf::nodes;
  std::uint64_t most = 0;     // the limit, or the largest size seen to pass
  std::uint64_t refused = 0;  // the smallest size seen to fail
  bool is_said = false;       // the backend's message has the limit
  bool is_rough = false;      // pieces beyond it passed, too: no size tells what is refused
  std::string said = {};      // how pieces beyond it fail: a signature; of a known limit
};

// The operators of a node that makes a value and of one that reads it.
using OpEdge = std::pair<std::string_view, std::string_view>;
// Of each edge within the nodes, in order of the readers; equal ones once.
std::vector<OpEdge> edges_within(const Graph& graph, std::span<const NodeId> nodes);

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
  std::vector<SizeLimit> known_limits = {};                // of earlier searches
};

enum class FindingKind : std::uint8_t {
  culprit,      // `nodes` fail alone: a node or a group
  together,     // `nodes` is necessary, or all of them are; `within` fails, though they alone pass
  remedy,       // `nodes` pass with `remedies`
  flaky,        // `within` failed once, but not when asked again
  unexplained,  // `within` fails; the search found no part of it to blame
  left_out,     // `nodes` are compiled around, each by itself, as the backend says
  size,         // pieces beyond `limit` fail, as `within` does
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
  SizeLimit limit = {};              // for FindingKind::size
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

// ---- size limit ----
//
// Size limit: a backend fails on pieces that are too large, whichever their nodes are. Then no node of a piece is
// to blame, though without its last one it passes. What is too large of them is what separates the pieces that pass from
// those that fail.

// The condition that a node has a tensor, or the axis of one, of more than that; `of`: one of the last two.
Condition larger_than(SizeOf of, std::uint64_t most);

// The limits that a message may state of a piece: numbers below one of its sizes, which the message has, too ("22408
// bytes exceeds 9000", "24 nodes, at most 16"). In the order of SizeOf. Linear in the message.
std::vector<SizeLimit> limits_said(std::string_view message, const PieceSizes& sizes);

// A piece of `length` items of `region` fails, and without its last one passes. The limit that explains it, if other
// pieces that are too large fail, too, and others with that last item pass; nullopt when its items fail together: a
// small part of it fails, too, and nothing passes that has the same ops with the same edges.
// Asks about at most some 40 pieces, a third of them to narrow the limit down to 5%.
std::optional<SizeLimit> limit_of_size(const Graph& graph, Questions& questions,
                                       const ItemOrder& order, const FailingSet& region,
                                       std::size_t length);

// ---- learned pattern ----
//
// Learned pattern: a small graph of ops that a backend was seen to take as a whole although it
// refuses one of its nodes alone.
//
// Each op asks for what the nodes of the occurrences have: opsets, dtypes, the values of attributes and
// of constants of one element, exactly, and which inputs are constant. Where the occurrences differ in
// a value and all were taken, the pattern does not ask for it. Once one was refused, each that was
// taken stays a pattern with its own values.

class LearnedPattern {
 public:
  // The pattern of these nodes, which the backend took together: connected, in model order, one of them
  // `refused`, the node that it refuses alone. nullopt when no pattern can say what they are: too many
  // nodes, one with a body or with attributes that no rule can ask for, or an inner value that others
  // read. Graph and facts must outlive this.
  static std::optional<LearnedPattern> of(const Graph& graph, const OpFacts& facts,
                                          std::span<const NodeId> nodes, NodeId refused);

  // The nodes around `refused`, by op, that match but for the values; empty: none.
  std::vector<NodeId> around(const Graph& graph, NodeId refused) const;
  // True when an occurrence with the same values, opsets and dtypes was asked about.
  bool is_known(const Graph& graph, const OpFacts& facts, std::span<const NodeId> nodes) const;
  // Notes what the backend says of an occurrence. `nodes` as around() gives them.
  void add(const Graph& graph, const OpFacts& facts, std::span<const NodeId> nodes, bool is_taken);

  // What was learned: a pattern, or several that differ in values. Without names and reasons.
  std::vector<Pattern> patterns() const;
  std::size_t op_count() const { return graph_.op_count; }

 private:
  // What is asked of one op: a value of an attribute (monostate: it is absent), the element of a constant.
  using Asked = std::variant<std::monostate, AttributeValue>;
  struct OpValues {
    std::map<std::string, Asked> attributes;
    std::map<std::uint32_t, std::vector<Literal>> elements;  // by input
    std::vector<std::uint32_t> constants;                    // inputs
    bool operator==(const OpValues&) const = default;
  };
  struct Occurrence {
    const Graph* graph;
    const OpFacts* facts;
    std::vector<NodeId> nodes;  // by op
    std::vector<OpValues> values;
  };

  static OpValues values_of(const Graph& graph, const OpFacts& facts, NodeId node);
  static OpValues common(const OpValues& one, const OpValues& other);
  static std::vector<OpValues> values_of(const Graph& graph, const OpFacts& facts,
                                         std::span<const NodeId> nodes);
  Pattern pattern_of(std::span<const Occurrence* const> occurrences) const;

  PatternGraph graph_;
  std::uint32_t anchor_ = 0;                              // the op that is refused alone
  std::vector<std::pair<std::string, std::string>> ops_;  // domain and op
  std::vector<Occurrence> taken_, refused_;
};

// ---- learned rule ----
//
// Learned rules: the shortest deny rules that separate the node cases that a backend refused from
// those that it accepted.
//
// For each op with a case that failed:
// 1. If no case of it passed, the op is denied, in the opsets that were seen; where each case chooses another algorithm by a
//    word than the op's default ("direction": "bidirectional"), only with that word.
// 2. Otherwise one condition that holds for all failed cases and for no passed one; else two
//    together; else several such rules that together cover the failed cases.
// 3. Conditions on the sizes of tensors count as two. Where several ops fail for one reason beyond a size within which all
//    passes, one rule of that size stands for them.
// 4. Cases that no such rule covers are denied by the names of their nodes, and of cases that both failed
//    and passed the nodes that failed.
//
// Among rules of the same length the one that denies the fewest nodes wins, then the first by its
// text. A short rule need not be true: a rule based on fewer than three failed cases is weak.

// Evidence: which node cases a backend accepted and which it refused, op by op. A partition that
// lowers is evidence for each of its nodes; a culprit is evidence against one.

// A node that represents all nodes of its case.
struct EvidenceCase {
  const Graph* graph;
  NodeId node;
  bool passed = false;  // in some piece
  bool failed = false;  // alone; if both are set, the verdict depends on the nodes around it
  std::vector<NodeId> failing = {};  // the nodes that failed, in the order in which they did
  std::set<std::string> said = {};   // how: signatures
};

// Domain ("" for the default domain) and op.
using OpName = std::pair<std::string, std::string>;

class Evidence {
 public:
  // Graphs must outlive this. Linear in the nodes' operands and attributes.
  void add_passed(const Graph& graph, std::span<const NodeId> nodes);
  void add_failed(const Graph& graph, NodeId node, const std::string& said = {});

  // Ops with a case that failed, sorted.
  std::vector<OpName> failed_ops() const;
  // The cases of an op, sorted by their text.
  std::vector<EvidenceCase> cases(const OpName& op) const;
  // Those of all ops that passed.
  std::vector<EvidenceCase> passed() const;

 private:
  EvidenceCase& at(const Graph& graph, NodeId node);
  std::map<OpName, std::map<std::string, EvidenceCase>> cases_;
  std::set<std::pair<const Graph*, NodeId>> failed_;  // nodes that are in EvidenceCase::failing
};

// Rule condition: one condition that a rule may set on a node, as learning tries it: "attribute
// layout is 1", "input 0 is int64", "input 0 has rank 5", "opset 9".
struct RuleCondition {
  Rule rule;                            // with the op and this condition alone
  std::string text;                     // conditions are sorted by it
  std::optional<SizeLimit> limit = {};  // of one on the size of tensors
};

// Conditions that hold for at least one failed case of the op, each once, sorted by text: dtypes
// and ranks of inputs, values of attributes (with the defaults that `facts` knows), opsets, and for
// number attributes and the sizes of tensors ranges that separate the failed cases from the passed ones.
std::vector<RuleCondition> conditions_of(const OpName& op, std::span<const EvidenceCase> cases,
                                         const OpFacts& facts);

// False when both ask about the same thing, such as two values of an attribute: a rule can ask once
// only.
bool may_be_combined(const Rule& one, const Rule& other);
// A rule with the conditions of both, which may_be_combined().
Rule combined(const Rule& one, const Rule& other);

// True when the rule is for the node's op and all its conditions hold.
bool holds_of(const Rule& rule, const EvidenceCase& item, const OpFacts& facts);

inline constexpr std::size_t kStrongEvidence = 3;

struct LearnedRule {
  Rule rule;                   // the report words `why`
  std::size_t conditions = 0;  // 0: the op as a whole, or names
  std::size_t failed = 0;      // cases of the op that failed alone and that the rule covers
  std::size_t passed = 0;      // cases of the op that passed; the rule matches none of them
  // The nodes that failed and that it is made of; for the name of one that was not asked about, another of
  // its case.
  std::vector<NodeId> failing = {};
  std::optional<SizeLimit> limit = {};  // of a rule on the size of tensors
  // True for a rule with conditions, or by name, that is based on few cases.
  bool is_weak() const { return passed + conditions > 0 && failed < kStrongEvidence; }
};

// The context of learning: where rules apply, and what the format knows about its operators.
struct LearningContext {
  const Graph& graph;  // of two rules, the one that denies fewer of its nodes wins
  const OpFacts& facts;
};

// Sorted by op, then by text of the rule. Cost: for each op the nodes of the graph, and the square of its
// conditions (some tens) times its cases.
std::vector<LearnedRule> learn_rules(const Evidence& evidence, const LearningContext& context);

// Deny rules by name for nodes that only fail together with others, so that no condition on a node
// describes them. One rule per node.
std::vector<Rule> rules_by_name(const Graph& graph, std::span<const NodeId> nodes);

// ---- grown piece ----
//
// Grown piece: the smallest surroundings in which a backend takes a node that it refuses alone. QNN
// refuses Erf, and takes the five nodes of a GELU.
//
// 1. Grow: the nodes that make what the piece reads, those that read what it makes, or both, six
//    times, the smallest piece first, until one is taken. A piece is convex.
// 2. Leave out nodes at its border, the farthest from the node first, while the rest is connected,
//    convex, and taken. A node that was needed once is not asked about again.

// Whether the backend takes these nodes, in model order, as a model of their own.
using TakesPiece = std::function<bool(const std::vector<NodeId>&)>;

struct GrownPiece {
  std::vector<NodeId> nodes;  // in model order; empty: no piece was taken
  std::size_t asked = 0;
};

inline constexpr std::size_t kMostGrown = 40;  // nodes

// Asks at most `most_asked` times, never about one piece twice. `refused` is a node of the model, not of a
// body. Cost besides: linear in the nodes between the first and the last of each piece.
GrownPiece grow_piece(const Graph& graph, NodeId refused, std::size_t most_asked,
                      const TakesPiece& takes);

// ---- wrong values ----
//
// Wrong values: finds the node that computes something other than the reference in a partition that
// compiles and runs, by bisection on the reference's values.
//
// The interval that is wrong is halved. Each half runs on the values that the *reference* has at
// its inputs, so that errors do not add up. No inner value becomes an output, so that what the
// backend fuses within a half stays fused.
//
//   the first half is wrong    -> go on in it
//   else the second is         -> go on in it; a half that is only a tie or a step off comes last
//   both are right             -> no node is wrong by itself:
//       an op between decides an order (TopK, NonZero, a comparison): rounding_decides
//       the interval is right when ten times the error is allowed:    errors_add_up
//       otherwise:                                                    together, and what it takes at least
//       that is right up to a quantiser in it, and behind it:         one_step, which what follows enlarges,
//                                                      but for what is known to be further off than rounding
//
// What is found explains no more than its own nodes. Where it is no fault (an order of ties, one
// quantisation step, rounding), the reference has NaN or infinity there, or it is a quantised operator, of which only
// the name is denied, the items before and after it run, too, on the reference's values, and what is wrong there is
// searched in the same way.

// Descent: which values depend on a node of some kind. Values that depend on a random operator
// differ from run to run. Values whose shape depends on data have no fixed shape in the model.

// By value: true when a node that makes it, or one that it depends on, is an operator of ONNX that
// draws at random. Linear in the edges.
std::vector<bool> random_values(const Graph& graph);

// By value: true when its shape may depend on data, since it depends on a node such as NonZero,
// NonMaxSuppression, Unique, Compress, Loop, Scan or If. Linear in the edges.
std::vector<bool> values_shaped_by_data(const Graph& graph);

enum class ValueVerdict : std::uint8_t {
  culprit,           // `nodes` are wrong on right inputs
  lower_precision,   // right at the tolerance of a lower precision: a switch of the backend
  tie_order,         // `nodes` give equal values in another order: not a fault
  one_step,          // `nodes` are one quantisation step off here and there: not a fault
  rounding_decides,  // `deciders` turn an error within the tolerance into another order
  errors_add_up,     // each half of `nodes` is right
  together,          // `nodes` are far off, and without the first or the last of them right
  not_finite,        // `nodes` read or give NaN or infinity: what is right there is not known
  unresolved,        // the halves of `nodes` could not be run, or a limit was reached
};

struct WrongValues {
  ValueVerdict verdict = ValueVerdict::unresolved;
  std::vector<NodeId> nodes = {};     // model order
  std::vector<NodeId> deciders = {};  // model order
  // For `together`: one of `nodes` without which the others were seen to be right.
  std::optional<NodeId> necessary = std::nullopt;
  std::optional<ValueId> first_wrong = std::nullopt;  // within `nodes`
  Remedies remedies = {};                             // under which `nodes` were seen to be wrong
  std::string message = {};                           // how their values differ
  std::size_t runs = 0;
  // Where halves could not be run: one of them, and why.
  std::vector<NodeId> blocked = {};
  std::string blocked_why = {};
};

// Whether all that the nodes read and give in the reference is finite. NaN and infinity are where right
// computations differ: Relu gives NaN or 0, a cast any integer. Empty: all of it is.
using FiniteTest = std::function<bool(std::span<const NodeId>)>;

struct AllWrongValues {
  std::vector<WrongValues> found;  // at least one; at most 8
  // All that was found is no fault, and the rest of the partition is right.
  bool is_no_fault = false;
};

// For each finding at most 2 ceil(log2 n) runs, plus 1 when no node is wrong by itself, and as many
// again as the bisection took where some are wrong together; plus up to 16 for each half that cannot be
// run; 2 more for the rest after what is no fault. Only a `culprit` and a `necessary` node may become a
// rule.
AllWrongValues find_wrong_values(const FailedPartition& failed, const Oracle& oracle,
                                 const AskingLimits& limits, const FiniteTest& is_finite = {});

}  // namespace cleave
