#include "formats/models/onnx/write/node_tags.h"

#include <algorithm>
#include <array>

#include "formats/models/onnx/index/encoding.h"
#include "formats/models/onnx/index/fields.h"

namespace cleave {
namespace {

constexpr std::int64_t kMetadataIrVersion = 10;
constexpr std::int64_t kConfigurationIrVersion = 11;

constexpr std::string_view kPartition = "cleave.partition";
constexpr std::string_view kDevice = "cleave.device";
constexpr std::string_view kReason = "cleave.reason";
constexpr std::string_view kLayer = "layer_ann";  // ONNX Runtime's name
constexpr std::string_view kPipeline = "cleave.pipeline";

// Fields of DeviceConfigurationProto and NodeDeviceConfigurationProto.
enum : std::uint32_t { kName = 1, kDeviceCount = 2, kDevices = 3 };
enum : std::uint32_t { kConfigurationId = 1, kPipelineStage = 3 };

std::string property(std::string_view key, std::string_view value) {
  std::string field;
  put_bytes(field, node_field::kMetadataProps, encode_key_value(key, value));
  return field;
}

bool is_our_key(std::string_view key) {
  static constexpr std::array<std::string_view, 4> kKeys = {kPartition, kDevice, kReason, kLayer};
  return std::find(kKeys.begin(), kKeys.end(), key) != kKeys.end();
}

std::string_view configuration_id(std::string_view payload, OnnxWalk& walk) {
  for (OnnxFields field(payload, "a device configuration", walk); field.next();) {
    if (field.key() == bytes_field(kConfigurationId)) return field.text();
    field.skip();
  }
  return {};
}

// True for a field of a NodeProto that an earlier split wrote. A damaged one is left alone.
bool is_ours(std::uint32_t number, std::string_view payload) {
  OnnxWalk walk;
  if (number == node_field::kMetadataProps) {
    const OnnxKeyValue entry = index_onnx_key_value(payload, walk);
    return !walk.is_refused() && is_our_key(entry.key);
  }
  return number == node_field::kDeviceConfigurations &&
         configuration_id(payload, walk) == kPipeline;
}

}  // namespace

// False for constants, and for markers that only end a stage.
bool OnnxNodeTags::is_in_part(NodeId node) const {
  return model_.graph.nodes().contains(node) && partition_.part_of[node] != kNone<PartId>;
}

std::string_view OnnxNodeTags::device_of(PartId part) const {
  if (!devices_.empty()) return devices_[index(part)];
  if (partition_.devices.empty()) return {};
  return partition_.is_acc(part) ? "acc" : "cpu";
}

bool OnnxNodeTags::has_metadata() const { return model_.onnx()->ir_version >= kMetadataIrVersion; }

bool OnnxNodeTags::has_stages() const {
  return options_.pipeline_stages && model_.onnx()->ir_version >= kConfigurationIrVersion;
}

std::string OnnxNodeTags::stage_of(PartId part) const {
  if (!has_stages()) return {};
  std::string configuration;
  put_bytes(configuration, kConfigurationId, kPipeline);
  put_number(configuration, kPipelineStage, index(part));
  std::string field;
  put_bytes(field, node_field::kDeviceConfigurations, configuration);
  return field;
}

std::string OnnxNodeTags::metadata_of(PartId part) const {
  std::string fields = property(kPartition, partition_.name(part));
  if (const auto device = device_of(part); !device.empty()) fields += property(kDevice, device);
  return fields;
}

std::string OnnxNodeTags::of_call(PartId part) const {
  return (has_metadata() ? metadata_of(part) : std::string()) + stage_of(part);
}

std::string OnnxNodeTags::of(NodeId node) const {
  if (!is_in_part(node)) return {};
  const PartId part = partition_.part_of[node];
  std::string fields = of_call(part);
  if (!has_metadata() || !options_.reason) return fields;
  if (const std::string reason = options_.reason(node); !reason.empty()) {
    fields += property(kReason, reason);
  }
  return fields;
}

std::string OnnxNodeTags::annotation(NodeId node) const {
  if (!is_in_part(node)) return {};
  return of(node) + property(kLayer, partition_.name(partition_.part_of[node]));
}

std::string OnnxNodeTags::model_fields() const {
  if (!has_stages()) return {};
  std::string configuration;
  put_bytes(configuration, kName, kPipeline);
  put_number(configuration, kDeviceCount, static_cast<std::int64_t>(partition_.count()));
  for (const PartId part : partition_.parts()) {
    const std::string_view device = device_of(part);
    put_bytes(configuration, kDevices, device.empty() ? partition_.name(part) : device);
  }
  std::string field;
  put_bytes(field, model_field::kConfiguration, configuration);
  return field;
}

OnnxFieldTest OnnxNodeTags::replaced_in(const OnnxNode& record) const {
  const bool has_ours =
      std::any_of(record.metadata.begin(), record.metadata.end(),
                  [](const OnnxKeyValue& entry) { return is_our_key(entry.key); });
  return has_ours || has_stages() ? is_ours : OnnxFieldTest();
}

}  // namespace cleave
