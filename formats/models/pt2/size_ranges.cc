#include "formats/models/pt2/size_ranges.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/base/json/cursor.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {
namespace {

// The sizes of a symbol that the model was exported for. nullopt: it has no such bound.
struct SymbolRange {
  std::optional<std::int64_t> least = {}, most = {};
};

SymbolRange range_in(std::string_view constraint) {
  SymbolRange range;
  JsonCursor cursor(constraint);
  if (cursor.type() != JsonType::object) return range;
  cursor.enter();
  while (const auto key = cursor.next_key()) {
    const bool is_bound = key->text == "min_val" || key->text == "max_val";
    if (is_bound && cursor.type() == JsonType::number) {
      (key->text == "min_val" ? range.least : range.most) = cursor.take_number().integer();
    } else {
      cursor.skip();  // null or a text: there is no bound
    }
  }
  // Some versions of torch write a number near 2^63 where there is no bound.
  constexpr std::int64_t kNoBound = std::int64_t{1} << 60U;
  if (range.most && *range.most >= kNoBound) range.most.reset();
  return range;
}

// "1 to 64", "at most 64", "at least 2"
std::string range_text(const SymbolRange& range) {
  if (range.least && range.most) {
    return std::to_string(*range.least) + " to " + std::to_string(*range.most);
  }
  return range.most ? "at most " + std::to_string(*range.most)
                    : "at least " + std::to_string(*range.least);
}

}  // namespace

void report_sizes_out_of_range(const Pt2Program& program, const ShapeBindings& bound,
                               JsonFaults& faults) {
  for (const auto& range_of_symbol : program.ranges) {
    const std::string_view symbol = range_of_symbol.first;
    const auto given = std::find_if(bound.dims.begin(), bound.dims.end(),
                                    [&](const auto& dim) { return dim.first == symbol; });
    if (given == bound.dims.end() || given->second < 0) continue;
    const SymbolRange range = range_in(program.text_of(range_of_symbol.second));
    const std::int64_t size = given->second;
    const bool fits =
        (!range.least || size >= *range.least) && (!range.most || size <= *range.most);
    if (fits) continue;
    faults.add("the size " + std::to_string(size) + " of " + escaped_in_quotes(symbol) +
               " is not one that the model was exported for: " + range_text(range));
  }
}

}  // namespace cleave
