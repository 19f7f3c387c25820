// OnnxSource: the model as writers see it, something to copy from. Records are copied as they
// stand, but for the edits of onnx_edits.h.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/io/byte_pieces.h"
#include "formats/model/loaded_model.h"
#include "formats/onnx/index/external.h"
#include "formats/onnx/index/model.h"
#include "formats/onnx/write/edits.h"

namespace cleave {

// Where a tensor's elements lie, as another file refers to them.
struct OnnxLocation {
  std::string_view file;  // beside the file that refers to it
  std::uint64_t offset = 0;
};

// True of a field of a message that is not to be copied, by its number and payload.
using OnnxFieldTest = std::function<bool(std::uint32_t number, std::string_view payload)>;

class OnnxSource {
 public:
  // Looks up the external data of all tensors, also those inside nodes. `model` must outlive this.
  static Loaded<OnnxSource> open(const LoadedModel& model);

  std::span<const ByteSource> files() const { return files_; }

  // Bytes of the model's file, as they stand.
  void add_bytes(BytePieces& out, std::string_view bytes) const;
  // A record of the model's file, which is the field of that number.
  void add_record(BytePieces& out, std::uint32_t field, const OnnxRecord& record) const;
  // The message of a record as the given field, with `appended` behind its own fields: what
  // stands last in a protobuf message wins. Fields of bytes that `left_out` holds of are not there.
  void add_message(BytePieces& out, std::uint32_t field, std::string_view payload,
                   std::string_view appended = {}, const OnnxFieldTest& left_out = nullptr) const;

  // The elements of an initializer (index into the graph's) as raw bytes; nothing where they are
  // not to be had as such: strings, numbers in varints, sparse tensors.
  const std::optional<ByteRange>& elements(std::uint32_t initializer) const {
    return elements_[initializer];
  }
  // Bytes that an initializer takes when it is written with its elements inside.
  std::uint64_t size(std::uint32_t initializer) const;

  // Adds an initializer to a GraphProto. Yields where in `out` its elements() stand.
  std::optional<std::uint64_t> add_initializer(BytePieces& out, std::uint32_t initializer) const;
  // The same without its elements(), which lie in another file.
  void add_initializer_at(BytePieces& out, std::uint32_t initializer,
                          const OnnxLocation& location) const;
  // Adds a Constant node that makes the initializer, which is not sparse, as field `field` of a
  // graph or function.
  void add_constant_node(BytePieces& out, std::uint32_t field, std::uint32_t initializer) const;

 private:
  explicit OnnxSource(const LoadedModel& model);
  Diagnostics find_external_data(const LoadedModel& model);
  const OnnxTensor& tensor(std::uint32_t initializer) const;
  void add_fields(BytePieces& out, std::string_view payload, const OnnxFieldTest& left_out) const;
  std::uint64_t add_tensor_fields(BytePieces& out, std::string_view payload,
                                  const ByteRange& elements) const;

  std::string_view bytes_;  // of the model's file
  const OnnxModel* model_;
  std::vector<ByteSource> files_;  // the model's, then those of external data
  std::vector<std::optional<ByteRange>> elements_;
  OnnxEdits edits_;
};

}  // namespace cleave
