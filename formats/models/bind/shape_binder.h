// ShapeBinder: matches what the user gives about shapes (--dim, --input-shape) with what a file
// has, so that a name that binds no dim or input is reported.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "formats/base/json/fields.h"
#include "formats/models/bind/shape_bindings.h"

namespace cleave {

class ShapeBinder {
 public:
  explicit ShapeBinder(const ShapeBindings& bindings);

  // Call for each symbolic dim of the file. Returns the size that it is bound to.
  std::optional<std::int64_t> size_of(std::string_view symbol);
  // Call for each input of the file. Returns the dims it is to have, -1 for free ones; null when
  // the user gave no shape for it.
  const std::vector<std::int64_t>* shape_of(std::string_view input);
  // Reports bindings that matched no dim or input, and sizes below 0.
  void report_faults(JsonFaults& faults) const;

 private:
  const ShapeBindings& bindings_;
  // Names found in the file; kept only when there are bindings, for suggestions.
  std::set<std::string, std::less<>> symbols_, inputs_;
};

}  // namespace cleave
