// What writers copy from the model that was read.

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <protozero/exception.hpp>

#include "core/base/quantity.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/onnx/index/index.h"
#include "formats/onnx/write/writer.h"

namespace cleave {

// ---- source ----

namespace {

// A message with field `number` changed by `change`, which gets the payload of a field of it; nullopt when
// no field is.
template <class Change>
std::optional<std::string> with_changed(std::string_view message, std::uint32_t number,
                                        const Change& change) {
  std::string out;
  bool is_changed = false;
  OnnxWalk walk;
  for (OnnxFields field(message, "a type", walk); field.next();) {
    if (field.field_number() != number || !field.has_bytes()) {
      field.skip();
      out.append(field.whole());
      continue;
    }
    const std::optional<std::string> made = change(field.text());
    if (made) {
      put_bytes(out, number, *made);
    } else {
      out.append(field.whole());
    }
    is_changed = is_changed || made;
  }
  return is_changed ? std::optional(std::move(out)) : std::nullopt;
}

// A dim with its size in place of its symbol; nullopt when it has none, or one without a size.
std::optional<std::string> sized_dim(std::string_view dim, const OnnxDimSizes& sizes) {
  OnnxWalk walk;
  std::optional<std::string> made;
  for (OnnxFields field(dim, "a dim", walk); field.next();) {
    if (field.key() != bytes_field(dim_field::kParam)) {
      field.skip();
      continue;
    }
    const auto size = named_size(field.text(), [&](std::string_view name) {
      const auto found = sizes.find(name);
      return found == sizes.end() ? std::nullopt : std::optional(found->second);
    });
    if (!size) continue;
    made.emplace();
    put_number(*made, dim_field::kValue, *size);
  }
  return made;
}

std::optional<std::string> sized_value(std::string_view value, const OnnxDimSizes& sizes) {
  const auto dim = [&](std::string_view payload) { return sized_dim(payload, sizes); };
  const auto shape = [&](std::string_view payload) {
    return with_changed(payload, shape_field::kDim, dim);
  };
  const auto tensor = [&](std::string_view payload) {
    return with_changed(payload, tensor_type_field::kShape, shape);
  };
  const auto type = [&](std::string_view payload) {
    return with_changed(payload, type_field::kTensor, tensor);
  };
  return with_changed(value, value_info_field::kType, type);
}

}  // namespace

OnnxEdits::OnnxEdits(const OnnxModel& model, const OnnxDimSizes& dims, const Finder& find)
    : dims_(dims) {
  OnnxNode room;
  for (std::size_t i = 0; i < model.graph.nodes.size(); ++i) {
    add_node(model.graph.nodes.read(i, room), find);
  }
  OnnxDimSizes of_graph = std::exchange(dims_, {});  // a function's names of dims are its own
  for (const OnnxFunction& function : model.functions) {
    for (const OnnxNode& node : function.nodes) add_node(node, find);
    for (const OnnxAttribute& attribute : function.default_attributes) {
      add_attribute(attribute, find);
    }
  }
  dims_ = std::move(of_graph);
  std::ranges::sort(edits_, [](const OnnxEdit& one, const OnnxEdit& other) {
    return std::less<>()(one.payload.data(), other.payload.data());
  });
}

// Recurses into the node's bodies, as deep as the file nests, which its reader limits.
void OnnxEdits::add_node(const OnnxNode& node, const Finder& find) {
  if (node.domain == "ai.onnx") edits_.push_back({node.record.payload, std::nullopt, {}});
  for (const OnnxAttribute& attribute : node.attributes) add_attribute(attribute, find);
}

void OnnxEdits::add_attribute(const OnnxAttribute& attribute, const Finder& find) {
  for (const OnnxTensor& tensor : attribute.tensors) add_tensor(tensor, find);
  for (const OnnxGraph& body : attribute.graphs) {
    for (const OnnxTensor& tensor : body.initializers) add_tensor(tensor, find);
    for (const OnnxNode& node : body.nodes) add_node(node, find);
    if (dims_.empty()) continue;
    for (const auto* const values : {&body.inputs, &body.outputs, &body.value_infos}) {
      for (const OnnxValueInfo& value : *values) add_stated(value);
    }
  }
}

void OnnxEdits::add_stated(const OnnxValueInfo& value) {
  if (auto made = sized_value(value.record.payload, dims_)) {
    edits_.push_back({value.record.payload, std::nullopt, *std::move(made)});
  }
}

void OnnxEdits::add_tensor(const OnnxTensor& tensor, const Finder& find) {
  if (!tensor.is_external) return;
  if (const auto range = find(tensor)) edits_.push_back({tensor.record.payload, range, {}});
}

std::vector<OnnxEdit>::const_iterator OnnxEdits::first_from(const char* begin) const {
  return std::lower_bound(
      edits_.begin(), edits_.end(), begin,
      [](const OnnxEdit& edit, const char* at) { return std::less<>()(edit.payload.data(), at); });
}

bool OnnxEdits::are_within(std::string_view bytes) const {
  const auto edit = first_from(bytes.data());
  return edit != edits_.end() && edit->payload.data() < bytes.data() + bytes.size();
}

const OnnxEdit* OnnxEdits::of(std::string_view payload) const {
  const auto edit = first_from(payload.data());
  return edit != edits_.end() && edit->payload.data() == payload.data() ? &*edit : nullptr;
}

namespace {

constexpr std::size_t kMostFaults = 20;

constexpr std::int64_t kTensorType = 4;  // AttributeProto.TENSOR

bool holds_elements(std::uint32_t field) {
  return (field >= 4 && field <= 7) || (field >= 9 && field <= 11) ||
         field == tensor_field::kExternalData || field == tensor_field::kDataLocation;
}

// The tensor's fields other than those with its elements or their position.
std::string fields_without_elements(std::string_view tensor) {
  std::string out;
  OnnxWalk walk;
  for (OnnxFields field(tensor, "a tensor", walk); field.next();) {
    field.skip();
    if (!holds_elements(field.field_number())) out.append(field.whole());
  }
  return out;
}

}  // namespace

OnnxSource::OnnxSource(const LoadedModel& model)
    : bytes_(model.source.bytes()),
      model_(model.onnx()),
      files_{
          {.fd = model.source.fd(), .path = model.source.path(), .stamp = model.source.stamp()}} {}

Loaded<OnnxSource> OnnxSource::open(const LoadedModel& model) {
  OnnxSource out(model);
  Diagnostics faults = out.find_external_data(model);
  if (!faults.empty()) return faults;
  return out;
}

Diagnostics OnnxSource::find_external_data(const LoadedModel& model) {
  OnnxExternalFiles external(model.source.folder(), files_);
  Diagnostics faults;
  const auto find = [&](const OnnxTensor& tensor) -> std::optional<ByteRange> {
    const std::string fault = "tensor " + escaped_in_quotes(tensor.name) + ": ";
    Result<ByteRange, std::string> range =
        tensor.is_sparse ? Result<ByteRange, std::string>(
                               std::string("a sparse tensor with external data, which is not read"))
                         : external.find(tensor);
    if (range) return *range;
    if (faults.size() < kMostFaults) {
      faults.push_back(diagnostic_of(model.source.path(), fault + range.error()));
    }
    return std::nullopt;
  };
  for (const OnnxTensor& tensor : model_->graph.initializers) {
    std::optional<ByteRange> range;
    if (tensor.is_external) {
      range = find(tensor);
    } else if (!tensor.raw.empty() && tensor.raw.size() == onnx_tensor_bytes(tensor)) {
      range = ByteRange{.offset = static_cast<std::uint64_t>(tensor.raw.data() - bytes_.data()),
                        .length = tensor.raw.size()};
    }
    elements_.push_back(range);
  }
  OnnxDimSizes sizes;
  for (const auto& [symbol, size] : model.bindings.dims) sizes.emplace(symbol, size);
  edits_ = OnnxEdits(*model_, sizes, find);
  return faults;
}

const OnnxTensor& OnnxSource::tensor(std::uint32_t initializer) const {
  assert(initializer < model_->graph.initializers.size());
  return model_->graph.initializers[initializer];
}

void OnnxSource::add_bytes(BytePieces& out, std::string_view bytes) const {
  const std::less_equal<> no_later;
  const bool is_in_file = no_later(bytes_.data(), bytes.data()) &&
                          no_later(bytes.data() + bytes.size(), bytes_.data() + bytes_.size());
  if (!is_in_file) return out.add(bytes);  // made by folding
  out.add_range(0, static_cast<std::uint64_t>(bytes.data() - bytes_.data()), bytes.size());
}

// Adds the fields of a message, with edits.
void OnnxSource::add_fields(BytePieces& out, std::string_view payload,
                            const OnnxFieldTest& left_out) const {
  if (!edits_.are_within(payload) && !left_out) return add_bytes(out, payload);
  const OnnxEdit* edit = edits_.of(payload);
  if (edit != nullptr && edit->elements) {
    add_tensor_fields(out, payload, *edit->elements);
    return;
  }
  if (edit != nullptr && !edit->made.empty()) return out.add(edit->made);
  OnnxWalk walk;
  for (OnnxFields field(payload, "a record", walk); field.next();) {
    if (!field.has_bytes()) {
      field.skip();
      add_bytes(out, field.whole());
      continue;
    }
    const std::string_view inside = field.text();
    if (left_out && left_out(field.field_number(), inside)) continue;
    if (!edits_.are_within(inside)) {
      add_bytes(out, field.whole());
    } else {
      add_message(out, field.field_number(), inside);
    }
  }
  if (edit == nullptr) return;
  std::string domain;
  put_bytes(domain, node_field::kDomain, "");
  out.add(domain);
}

void OnnxSource::add_record(BytePieces& out, std::uint32_t field, const OnnxRecord& record) const {
  if (!edits_.are_within(record.payload)) {
    add_bytes(out, record.field);
  } else {
    add_message(out, field, record.payload);
  }
}

void OnnxSource::add_message(BytePieces& out, std::uint32_t field, std::string_view payload,
                             std::string_view appended, const OnnxFieldTest& left_out) const {
  BytePieces fields;
  add_fields(fields, payload, left_out);
  fields.add(appended);
  std::string header;
  put_header(header, field, fields.size());
  out.add(header);
  out.append(fields);
}

// Adds the fields of a TensorProto with these elements; returns their offset in `out`.
std::uint64_t OnnxSource::add_tensor_fields(BytePieces& out, std::string_view payload,
                                            const ByteRange& elements) const {
  std::string made = fields_without_elements(payload);
  put_header(made, tensor_field::kRawData, elements.length);
  out.add(made);
  const std::uint64_t position = out.size();
  out.add_range(elements.source, elements.offset, elements.length);
  return position;
}

std::uint64_t OnnxSource::size(std::uint32_t initializer) const {
  const OnnxTensor& record = tensor(initializer);
  const std::uint64_t outside = record.is_external ? elements_[initializer]->length : 0;
  return record.record.payload.size() + outside;
}

std::optional<std::uint64_t> OnnxSource::add_initializer(BytePieces& out,
                                                         std::uint32_t initializer) const {
  const OnnxTensor& record = tensor(initializer);
  const std::optional<ByteRange>& elements = elements_[initializer];
  if (record.is_external) {
    BytePieces fields;
    const std::uint64_t position = add_tensor_fields(fields, record.record.payload, *elements);
    std::string header;
    put_header(header, graph_field::kInitializer, fields.size());
    out.add(header);
    const std::uint64_t begin = out.size();
    out.append(fields);
    return begin + position;
  }
  const std::uint64_t begin = out.size();
  add_bytes(out, record.record.field);
  if (!elements) return std::nullopt;
  return begin + static_cast<std::uint64_t>(record.raw.data() - record.record.field.data());
}

void OnnxSource::add_initializer_at(BytePieces& out, std::uint32_t initializer,
                                    const OnnxLocation& location) const {
  assert(elements_[initializer]);
  std::string fields = fields_without_elements(tensor(initializer).record.payload);
  const auto put = [&](std::string_view key, std::string_view value) {
    put_bytes(fields, tensor_field::kExternalData, encode_key_value(key, value));
  };
  put("location", location.file);
  put("offset", std::to_string(location.offset));
  put("length", std::to_string(elements_[initializer]->length));
  put_number(fields, tensor_field::kDataLocation, 1);
  std::string field;
  put_bytes(field, graph_field::kInitializer, fields);
  out.add(field);
}

void OnnxSource::add_constant_node(BytePieces& out, std::uint32_t field,
                                   std::uint32_t initializer) const {
  const OnnxTensor& record = tensor(initializer);
  assert(!record.is_sparse);
  BytePieces fields;
  if (record.is_external) {
    add_tensor_fields(fields, record.record.payload, *elements_[initializer]);
  } else {
    add_bytes(fields, record.record.payload);
  }
  BytePieces attribute;
  std::string made;
  put_bytes(made, attribute_field::kName, "value");
  put_number(made, attribute_field::kType, kTensorType);
  put_header(made, attribute_field::kTensor, fields.size());
  attribute.add(made);
  attribute.append(fields);
  std::string node = encode_node(
      {.name = {}, .op = "Constant", .domain = {}, .inputs = {}, .outputs = {record.name}});
  put_header(node, node_field::kAttribute, attribute.size());
  std::string header;
  put_header(header, field, node.size() + attribute.size());
  out.add(header);
  out.add(node);
  out.append(attribute);
}

namespace {

namespace fs = std::filesystem;

// The path with all links resolved; unchanged when it cannot be looked up.
fs::path real_path(const std::string& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? fs::path(path) : real;
}

// By file: whether it contains a weight that is referred to.
std::vector<bool> sources_needed(const LoadedModel& model, const OnnxSource& source) {
  std::vector<bool> needed(source.files().size(), false);
  for (std::uint32_t i = 0; i < model.onnx()->graph.initializers.size(); ++i) {
    const auto& elements = source.elements(i);
    if (elements && elements->length > kSmallReference) needed[elements->source] = true;
  }
  return needed;
}

// The file's path relative to the folder; nullopt when it is outside.
std::optional<std::string> path_within(const fs::path& folder, const fs::path& file) {
  const fs::path within = file.lexically_relative(folder);
  if (within.empty() || *within.begin() == "..") return std::nullopt;
  return within.generic_string();
}

}  // namespace

Result<std::vector<std::string>, std::string> onnx_references(const LoadedModel& model,
                                                              const OnnxSource& source,
                                                              const std::string& folder) {
  const std::vector<bool> needed = sources_needed(model, source);
  const fs::path to = real_path(folder);
  std::vector<std::string> references(needed.size());
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (!needed[i]) continue;
    if (i == 0 && model.source.path() == "<stdin>") {
      return std::string(
          "weights of a model on standard input are in no file to refer to: give the model as a "
          "file, or leave out --weights reference");
    }
    const fs::path file = real_path(source.files()[i].path);
    const auto within = path_within(to, file);
    if (!within) {
      return "weights are in " + escaped_in_quotes(file.string()) +
             ", outside this folder, and runtimes do not follow references there; with --weights "
             "reference give the model's folder: -o " +
             real_path(model.source.folder()).string();
    }
    references[i] = *within;
  }
  return references;
}

// ---- cutter ----

namespace {

constexpr PartId kPiece{0};

// Puts values that the model declares in its order, before the others.
void put_in_order(std::vector<ValueId>& values, std::span<const ValueId> declared) {
  const auto place = [&](ValueId value) {
    return std::ranges::find(declared, value) - declared.begin();
  };
  std::ranges::stable_sort(values, [&](ValueId a, ValueId b) { return place(a) < place(b); });
}

}  // namespace

// A job whose partition changes for each piece. Nodes get no tags: tags belong to splits.
struct OnnxCutter::State {
  State(const LoadedModel& model, OnnxSource&& source, std::vector<std::string> references)
      : untagged(make_piece(model.graph, {}, "")),
        job{.model = model,
            .partition = piece,
            .boundaries = boundary,
            .root_boundaries = boundary,
            .options = options,
            .source = std::move(source),
            .value_infos = OnnxValueInfos(model),
            .function_calls = OnnxFunctionCalls(*model.onnx()),
            .annotations = OnnxAnnotations(model),
            .opsets = opset_imports(*model.onnx()),
            .files = {""},
            .references = std::move(references),
            .tags = OnnxNodeTags(model, untagged, devices, options.tags)} {}

  Partition piece;
  Boundaries boundary;
  Partition untagged;
  OnnxWriteOptions options;
  std::vector<std::string> devices;
  OnnxSplitJob job;
};

OnnxCutter::OnnxCutter(std::unique_ptr<State> state) : state_(std::move(state)) {}
OnnxCutter::OnnxCutter(OnnxCutter&&) noexcept = default;
OnnxCutter& OnnxCutter::operator=(OnnxCutter&&) noexcept = default;
OnnxCutter::~OnnxCutter() = default;

Result<OnnxCutter, Fault> OnnxCutter::open(const LoadedModel& model, RootWeights weights,
                                           const std::string& references_from) {
  Loaded<OnnxSource> source = OnnxSource::open(model);
  if (!source) return input_fault(std::move(source).error());
  std::vector<std::string> references;
  if (weights == RootWeights::reference) {
    auto found = onnx_references(model, *source, references_from);
    if (!found) return output_fault({diagnostic_of(references_from, std::move(found).error())});
    references = *std::move(found);
  }
  return OnnxCutter(std::make_unique<State>(model, *std::move(source), std::move(references)));
}

Result<CutPiece, Fault> OnnxCutter::write(std::span<const NodeId> nodes, const OutputPath& output,
                                          const PieceEnds* ends) {
  State& state = *state_;
  const std::string file = output.path.substr(output.path.rfind('/') + 1);
  state.piece = make_piece(state.job.graph(), nodes, file.substr(0, file.rfind('.')));
  const Graph& graph = state.job.graph();
  state.boundary = find_piece_boundary(graph, state.piece, ends);
  if (ends == nullptr && nodes.size() == graph.node_count()) {  // the whole model: called as it is
    std::ranges::sort(state.boundary.inputs.items);
    put_in_order(state.boundary.outputs.items, graph.outputs());
  }
  state.job.files = {file};
  const auto built = build_onnx_part(state.job, kPiece);
  if (!built) return output_fault({diagnostic_of(output.shown, built.error())});
  auto written = write_pieces(built->model, state.job.source.files(), output);
  if (written && built->data.size() > 0) {
    written = write_pieces(built->data, state.job.source.files(),
                           {output.path + ".data", output.shown + ".data"});
  }
  if (written) written = copy_context_files(state.job, nodes, output, OldFiles::stay);
  if (!written) return std::move(written).error();
  const auto inputs = state.boundary.inputs[kPiece];
  CutPiece cut{{inputs.begin(), inputs.end()}, part_outputs(state.job, kPiece)};
  std::ranges::copy_if(inputs, std::back_inserter(cut.untyped),
                       [&](ValueId input) { return !state.job.value_infos.has_type(input); });
  return cut;
}

// ---- node tags ----

namespace {

// The first IR versions whose NodeProto has metadata_props, and device_configurations: an older
// model stays one that an older runtime reads.
constexpr std::int64_t kMetadataIrVersion = 10;
constexpr std::int64_t kConfigurationIrVersion = 11;

constexpr std::string_view kPartition = "cleave.partition";
constexpr std::string_view kDevice = "cleave.device";
constexpr std::string_view kReason = "cleave.reason";
constexpr std::string_view kLayer = "layer_ann";  // ONNX Runtime's name
constexpr std::string_view kPipeline = "cleave.pipeline";
constexpr std::string_view kTrace = "pkg.torch.onnx.stack_trace";  // torch's name

// Fields of DeviceConfigurationProto and NodeDeviceConfigurationProto.
enum : std::uint32_t { kName = 1, kDeviceCount = 2, kDevices = 3 };
enum : std::uint32_t { kConfigurationId = 1, kPipelineStage = 3 };

std::string property(std::string_view key, std::string_view value) {
  std::string field;
  put_bytes(field, node_field::kMetadataProps, encode_key_value(key, value));
  return field;
}

// True for the keys of metadata that are not taken over from the model: ours, and without traces theirs.
bool is_replaced_key(std::string_view key, bool without_traces) {
  static constexpr std::array<std::string_view, 4> kKeys = {kPartition, kDevice, kReason, kLayer};
  return contains(kKeys, key) || (without_traces && key == kTrace);
}

std::string_view configuration_id(std::string_view payload, OnnxWalk& walk) {
  for (OnnxFields field(payload, "a device configuration", walk); field.next();) {
    if (field.key() == bytes_field(kConfigurationId)) return field.text();
    field.skip();
  }
  return {};
}

// True for a field of a NodeProto that an earlier split wrote, or, without traces, that has one. A
// damaged one is left alone.
bool is_replaced(std::uint32_t number, std::string_view payload, bool without_traces) {
  OnnxWalk walk;
  if (number == node_field::kMetadataProps) {
    const OnnxKeyValue entry = index_onnx_key_value(payload, walk);
    return !walk.is_refused() && is_replaced_key(entry.key, without_traces);
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
  const bool without_traces = options_.without_traces;
  const bool has_some = std::ranges::any_of(record.metadata, [&](const OnnxKeyValue& entry) {
    return is_replaced_key(entry.key, without_traces);
  });
  if (!has_some && !has_stages()) return {};
  return [without_traces](std::uint32_t number, std::string_view payload) {
    return is_replaced(number, payload, without_traces);
  };
}

// ---- context files ----

namespace {

namespace fs = std::filesystem;

bool have_same_bytes(const fs::path& one, const fs::path& other) {
  std::error_code error;
  if (fs::equivalent(one, other, error)) return true;
  if (fs::file_size(one, error) != fs::file_size(other, error) || error) return false;
  std::ifstream left(one, std::ios::binary), right(other, std::ios::binary);
  std::array<char, 1 << 16> a, b;
  do {  // read(), since iterators of a stream throw where a file cannot be read
    left.read(a.data(), a.size());
    right.read(b.data(), b.size());
    if (left.gcount() != right.gcount() || left.bad() || right.bad()) return false;
    if (!std::equal(a.begin(), a.begin() + left.gcount(), b.begin())) return false;
  } while (left && right);
  return left.eof() && right.eof();
}

}  // namespace

Status<Fault> copy_context_files(const OnnxSplitJob& job, std::span<const NodeId> nodes,
                                 const OutputPath& model, OldFiles old_files) {
  std::vector<std::uint32_t> records;
  for (const NodeId node : nodes) records.push_back(job.onnx().node_index[index(node)]);
  std::vector<ByteSource> sources;
  WeightFiles files(job.model.source.folder(), sources);
  for (const std::string_view location : context_files(job.onnx(), records)) {
    const auto file = files.find(location);
    if (!file) continue;
    const fs::path made = fs::path(model.path).parent_path() / location;
    const fs::path shown = fs::path(model.shown).parent_path() / location;
    if (old_files == OldFiles::stay && have_same_bytes(sources[file->source].path, shown)) continue;
    std::error_code ignored;  // a folder that is missing is told by what is written into it
    fs::create_directories(made.parent_path(), ignored);
    BytePieces pieces;
    pieces.add_range(file->source, 0, file->size);
    auto written = write_pieces(pieces, sources, {made.string(), shown.string()});
    if (!written) return written;
  }
  return Done{};
}

// ---- context nodes ----

namespace {

constexpr std::string_view kOp = "EPContext";
constexpr std::string_view kFileAttribute = "ep_cache_context";
constexpr std::string_view kEmbedAttribute = "embed_mode";

class ContextReader {
 public:
  ContextReader(std::string_view graph, const ContextPlace& place) : graph_(graph), place_(place) {}

  Result<OnnxContext, std::string> read() {
    for (const MessageField& field : message_fields(graph_)) {
      if (field.number == graph_field::kInput) {
        context_.inputs.emplace_back(field_of(field.payload, value_info_field::kName));
      }
      if (field.number == graph_field::kInput || field.number == graph_field::kOutput) {
        boundary_.insert(field_of(field.payload, value_info_field::kName));
      }
      if (field.number == graph_field::kInitializer) return std::string("it holds weights");
    }
    for (const MessageField& field : message_fields(graph_)) {
      if (field.number == graph_field::kNode) {
        const std::string_view op = field_of(field.payload, node_field::kOpType);
        if (op != kOp) return "it holds a node \"" + std::string(op) + "\"";
        context_.nodes.push_back(node(field.payload));
        if (lacks_) return "its file \"" + *lacks_ + "\" cannot be read";
      }
      const bool is_given =
          field.number == graph_field::kOutput || field.number == graph_field::kValueInfo;
      if (is_given) add_info(field.payload);
    }
    if (context_.empty()) return std::string("it holds no node");
    return std::move(context_);
  }

 private:
  std::string renamed(std::string_view name) const {
    if (name.empty() || boundary_.contains(name)) return std::string(name);
    return std::string(place_.part) + "/" + std::string(name);
  }

  void add_info(std::string_view info) {
    std::string made;
    const std::string name = renamed(field_of(info, value_info_field::kName));
    for (const MessageField& field : message_fields(info)) {
      if (field.number == value_info_field::kName) {
        put_bytes(made, field.number, name);
      } else {
        made.append(field.bytes);
      }
    }
    context_.names.push_back(name);
    context_.infos.push_back(std::move(made));
  }

  // Inputs and outputs stay in the order in which the provider wrote them: it binds them by place.
  std::string node(std::string_view message) {
    std::string made;
    for (const MessageField& field : message_fields(message)) {
      switch (field.number) {
        case node_field::kInput:
        case node_field::kOutput:
          put_bytes(made, field.number, renamed(field.payload));
          break;
        case node_field::kName:
          put_bytes(made, field.number,
                    std::string(place_.part) + "/" + std::string(field.payload));
          break;
        case node_field::kAttribute:
          put_bytes(made, field.number, attribute(field.payload, is_embedded(message)));
          break;
        default:
          made.append(field.bytes);
      }
    }
    return made;
  }

  static bool is_embedded(std::string_view node) {
    for (const MessageField& field : message_fields(node)) {
      if (field.number != node_field::kAttribute) continue;
      if (field_of(field.payload, attribute_field::kName) != kEmbedAttribute) continue;
      for (const MessageField& inner : message_fields(field.payload)) {
        if (inner.number == attribute_field::kInt) return inner.bytes.back() != 0;
      }
      return false;  // a 0 may be left out
    }
    return true;  // the attribute's default
  }

  // The path of the file becomes one from the folder of the written model.
  std::string attribute(std::string_view message, bool is_embedded) {
    const std::string_view name = field_of(message, attribute_field::kName);
    const bool is_mode = place_.content && name == kEmbedAttribute;
    const bool is_file = !is_embedded && name == kFileAttribute;
    if (!is_file && !is_mode) return std::string(message);
    std::string made;
    for (const MessageField& field : message_fields(message)) {
      if (is_mode && field.number == attribute_field::kInt) continue;
      if (is_file && field.number == attribute_field::kString) {
        put_bytes(made, field.number, context_of(field.payload));
      } else {
        made.append(field.bytes);
      }
    }
    if (is_mode) put_number(made, attribute_field::kInt, 1);
    return made;
  }

  // What a node says of its file: where it is, or what it holds. A compiler may name any path; what it made
  // is in one folder, so only the last part of the path counts.
  std::string context_of(std::string_view path) {
    const std::string_view file = path.substr(path.find_last_of("/\\") + 1);
    const bool is_name =
        !file.empty() && file != "." && file != ".." && file.find('\0') == file.npos;
    if (is_name && !place_.content) return std::string(place_.folder) + std::string(file);
    auto content = is_name ? place_.content(file) : std::nullopt;
    if (!content && !lacks_) lacks_ = path;
    return content ? *std::move(content) : std::string();
  }

  std::string_view graph_;
  const ContextPlace& place_;
  std::unordered_set<std::string_view> boundary_;
  OnnxContext context_;
  std::optional<std::string> lacks_;  // the first file that cannot be read
};

}  // namespace

Result<OnnxContext, std::string> read_context_model(std::string_view model,
                                                    const ContextPlace& place) {
  try {
    return ContextReader(field_of(model, model_field::kGraph), place).read();
  } catch (const protozero::exception&) {
    return std::string("it is no ONNX model");
  }
}

// ---- piece hash ----

namespace {

class PieceHash {
 public:
  // nullopt when weights are in another file.
  std::optional<std::string> of(std::string_view model) {
    std::string_view graph;
    std::vector<std::string_view> imports;
    for (const MessageField& field : message_fields(model)) {
      if (field.number == model_field::kGraph) graph = field.payload;
      if (field.number == model_field::kOpsetImport) imports.push_back(field.payload);
      if (field.number == model_field::kFunctions) hash_.add_text(field.payload);
      if (field.number == model_field::kIrVersion) hash_.add_text(field.bytes);
    }
    if (graph.empty()) return std::nullopt;
    std::ranges::sort(imports);
    for (const std::string_view import : imports) hash_.add_text(import);
    add_graph(graph);
    if (is_elsewhere_) return std::nullopt;
    return std::move(hash_).hex();
  }

 private:
  std::uint64_t number_of(std::string_view name) {
    if (name.empty()) return 0;
    return numbers_.try_emplace(name, numbers_.size() + 1).first->second;
  }

  void add_graph(std::string_view graph) {
    const std::vector<MessageField> fields = message_fields(graph);
    for (const MessageField& field : fields) {
      if (field.number == graph_field::kNode) add_node(field.payload);
    }
    for (const MessageField& field : fields) {
      const bool is_ordered =
          field.number == graph_field::kInput || field.number == graph_field::kOutput;
      if (is_ordered) add_value(field);
    }
    add_unordered(fields);
    if (!has_bodies_) return;
    // Bodies refer to values of the graph by name, so with bodies the names count, too.
    std::vector<std::pair<std::uint64_t, std::string_view>> names;
    for (const auto& [name, number] : numbers_) names.emplace_back(number, name);
    std::ranges::sort(names);
    for (const auto& [number, name] : names) hash_.add_text(name);
  }

  void add_node(std::string_view node) {
    std::vector<std::pair<std::string_view, std::string>> attributes;
    for (const MessageField& field : message_fields(node)) {
      if (field.number == node_field::kInput || field.number == node_field::kOutput) {
        hash_.add_number(field.number);
        hash_.add_number(number_of(field.payload));
      } else if (field.number == node_field::kOpType || field.number == node_field::kDomain) {
        hash_.add_number(field.number);
        hash_.add_text(field.payload);
      } else if (field.number == node_field::kAttribute) {
        attributes.push_back(attribute_of(field.payload));
      }
    }
    std::ranges::sort(attributes);
    for (const auto& [name, digest] : attributes) hash_.add_text(digest);
    hash_.add_number(attributes.size());
  }

  std::pair<std::string_view, std::string> attribute_of(std::string_view attribute) {
    std::string_view name;
    Sha256 digest;
    for (const MessageField& field : message_fields(attribute)) {
      if (field.number == attribute_field::kName) name = field.payload;
      if (field.number == attribute_field::kGraph || field.number == attribute_field::kGraphs)
        has_bodies_ = true;
      if (field.number != attribute_field::kDocString) digest.add_text(field.bytes);
    }
    return {name, std::move(digest).hex()};
  }

  void add_value(const MessageField& field) {
    hash_.add_number(field.number);
    for (const MessageField& inner : message_fields(field.payload)) {
      if (inner.number == value_info_field::kName) hash_.add_number(number_of(inner.payload));
      if (inner.number == value_info_field::kType) hash_.add_text(inner.payload);
    }
  }

  // Initializers and value_info, in the order of their values' numbers.
  void add_unordered(const std::vector<MessageField>& fields) {
    std::vector<std::pair<std::uint64_t, std::string>> digests;
    for (const MessageField& field : fields) {
      if (field.number == graph_field::kInitializer) digests.push_back(tensor_of(field.payload));
      if (field.number == graph_field::kValueInfo) digests.push_back(info_of(field.payload));
      if (field.number == graph_field::kSparseInitializer) hash_.add_text(field.payload);
    }
    std::ranges::sort(digests);
    for (const auto& [number, digest] : digests) {
      hash_.add_number(number);
      hash_.add_text(digest);
    }
  }

  std::pair<std::uint64_t, std::string> tensor_of(std::string_view tensor) {
    std::uint64_t number = 0;
    Sha256 digest;
    for (const MessageField& field : message_fields(tensor)) {
      if (field.number == tensor_field::kName) number = number_of(field.payload);
      if (field.number == tensor_field::kDataLocation) is_elsewhere_ = true;
      if (field.number == tensor_field::kName || field.number == tensor_field::kDocString) continue;
      digest.add_text(field.bytes);
    }
    return {number, std::move(digest).hex()};
  }

  std::pair<std::uint64_t, std::string> info_of(std::string_view info) {
    std::uint64_t number = 0;
    std::string type;
    for (const MessageField& field : message_fields(info)) {
      if (field.number == value_info_field::kName) number = number_of(field.payload);
      if (field.number == value_info_field::kType) type = field.payload;
    }
    return {number, "i" + type};
  }

  Sha256 hash_;
  std::unordered_map<std::string_view, std::uint64_t> numbers_;
  bool has_bodies_ = false;
  bool is_elsewhere_ = false;
};

}  // namespace

std::optional<std::string> piece_hash(std::string_view model) {
  try {
    return PieceHash().of(model);
  } catch (const protozero::exception&) {
    return std::nullopt;
  }
}

}  // namespace cleave
