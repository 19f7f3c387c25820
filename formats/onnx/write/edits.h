// Messages inside nodes and functions that do not come out as they stand in the model's file:
// tensors whose elements lie in another file, since the written files stand elsewhere; and nodes
// that spell the default domain "ai.onnx", since a function knows it by no other name than "".
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "formats/onnx/index/external.h"
#include "formats/onnx/index/model.h"

namespace cleave {

struct OnnxEdit {
  std::string_view payload;
  std::optional<ByteRange> elements;  // of a tensor; none: a node
};

class OnnxEdits {
 public:
  // Where the elements of an external tensor lie; nothing where that is a fault.
  using Finder = std::function<std::optional<ByteRange>(const OnnxTensor&)>;

  OnnxEdits() = default;
  OnnxEdits(const OnnxModel& model, const Finder& find);

  // True when some edit is of a message within these bytes. O(log edits).
  bool are_within(std::string_view bytes) const;
  // The edit of just this message, or null.
  const OnnxEdit* of(std::string_view payload) const;

 private:
  void add_node(const OnnxNode& node, const Finder& find);
  void add_attribute(const OnnxAttribute& attribute, const Finder& find);
  void add_tensor(const OnnxTensor& tensor, const Finder& find);
  std::vector<OnnxEdit>::const_iterator first_from(const char* begin) const;

  std::vector<OnnxEdit> edits_;  // by address
};

}  // namespace cleave
