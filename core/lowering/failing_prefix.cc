#include "core/lowering/failing_prefix.h"

#include <array>
#include <set>

namespace cleave {
namespace {

// Distances from an unresolved cut at which other cuts are tried.
constexpr std::array<std::size_t, 4> kSteps = {1, 2, 4, 8};

// What the prefix of that length means for the failure searched for.
struct Cut {
  std::size_t length;
  Judgement judgement;
};

class Bisection {
 public:
  Bisection(Questions& questions, const FailingSet& failing)
      : questions_(questions), failing_(failing) {}

  FailingPrefix run() {
    std::size_t low = failing_.good;  // this many items pass, or are assumed to
    std::size_t high = failing_.items.size();
    bool is_low_sure = true;
    while (high - low > 1) {
      const Cut cut = resolved_cut(low, high);
      if (cut.judgement == Judgement::same) {
        high = cut.length;
      } else {
        low = cut.length;
        is_low_sure = cut.judgement == Judgement::pass;
      }
    }
    return {.length = high, .is_sharp = is_low_sure};
  }

 private:
  const JudgedAnswer& ask(std::size_t length) {
    return questions_.ask(prefix_of(failing_.items, length), failing_.remedies);
  }

  Cut cut_at(std::size_t length) {
    return {.length = length, .judgement = judge(ask(length), failing_.signature)};
  }

  // The middle between two lengths, or the nearest length that is resolved.
  Cut resolved_cut(std::size_t low, std::size_t high) {
    const std::size_t middle = (low + high) / 2;
    const Cut cut = cut_at(middle);
    if (cut.judgement != Judgement::other || !is_worth_a_step(middle)) return cut;
    for (const std::size_t step : kSteps) {
      for (const std::size_t length : {middle + step, middle - step}) {
        if (length <= low || length >= high) continue;  // also when the subtraction wraps around
        const Cut next = cut_at(length);
        if (next.judgement != Judgement::other) return next;
        if (!is_worth_a_step(length)) return cut;
      }
    }
    return cut;
  }

  // False when the prefix fails in a way that occurred before and is not the one searched for.
  bool is_worth_a_step(std::size_t length) {
    const JudgedAnswer& answer = ask(length);
    return !answer.fails() || other_failures_.insert(answer.signature).second;
  }

  Questions& questions_;
  const FailingSet& failing_;
  std::set<std::string> other_failures_;
};

}  // namespace

FailingPrefix smallest_failing_prefix(Questions& questions, const FailingSet& failing) {
  return Bisection(questions, failing).run();
}

ItemSet prefix_of(const ItemSet& items, std::size_t length) {
  return {items.begin(), items.begin() + static_cast<std::ptrdiff_t>(length)};
}

}  // namespace cleave
