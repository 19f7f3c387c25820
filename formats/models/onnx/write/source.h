// OnnxSource: the model as a source that writers copy from. Records are copied unchanged, except
// for OnnxEdits.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "formats/base/io/byte_pieces.h"
#include "formats/models/bind/loaded_model.h"
#include "formats/models/onnx/index/external.h"
#include "formats/models/onnx/index/model.h"

namespace cleave {

// Messages inside nodes and functions that cannot be copied unchanged: tensors whose elements are
// in another file, since the written files are elsewhere; and nodes that write the default domain
// as "ai.onnx", since in a function only "" works; and what bodies state of values with a dim that the
// user gave a size, which the value outside has then, too.
struct OnnxEdit {
  std::string_view payload;
  std::optional<ByteRange> elements;  // of a tensor; nullopt: a node, or a stated value
  std::string made = {};              // of a stated value: the new message
};

using OnnxDimSizes = std::unordered_map<std::string_view, std::int64_t>;

class OnnxEdits {
 public:
  // Finds the elements of an external tensor; nullopt on a fault.
  using Finder = std::function<std::optional<ByteRange>(const OnnxTensor&)>;

  OnnxEdits() = default;
  // `dims`: sizes by symbol.
  OnnxEdits(const OnnxModel& model, const OnnxDimSizes& dims, const Finder& find);

  // True when some edit is for a message within these bytes. O(log edits).
  bool are_within(std::string_view bytes) const;
  // The edit for exactly this message, or null.
  const OnnxEdit* of(std::string_view payload) const;

 private:
  void add_node(const OnnxNode& node, const Finder& find);
  void add_attribute(const OnnxAttribute& attribute, const Finder& find);
  void add_tensor(const OnnxTensor& tensor, const Finder& find);
  void add_stated(const OnnxValueInfo& value);
  std::vector<OnnxEdit>::const_iterator first_from(const char* begin) const;

  OnnxDimSizes dims_;
  std::vector<OnnxEdit> edits_;  // by address
};

// The position of a tensor's elements, as another file refers to it.
struct OnnxLocation {
  std::string_view file;  // relative to the file that refers to it
  std::uint64_t offset = 0;
};

// True for a field, by number and payload, that is not copied.
using OnnxFieldTest = std::function<bool(std::uint32_t number, std::string_view payload)>;

class OnnxSource {
 public:
  // Finds the external data of all tensors, also those inside nodes. `model` must outlive this.
  static Loaded<OnnxSource> open(const LoadedModel& model);

  std::span<const ByteSource> files() const { return files_; }

  // Adds bytes of the model's file, or of what folding made, unchanged.
  void add_bytes(BytePieces& out, std::string_view bytes) const;
  // Adds a record of the model's file that is the field with that number.
  void add_record(BytePieces& out, std::uint32_t field, const OnnxRecord& record) const;
  // Adds the message of a record as the given field, with `appended` after its own fields: in
  // protobuf the last one wins. Leaves out the fields for which `left_out` is true.
  void add_message(BytePieces& out, std::uint32_t field, std::string_view payload,
                   std::string_view appended = {}, const OnnxFieldTest& left_out = nullptr) const;

  // The elements of an initializer (index into the graph's) as raw bytes; nullopt if they are not
  // stored that way: strings, numbers in varints, sparse tensors.
  const std::optional<ByteRange>& elements(std::uint32_t initializer) const {
    return elements_[initializer];
  }
  // Bytes of an initializer written with its elements inside.
  std::uint64_t size(std::uint32_t initializer) const;

  // Adds an initializer to a GraphProto. Returns the offset of its elements() in `out`.
  std::optional<std::uint64_t> add_initializer(BytePieces& out, std::uint32_t initializer) const;
  // The same without its elements(), which are in another file.
  void add_initializer_at(BytePieces& out, std::uint32_t initializer,
                          const OnnxLocation& location) const;
  // Adds a Constant node for the initializer, which must not be sparse, as field `field` of a graph
  // or function.
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

// Weights that stay where they are (--weights reference): written files refer to the bytes in the
// model's own file, or in its files of external data, so that a split does not copy them.
//
// A runtime reads external data only from the folder of the file that refers to it, or below: not
// through "..", an absolute path or a link. So the output folder must contain the files of the
// weights: it is the model's own folder, or one above it.

// Weights of up to this many bytes are copied in any case, so that a tool that reads one file finds
// shapes and scales in it.
inline constexpr std::uint64_t kSmallReference = 1024;

// By file of `source`: its path relative to `folder`. Empty for a file without weights above
// kSmallReference bytes. Error: names the file outside `folder`, and the folder to give instead.
Result<std::vector<std::string>, std::string> onnx_references(const LoadedModel& model,
                                                              const OnnxSource& source,
                                                              const std::string& folder);

}  // namespace cleave
