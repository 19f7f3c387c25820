#include "formats/models/onnx/write/source.h"

#include <algorithm>
#include <cassert>
#include <filesystem>
#include <functional>
#include <optional>
#include <system_error>
#include <utility>

#include "formats/base/text/diagnostic.h"
#include "formats/models/onnx/index/encoding.h"
#include "formats/models/onnx/index/fields.h"

namespace cleave {

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
    const auto size = sizes.find(field.text());
    if (size == sizes.end()) continue;
    made.emplace();
    put_number(*made, dim_field::kValue, size->second);
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
  std::sort(edits_.begin(), edits_.end(), [](const OnnxEdit& one, const OnnxEdit& other) {
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

}  // namespace cleave
