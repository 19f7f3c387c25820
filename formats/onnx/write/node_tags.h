// What written nodes say of the split, for whoever opens the files: their part, its device, and why
// they are not on the accelerator, as metadata_props; the stage of a pipeline as a device
// configuration. Each from the IR version on that has the field.
//
//   cleave.partition = _run_on_cpu_3    cleave.device = cpu    cleave.reason = no rule names op
//   "Sin"
//
// In annotated.onnx, which exists for it, `layer_ann` is written whatever the IR version: ONNX
// Runtime, which reads it, does so, too.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/split/partition.h"
#include "formats/model/loaded_model.h"
#include "formats/onnx/index/model.h"
#include "formats/onnx/write/source.h"

namespace cleave {

struct OnnxTagOptions {
  // Why a node is not on the accelerator; "" for none. Empty: nothing is said of it.
  std::function<std::string(NodeId)> reason;
  bool pipeline_stages = false;  // parts are stages of a pipeline, in order
};

class OnnxNodeTags {
 public:
  // `devices`: by part, as the user names them; empty: not named. All must outlive this.
  OnnxNodeTags(const LoadedModel& model, const Partition& partition,
               const std::vector<std::string>& devices, const OnnxTagOptions& options)
      : model_(model), partition_(partition), devices_(devices), options_(options) {}

  // The part's device as the user named it, else its side of the split; empty where it has neither.
  std::string_view device_of(PartId part) const;

  // Fields to append to the NodeProto of a node, of the root's call of a part, and of a node in
  // annotated.onnx. Empty for constants and
  // markers, which are in no part, and where the IR version is older.
  std::string of(NodeId node) const;
  std::string of_call(PartId part) const;
  std::string annotation(NodeId node) const;
  // Fields of a ModelProto: the device configuration that stages refer to.
  std::string model_fields() const;

  // Which fields of the node's record the tags take the place of; null when it has none.
  OnnxFieldTest replaced_in(const OnnxNode& record) const;

 private:
  bool has_metadata() const;
  bool has_stages() const;
  bool is_in_part(NodeId node) const;
  std::string stage_of(PartId part) const;
  std::string metadata_of(PartId part) const;

  const LoadedModel& model_;
  const Partition& partition_;
  const std::vector<std::string>& devices_;
  const OnnxTagOptions& options_;
};

}  // namespace cleave
