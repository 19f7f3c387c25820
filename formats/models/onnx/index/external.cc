#include "formats/models/onnx/index/external.h"

#include <utility>

#include "core/graph/shape.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {

std::optional<std::uint64_t> onnx_tensor_bytes(const OnnxTensor& tensor) {
  std::vector<Dim> dims;
  for (const std::int64_t size : tensor.dims) {
    if (size < 0) return std::nullopt;
    dims.push_back(Dim::fixed(size));
  }
  return tensor_bytes(tensor.dtype, dims);
}

OnnxExternalFiles::OnnxExternalFiles(std::string folder, std::vector<ByteSource>& sources)
    : files_(std::move(folder), sources) {}

Result<ByteRange, std::string> OnnxExternalFiles::find(const OnnxTensor& tensor) {
  const std::string place = "external data at " + escaped_in_quotes(tensor.location) + " ";
  const Result<WeightFiles::File, std::string> file = files_.find(tensor.location);
  if (!file) return place + file.error();
  if (std::string fault = fault_of_range(*file, tensor.offset, 0); !fault.empty()) {
    return place + fault;
  }
  const std::optional<std::uint64_t> wanted = onnx_tensor_bytes(tensor);
  const std::uint64_t stated =
      tensor.length == 0 ? wanted.value_or(file->size - tensor.offset) : tensor.length;
  if (wanted && stated != *wanted) {
    return place + "is declared as " + std::to_string(stated) + " bytes, but dims and type make " +
           std::to_string(*wanted);
  }
  if (std::string fault = fault_of_range(*file, tensor.offset, stated); !fault.empty()) {
    return place + fault;
  }
  return ByteRange{.source = file->source, .offset = tensor.offset, .length = stated};
}

}  // namespace cleave
