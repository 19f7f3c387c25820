#include "formats/models/pt2/shared_memory.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "core/base/checked.h"
#include "core/graph/dtype.h"
#include "formats/models/pt2/arguments.h"

namespace cleave {
namespace {

// Where the data of one input are in the archive.
struct Range {
  bool is_constant;  // which table has it
  std::uint32_t record;
  std::int64_t begin, end;  // bits
  std::uint32_t value;
};

std::vector<bool> read_values(const Pt2Program& program) {
  std::vector<bool> is_read(program.values.size());
  for (const Pt2Argument& argument : program.arguments) {
    for (std::uint32_t r = argument.ref_begin; r < argument.ref_end; ++r) {
      is_read[program.refs[r].value] = true;
    }
  }
  for (const Pt2Output& output : program.outputs) {
    for (const Pt2Ref& ref : output.refs) is_read[ref.value] = true;
  }
  return is_read;
}

// Elements from the first to the last, both counted. nullopt for a tensor that has none, or open sizes.
std::optional<std::int64_t> extent(const Pt2Program& program, const Pt2Value& value) {
  if (!value.has_meta || value.size_count != value.stride_count) return std::nullopt;
  std::optional<std::int64_t> count = 1;
  for (std::uint32_t i = 0; i < value.size_count && count; ++i) {
    const std::int64_t size = program.sizes[value.size_begin + i].size;
    const std::int64_t stride = program.sizes[value.stride_begin + i].size;
    if (size < 1 || stride < 0) return std::nullopt;
    const auto more = checked_product(size - 1, stride);
    count = more ? checked_sum(*count, *more) : std::nullopt;
  }
  return count;
}

std::optional<Range> range_of(const Pt2Archive& archive, const Pt2Program& program,
                              const Pt2Input& input) {
  const Pt2Value& value = program.values[input.value];
  const auto elements = extent(program, value);
  const std::int64_t bits = dtype_bits(dtype_from_torch(value.scalar_type));
  if (!elements || bits == 0) return std::nullopt;
  for (const Pt2Table* const table : {&archive.weights, &archive.constants}) {
    const Pt2Entry* const entry = table->find(input.target);
    if (entry == nullptr) continue;
    const auto begin = checked_product(entry->first_element, bits);
    const auto length = checked_product(*elements, bits);
    const auto end = begin && length ? checked_sum(*begin, *length) : std::nullopt;
    if (!end) return std::nullopt;
    return Range{table == &archive.constants, entry->record, *begin, *end, input.value};
  }
  return std::nullopt;
}

}  // namespace

std::vector<Pt2Overlap> overlapping_inputs(const Pt2Archive& archive, const Pt2Program& program) {
  const std::vector<bool> is_read = read_values(program);
  std::vector<Range> ranges;
  for (const Pt2Input& input : program.inputs) {
    if (input.value == kNoPt2 || !is_lifted(input.kind) || !is_read[input.value]) continue;
    if (const auto range = range_of(archive, program, input)) ranges.push_back(*range);
  }
  const auto place = [](const Range& r) {
    return std::tuple(r.is_constant, r.record, r.begin, r.value);
  };
  std::sort(ranges.begin(), ranges.end(),
            [&](const Range& a, const Range& b) { return place(a) < place(b); });
  std::vector<Pt2Overlap> overlaps;
  const Range* widest = nullptr;  // the one that ends last, of the same record
  for (const Range& range : ranges) {
    const bool is_same_record = widest != nullptr && widest->is_constant == range.is_constant &&
                                widest->record == range.record;
    if (is_same_record && range.begin < widest->end) {
      overlaps.push_back({widest->value, range.value});
    }
    if (!is_same_record || range.end > widest->end) widest = &range;
  }
  return overlaps;
}

}  // namespace cleave
