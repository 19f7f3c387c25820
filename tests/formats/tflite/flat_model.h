// TensorFlow Lite models made for tests, table by table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/base/files.h"
#include "formats/tflite/tflite.h"

namespace cleave {

inline constexpr std::uint8_t kFloat32 = 0, kInt32 = 2, kInt8 = 9, kResource = 13;

// One subgraph at a time: tensors and operators go to the one that was begun last.
class FlatModel {
 public:
  FlatModel();

  void begin_subgraph(std::string_view name);
  std::uint32_t buffer(std::string bytes);
  // Moves the tensor's data to bytes of a file beside the model, as external buffer `id`.
  void move_out(std::int32_t tensor, std::uint32_t id, std::string_view file, std::uint64_t offset,
                std::uint64_t length, std::string_view packing = {});
  std::int32_t tensor(std::string_view name, std::vector<std::int32_t> shape,
                      std::uint8_t type = kFloat32, std::uint32_t in_buffer = 0);
  // The table of the tensor, to be changed.
  OutTable& tensor_table(std::int32_t tensor);
  // Adds an operator; `code` is its number in the schema. Returns its table, to be changed.
  OutTable& op(std::uint32_t code, std::vector<std::int32_t> inputs,
               std::vector<std::int32_t> outputs);
  void set_ends(std::vector<std::int32_t> inputs, std::vector<std::int32_t> outputs);
  OutTable& root() { return root_; }

  std::string bytes();

 private:
  struct Subgraph {
    OutTable table;
    std::vector<OutTable> tensors, operators;
  };
  OutTable root_;
  std::vector<Subgraph> subgraphs_;
  std::vector<OutTable> buffers_, codes_, external_, files_;
  std::vector<std::uint32_t> code_numbers_;
};

// The bytes of the pieces, with ranges taken from `source`.
std::string bytes_of(const BytePieces& pieces, std::string_view source);

struct TfliteRead {
  SourceFile source;
  TfliteLoaded loaded;
  const TfliteModel& model() const { return *loaded.model; }
};

// Reads the bytes; the test fails where they are refused.
TfliteRead read_bytes(const std::string& bytes, const ShapeBindings& bindings = {});

// The first fault of reading the bytes; "" when they are read.
std::string fault_of_tflite(std::string_view bytes, const ModelLimits& limits = {});

// x -> CONV_2D with a constant weight -> conv -> RELU -> y.
FlatModel small_model();
// x and a variable that is set up to zeros; y = state + x is the new state.
FlatModel model_with_state();

}  // namespace cleave
