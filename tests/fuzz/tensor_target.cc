// Tensors that come back from compilers' programs: ONNX's TensorProto and numpy's files.
#include "formats/run/backend/backend.h"
#include "tests/fuzz/demands.h"
#include "tests/fuzz/targets.h"

namespace cleave::fuzz {
namespace {

void demand_good(const Tensor& tensor) {
  demand(tensor.count() <= tensor.bytes.size() * 8, "elements lie in the tensor's bytes");
  demand_printable(tensor_type_text(tensor), "the type of a tensor");
  const auto again = decode_tensor(encode_tensor(tensor));
  demand(again.has_value(), "a tensor that was written is read");
  demand(again->dims == tensor.dims && again->bytes == tensor.bytes,
         "what was written reads the same");
  const auto npy = encode_npy(tensor);
  if (!npy) return;
  const auto from_npy = decode_npy(*npy);
  demand(from_npy && from_npy->dims == tensor.dims && from_npy->bytes == tensor.bytes,
         "what was written for numpy reads the same");
}

}  // namespace

void read_tensor(std::string_view bytes) {
  if (const auto tensor = decode_tensor(bytes)) demand_good(*tensor);
  if (const auto tensor = decode_npy(bytes)) demand_good(*tensor);
}

}  // namespace cleave::fuzz
