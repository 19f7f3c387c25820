// Messages inside nodes and functions that cannot be copied unchanged: tensors whose elements are
// in another file, since the written files are elsewhere; and nodes that write the default domain
// as "ai.onnx", since in a function only "" works.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "formats/models/onnx/index/external.h"
#include "formats/models/onnx/index/model.h"

namespace cleave {

struct OnnxEdit {
  std::string_view payload;
  std::optional<ByteRange> elements;  // of a tensor; nullopt: a node
};

class OnnxEdits {
 public:
  // Finds the elements of an external tensor; nullopt on a fault.
  using Finder = std::function<std::optional<ByteRange>(const OnnxTensor&)>;

  OnnxEdits() = default;
  OnnxEdits(const OnnxModel& model, const Finder& find);

  // True when some edit is for a message within these bytes. O(log edits).
  bool are_within(std::string_view bytes) const;
  // The edit for exactly this message, or null.
  const OnnxEdit* of(std::string_view payload) const;

 private:
  void add_node(const OnnxNode& node, const Finder& find);
  void add_attribute(const OnnxAttribute& attribute, const Finder& find);
  void add_tensor(const OnnxTensor& tensor, const Finder& find);
  std::vector<OnnxEdit>::const_iterator first_from(const char* begin) const;

  std::vector<OnnxEdit> edits_;  // by address
};

}  // namespace cleave
