// Oracle: answers whether a backend accepts a piece of a partition. The culprit search asks an
// oracle; the code that runs a backend provides it. Tests pass lambdas.
//
//   piece     nodes that are cut out of the model, convex, compiled (and run) as a model
//   remedy    a change to a piece other than to its nodes: its open shapes pinned, ...
//   stage     what failed: "check", "compile", "values", ...
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/graph/graph.h"
#include "core/lowering/item_order.h"

namespace cleave {

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
// first line and the last cause; else the first line with a word such as "error", else the first
// line that is not empty. Linear.
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
  // The first such piece; nullopt when all answers were of use.
  const std::optional<Blocked>& blocked() const { return blocked_; }
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

}  // namespace cleave
