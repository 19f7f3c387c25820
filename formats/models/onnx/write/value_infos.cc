#include "formats/models/onnx/write/value_infos.h"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "formats/models/onnx/index/encoding.h"
#include "formats/models/onnx/index/fields.h"

namespace cleave {
namespace {

// A dim as in the file: a size, else a name, else neither.
struct FileDim {
  std::optional<std::int64_t> size;
  std::string_view name;
};

struct FileTensorType {
  std::int32_t dtype = 0;
  bool has_shape = false;
  std::vector<FileDim> dims;
};

FileDim read_dim(std::string_view payload, OnnxWalk& walk) {
  FileDim out;
  for (OnnxFields field(payload, "a dimension", walk); field.next();) {
    if (field.key() == varint_field(dim_field::kValue)) {
      out.size = field.number();
    } else if (field.key() == bytes_field(dim_field::kParam)) {
      out.name = field.text();
    } else {
      field.skip();
    }
  }
  return out;
}

void read_shape(std::string_view payload, OnnxWalk& walk, FileTensorType& out) {
  out.has_shape = true;
  for (OnnxFields field(payload, "a shape", walk); field.next();) {
    if (field.key() == bytes_field(shape_field::kDim)) {
      out.dims.push_back(read_dim(field.text(), walk));
    } else {
      field.skip();
    }
  }
}

FileTensorType read_tensor_type(std::string_view payload, OnnxWalk& walk) {
  FileTensorType out;
  for (OnnxFields field(payload, "a tensor's type", walk); field.next();) {
    if (field.key() == varint_field(tensor_type_field::kElemType)) {
      out.dtype = field.number32();
    } else if (field.key() == bytes_field(tensor_type_field::kShape)) {
      read_shape(field.text(), walk, out);
    } else {
      field.skip();
    }
  }
  return out;
}

// nullopt for a non-tensor or a damaged one.
std::optional<FileTensorType> tensor_type_of(std::string_view type) {
  OnnxWalk walk;
  std::optional<FileTensorType> out;
  for (OnnxFields field(type, "a type", walk); field.next();) {
    if (field.key() == bytes_field(type_field::kTensor)) {
      out = read_tensor_type(field.text(), walk);
    } else {
      field.skip();
    }
  }
  return walk.is_refused() ? std::nullopt : out;
}

bool same_dim(const Graph& graph, Dim known, const FileDim& stated) {
  if (known.is_fixed()) return stated.size == known.size();
  if (stated.size) return false;
  return known.is_symbol() ? stated.name == graph.text(known.name()) : stated.name.empty();
}

// True when the file states exactly what the graph knows.
bool says_the_same(const Graph& graph, ValueId value, const FileTensorType& stated) {
  if (dtype_from_onnx(stated.dtype) != graph.value(value).dtype) return false;
  if (stated.has_shape != graph.has_rank(value)) return false;
  const Shape shape = graph.shape(value);
  if (shape.size() != stated.dims.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (!same_dim(graph, shape[i], stated.dims[i])) return false;
  }
  return true;
}

}  // namespace

OnnxValueInfos::OnnxValueInfos(const LoadedModel& model)
    : graph_(model.graph), model_(*model.onnx()), declared_(model.graph.value_count(), nullptr) {
  std::unordered_map<std::string_view, const OnnxValueInfo*> by_name;
  // An input's or output's declaration takes precedence over a value_info of the same name.
  for (const auto* list :
       {&model_.graph.inputs, &model_.graph.outputs, &model_.graph.value_infos}) {
    for (const OnnxValueInfo& info : *list) by_name.emplace(info.name, &info);
  }
  for (const ValueId value : IdRange<ValueId>(0, graph_.value_count())) {
    if (graph_.value(value).kind == ValueKind::body_local) continue;
    const auto at = by_name.find(graph_.value(value).name);
    if (at != by_name.end()) declared_[value] = at->second;
  }
}

bool OnnxValueInfos::is_declared_as_known(ValueId value) const {
  const OnnxValueInfo* stated = declared_[value];
  if (stated == nullptr || graph_.value(value).dtype == DType::unknown) return true;
  const auto type = tensor_type_of(stated->type);
  return !type || says_the_same(graph_, value, *type);
}

std::string OnnxValueInfos::known(ValueId value) const {
  const std::string_view name = graph_.value(value).name;
  const OnnxValueInfo* stated = declared_[value];
  if (const auto full = model_.full_types.find(index(value)); full != model_.full_types.end()) {
    if (stated != nullptr && stated->type == full->second) {
      return std::string(stated->record.payload);
    }
    return encode_value_info(name, full->second);
  }
  if (stated != nullptr) {
    const auto type = tensor_type_of(stated->type);
    if (type && says_the_same(graph_, value, *type)) return std::string(stated->record.payload);
  }
  if (graph_.value(value).dtype == DType::unknown) {
    // A type that cleave does not know is copied unchanged.
    if (stated != nullptr) return std::string(stated->record.payload);
    return encode_value_info(name, {});
  }
  return encode_value_info(name, encode_tensor_type(graph_, value));
}

bool OnnxValueInfos::has_type(ValueId value) const {
  if (graph_.value(value).dtype != DType::unknown) return true;
  if (model_.full_types.contains(index(value))) return true;
  return declared_[value] != nullptr && !declared_[value]->type.empty();
}

bool OnnxValueInfos::has_rank(ValueId value) const {
  if (!has_type(value)) return false;
  return graph_.has_rank(value) || model_.full_types.contains(index(value));
}

}  // namespace cleave
