#include "core/lowering/size_limit.h"

namespace cleave {
namespace {

// A limit of size below this many items is not thought of.
constexpr std::size_t kLeastSize = 4;

class SizeTest {
 public:
  SizeTest(Questions& questions, const ItemOrder& order, const FailingSet& region)
      : questions_(questions), order_(order), region_(region) {}

  bool is_limit(std::size_t length) {
    const std::size_t count = region_.items.size();
    if (length < kLeastSize || length > count) return false;
    if (window(1, length) != Judgement::pass) return false;
    if (count == length) return passes_without(length / 2);
    return window(1, length + 1) == Judgement::same &&
           window(count - length, count) == Judgement::same &&
           window(count - length + 1, count) == Judgement::pass;
  }

 private:
  Judgement judgement_of(const ItemSet& items) {
    return judge(questions_.ask(items, region_.remedies), region_.signature);
  }

  // The answer about the items [begin, end) of the region.
  Judgement window(std::size_t begin, std::size_t end) {
    const auto first = region_.items.begin();
    return judgement_of(
        {first + static_cast<std::ptrdiff_t>(begin), first + static_cast<std::ptrdiff_t>(end)});
  }

  bool passes_without(std::size_t one) {
    const ItemSet left_out = {region_.items[one]};
    const ItemSet rest = without(region_.items, left_out);
    return is_convex(order_, rest) && judgement_of(rest) == Judgement::pass;
  }

  Questions& questions_;
  const ItemOrder& order_;
  const FailingSet& region_;
};

}  // namespace

bool is_limit_of_size(Questions& questions, const ItemOrder& order, const FailingSet& region,
                      std::size_t length) {
  return SizeTest(questions, order, region).is_limit(length);
}

}  // namespace cleave
