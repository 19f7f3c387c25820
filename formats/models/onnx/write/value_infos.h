// Types of values in written files: ValueInfoProtos. The file's own is used if it agrees with the
// graph; otherwise one is made from the graph's dtype and shape.
#pragma once

#include <string>
#include <string_view>

#include "core/graph/graph.h"
#include "formats/models/bind/loaded_model.h"
#include "formats/models/onnx/index/model.h"

namespace cleave {

class OnnxValueInfos {
 public:
  // `model` must outlive this.
  explicit OnnxValueInfos(const LoadedModel& model);

  // The declaration of a value among the file's inputs, outputs and value_info; null if there is
  // none.
  const OnnxValueInfo* declared(ValueId value) const { return declared_[value]; }
  // False when the declaration of a tensor states another dtype or shape than the graph knows, as an
  // open dim does that was bound. True if there is no declaration or the dtype is not known.
  bool is_declared_as_known(ValueId value) const;
  // A ValueInfoProto with all that is known: dims under their names in the graph, no shape if the
  // rank is unknown, no type if that is unknown.
  std::string known(ValueId value) const;

  // True when a session can take or give the value with the type that known() states.
  bool has_type(ValueId value) const;
  // False for a tensor of unknown rank, and if has_type() is false.
  bool has_rank(ValueId value) const;

 private:
  const Graph& graph_;
  const OnnxModel& model_;
  PerValue<const OnnxValueInfo*> declared_;
};

}  // namespace cleave
