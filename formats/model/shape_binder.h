// ShapeBinder: what the user says about shapes (--dim, --input-shape) held against what a file has,
// so that a name that binds nothing does not go unnoticed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "formats/json/fields.h"
#include "formats/model/shape_bindings.h"

namespace cleave {

class ShapeBinder {
 public:
  explicit ShapeBinder(const ShapeBindings& bindings);

  // To be asked for each symbolic dim of the file: the size that it is bound to.
  std::optional<std::int64_t> size_of(std::string_view symbol);
  // To be asked for each input of the file: the dims it is to have, -1 where it stays free; null
  // when nothing was said of it.
  const std::vector<std::int64_t>* shape_of(std::string_view input);
  // Bindings that nothing asked for, and sizes below 0.
  void report_faults(JsonFaults& faults) const;

 private:
  const ShapeBindings& bindings_;
  // Names met in the file; kept only when there are bindings, for suggestions.
  std::set<std::string, std::less<>> symbols_, inputs_;
};

}  // namespace cleave
