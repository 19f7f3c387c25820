// ShapeOverlay: an overlay of shapes over a graph. The graph has the shapes that the model declares; where
// a run, a trace or the user showed more, the overlay says so, and Graph::with_shapes() lays it
// over. Passes get the graph with the overlay; what is written gets the model's own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/graph/shape.h"

namespace cleave {

class ShapeOverlay {
 public:
  // The value has these sizes. What was added first for a value holds.
  void add(ValueId value, std::span<const std::int64_t> sizes);

  bool empty() const { return of_values_.empty(); }
  // In the order of adding. A value may be there twice: the first holds.
  struct OfValue {
    ValueId value;
    std::uint32_t first_dim;
    std::uint32_t rank;
  };
  std::span<const OfValue> of_values() const { return of_values_; }
  Shape shape(const OfValue& of) const { return std::span(dims_).subspan(of.first_dim, of.rank); }

 private:
  std::vector<OfValue> of_values_;
  std::vector<Dim> dims_;
};

}  // namespace cleave
