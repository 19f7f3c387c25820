#include "formats/onnx/index/probe.h"

#include "formats/onnx/index/fields.h"

namespace cleave {

bool looks_like_onnx(std::string_view bytes) {
  constexpr int kFieldsToAsk = 64;
  OnnxWalk walk{.begin = bytes.data()};
  OnnxFields field(bytes, "the model", walk);
  bool has_graph = false;
  try {
    for (int i = 0; i < kFieldsToAsk && field.next(); ++i) {
      switch (field.key()) {
        case varint_field(1): {
          // The first field that every known writer puts down, with a small number.
          const std::int64_t ir_version = field.number();
          if (i == 0 && ir_version >= 0 && ir_version < 128) return true;
          break;
        }
        case bytes_field(7):
          has_graph = true;
          [[fallthrough]];
        case varint_field(5):
        case bytes_field(2):
        case bytes_field(3):
        case bytes_field(4):
        case bytes_field(6):
        case bytes_field(8):
        case bytes_field(14):
        case bytes_field(20):
        case bytes_field(25):
        case bytes_field(26):
          field.skip();
          break;
        default:
          return false;
      }
    }
  } catch (const OnnxRefused&) {
    return false;
  }
  return has_graph;
}

}  // namespace cleave
