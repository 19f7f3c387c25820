// Questions: asks an oracle about sets of items, each set once, counts the backend's runs, and
// judges what an answer means for one failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/lowering/failure_signature.h"
#include "core/lowering/item_order.h"
#include "core/lowering/oracle.h"

namespace cleave {

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
  // True when a piece with the item passed under the remedies.
  bool has_passed(std::uint32_t item, const Remedies& remedies) const;

  std::size_t runs() const { return runs_; }
  bool is_spent() const;

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
};

// `signature` is that of the failure searched for; empty: any failure.
Judgement judge(const JudgedAnswer& answer, const std::string& signature);

}  // namespace cleave
