#include "formats/models/onnx/index/probe.h"

#include "formats/models/onnx/index/fields.h"

namespace cleave {

bool looks_like_onnx(std::string_view bytes) {
  constexpr int kFieldsToAsk = 64;
  OnnxWalk walk{.begin = bytes.data()};
  OnnxFields field(bytes, "the model", walk);
  bool has_graph = false;
  for (int i = 0; i < kFieldsToAsk && field.next(); ++i) {
    switch (field.key()) {
      case varint_field(model_field::kIrVersion): {
        // The first field that every known writer puts down, with a small number.
        const std::int64_t ir_version = field.number();
        if (i == 0 && !walk.is_refused() && ir_version >= 0 && ir_version < 128) return true;
        break;
      }
      case bytes_field(model_field::kGraph):
        has_graph = true;
        [[fallthrough]];
      case varint_field(model_field::kModelVersion):
      case bytes_field(model_field::kProducerName):
      case bytes_field(model_field::kProducerVersion):
      case bytes_field(model_field::kDomain):
      case bytes_field(model_field::kDocString):
      case bytes_field(model_field::kOpsetImport):
      case bytes_field(model_field::kMetadataProps):
      case bytes_field(model_field::kTrainingInfo):
      case bytes_field(model_field::kFunctions):
      case bytes_field(model_field::kConfiguration):
        field.skip();
        break;
      default:
        return false;
    }
  }
  return has_graph && !walk.is_refused();
}

}  // namespace cleave
