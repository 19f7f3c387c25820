// Layouts of symbolic sizes are found by trying them: each symbol is replaced by a large prime of
// its own, twice. Sizes and strides are products of symbols and small numbers, so strides that are
// right for two such sets of sizes are right for all.
#include "formats/models/pt2/memory_facts.h"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "formats/models/pt2/size_expression.h"

namespace cleave {
namespace {

constexpr int kSparseFirst = 1, kSparseLast = 5, kStridedLayout = 7;  // torch's numbers

using Primes = std::array<std::int64_t, 6>;
constexpr Primes kPrimes[] = {{10007, 10009, 10037, 10039, 10061, 10067},
                              {20011, 20021, 20023, 20029, 20047, 20051}};

std::optional<std::int64_t> evaluated(const Pt2Size& size, const SymbolValue& value_of) {
  if (!size.expression.empty()) return read_size_expression(size.expression, value_of).value;
  return size.size < 0 ? std::nullopt : std::optional(size.size);
}

class LayoutReader {
 public:
  LayoutReader(const Pt2Model& model, const Pt2Value& value)
      : model_(model),
        sizes_(dims_of(value.size_begin, value.size_count)),
        strides_(dims_of(value.stride_begin, value.stride_count)) {
    for (const auto& dims : {sizes_, strides_}) {
      for (const Pt2Size& dim : dims) {
        const auto symbols = symbols_in(dim.expression);
        symbols_.insert(symbols_.end(), symbols.begin(), symbols.end());
      }
    }
    std::sort(symbols_.begin(), symbols_.end());
    symbols_.erase(std::unique(symbols_.begin(), symbols_.end()), symbols_.end());
  }

  std::optional<TensorLayout> read() const {
    const auto first = layouts_with(kPrimes[0]);
    if (!first || first != layouts_with(kPrimes[1])) return std::nullopt;
    TensorLayout layout{*first, {}};
    for (const Pt2Size& stride : strides_) {
      layout.strides.push_back(
          evaluated(stride, [&](std::string_view symbol) { return bound(symbol); }));
    }
    return layout;
  }

 private:
  std::span<const Pt2Size> dims_of(std::uint32_t begin, std::uint32_t count) const {
    return std::span(model_.program.sizes).subspan(begin, count);
  }

  std::optional<std::int64_t> bound(std::string_view symbol) const {
    const auto found = model_.symbol_sizes.find(symbol);
    if (found == model_.symbol_sizes.end()) return std::nullopt;
    return found->second;
  }

  // nullopt when a size or a stride cannot be computed.
  std::optional<LayoutSet> layouts_with(const Primes& primes) const {
    const SymbolValue value_of = [&](std::string_view symbol) -> std::optional<std::int64_t> {
      if (const auto size = bound(symbol)) return size;
      const auto at = std::lower_bound(symbols_.begin(), symbols_.end(), symbol);
      const auto number = static_cast<std::size_t>(at - symbols_.begin());
      if (number >= primes.size()) return std::nullopt;
      return primes[number];
    };
    std::vector<std::int64_t> sizes, strides;
    for (const auto& [dims, numbers] : {std::pair(sizes_, &sizes), std::pair(strides_, &strides)}) {
      for (const Pt2Size& dim : dims) {
        const auto number = evaluated(dim, value_of);
        if (!number) return std::nullopt;
        numbers->push_back(*number);
      }
    }
    return strided_layouts(sizes, strides);
  }

  const Pt2Model& model_;
  std::span<const Pt2Size> sizes_, strides_;
  std::vector<std::string_view> symbols_;  // sorted
};

}  // namespace

std::optional<TensorLayout> tensor_layout(const Pt2Model& model, const Pt2Value& value) {
  if (!value.has_meta) return std::nullopt;
  if (value.layout >= kSparseFirst && value.layout <= kSparseLast) {
    TensorLayout layout;
    layout.layouts.add(LayoutName::sparse);
    return layout;
  }
  if (value.layout != kStridedLayout || value.size_count != value.stride_count) return std::nullopt;
  return LayoutReader(model, value).read();
}

std::vector<bool> written_inputs(const Pt2Model& model) {
  std::set<std::string_view> targets;  // that the signature says are written
  for (const Pt2Output& output : model.program.outputs) {
    const bool is_write = output.kind == Pt2OutputKind::buffer_mutation ||
                          output.kind == Pt2OutputKind::parameter_mutation ||
                          output.kind == Pt2OutputKind::user_input_mutation;
    if (is_write) targets.insert(output.target);
  }
  std::vector<bool> written(model.program.values.size());
  for (const Pt2WrittenInput& input : model.effects.written_inputs) written[input.value] = true;
  using Place = std::pair<const Pt2Table*, std::uint32_t>;
  const auto place_of = [&](const Pt2Input& input) -> std::optional<Place> {
    for (const Pt2Table* const table : {&model.archive.weights, &model.archive.constants}) {
      if (const Pt2Entry* const entry = table->find(input.target)) return {{table, entry->record}};
    }
    return std::nullopt;
  };
  std::set<Place> records;
  for (const Pt2Input& input : model.program.inputs) {
    if (input.value == kNoPt2) continue;
    if (targets.count(input.target) != 0) written[input.value] = true;
    const auto place = place_of(input);
    if (written[input.value] && place) records.insert(*place);
  }
  for (const Pt2Input& input : model.program.inputs) {
    if (input.value == kNoPt2 || records.empty()) continue;
    const auto place = place_of(input);
    if (place && records.count(*place) != 0) written[input.value] = true;
  }
  return written;
}

}  // namespace cleave
