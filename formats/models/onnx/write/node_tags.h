// Tags that written nodes carry about the split, for readers of the files: the node's partition,
// its device, and why it is not on the accelerator, as metadata_props; the stage of a pipeline as a
// device configuration. Each is written from the IR version on that has the field.
//
//   cleave.partition = _run_on_cpu_3    cleave.device = cpu
//   cleave.reason = the list does not have op "Sin"
//
// In annotated.onnx `layer_ann` is written for any IR version: ONNX Runtime, which reads it, does
// the same.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/split/partition.h"
#include "formats/models/bind/loaded_model.h"
#include "formats/models/onnx/index/model.h"
#include "formats/models/onnx/write/source.h"

namespace cleave {

struct OnnxTagOptions {
  // Why a node is not on the accelerator; "" for none. An empty function: write no reasons.
  std::function<std::string(NodeId)> reason;
  bool pipeline_stages = false;  // partitions are stages of a pipeline, in order
};

class OnnxNodeTags {
 public:
  // `devices` are by partition, as the user names them; empty: none given. All must outlive this.
  OnnxNodeTags(const LoadedModel& model, const Partition& partition,
               const std::vector<std::string>& devices, const OnnxTagOptions& options)
      : model_(model), partition_(partition), devices_(devices), options_(options) {}

  // The partition's device as the user named it, else its side of the split; empty if it has
  // neither.
  std::string_view device_of(PartId part) const;

  // Fields to append to the NodeProto of a node, of the root's call of a partition, and of a node
  // in annotated.onnx. Empty for constants and markers, which are in no partition, and for older IR
  // versions.
  std::string of(NodeId node) const;
  std::string of_call(PartId part) const;
  std::string annotation(NodeId node) const;
  // Fields of a ModelProto: the device configuration that stages refer to.
  std::string model_fields() const;

  // The fields of the node's record that the tags replace; null when there are none.
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
