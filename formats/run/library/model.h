// Model: a model that was read, for programs that use cleave as a library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/base.h"
#include "formats/base/faults.h"

namespace cleave {

struct LoadedModel;  // formats/base/model.h

struct ReadOptions {
  std::vector<std::pair<std::string, std::int64_t>> dims = {};  // sizes of symbolic dims
  // shapes of inputs by name; -1 leaves a dim open, other negative numbers are refused
  std::vector<std::pair<std::string, std::vector<std::int64_t>>> input_shapes = {};
  // of inputs with one element: {"sr", "16000"}, {"scale", "0.5"}, {"is_last", "true"}
  std::vector<std::pair<std::string, std::string>> input_values = {};
  std::string signature = {};  // of a TensorFlow Lite model that has several; "": the first one
};

// Can be moved, also while a split refers to it. Keeps one file descriptor open.
class Model {
 public:
  // Reads a model of any format that cleave reads; the content decides. On error: all faults found,
  // at most 20.
  static Result<Model, Fault> read(const std::string& path, const ReadOptions& options = {});
  explicit Model(std::unique_ptr<LoadedModel> loaded);
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  std::string name() const;         // where the file has none: that of the file, "m" for m.pt2
  std::string_view format() const;  // "json", "onnx", "pt2", "tflite"
  std::size_t node_count() const;   // of the nodes that are split
  const Diagnostics& warnings() const;

  // For programs that also use cleave's other headers, which may change in any version.
  const LoadedModel& loaded() const { return *loaded_; }

 private:
  std::unique_ptr<LoadedModel> loaded_;
};

}  // namespace cleave
