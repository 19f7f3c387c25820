// Types of values as written files state them: ValueInfoProtos, the file's own where it has one
// that says what the graph knows, else made from the graph's dtype and shape.
#pragma once

#include <string>
#include <string_view>

#include "core/graph/graph.h"
#include "formats/model/loaded_model.h"
#include "formats/onnx/index/model.h"

namespace cleave {

class OnnxValueInfos {
 public:
  // `model` must outlive this.
  explicit OnnxValueInfos(const LoadedModel& model);

  // What the file itself declares of a value among its inputs, outputs and value_info; null where
  // it says nothing.
  const OnnxValueInfo* declared(ValueId value) const { return declared_[value]; }
  // A ValueInfoProto that says all that is known: dims by the names they have in the graph, no
  // shape where the rank is unknown, no type where that is.
  std::string known(ValueId value) const;

  // True when a session can take or give the value as known() states it.
  bool has_type(ValueId value) const;
  // False for a tensor of unknown rank, and where has_type() is false.
  bool has_rank(ValueId value) const;

 private:
  const Graph& graph_;
  const OnnxModel& model_;
  PerValue<const OnnxValueInfo*> declared_;
};

}  // namespace cleave
