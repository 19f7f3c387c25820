// The wire format under ONNX files: the fields of one message at a time, as views of the bytes. The
// one place that includes protozero.
//
// A walk throws what protozero throws (damaged bytes) and OnnxRefused (what cleave does not read);
// index_onnx and the other entry points turn both into diagnostics.
#pragma once

#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "formats/onnx_model.h"

namespace cleave {

struct OnnxRefused {
  std::string message;
};

// Where a walk over a file is, for the message when it comes to grief.
struct OnnxWalk {
  const char* what = "the model";  // the message whose field is being read
  const char* at = nullptr;        // the start of that field
  int depth = 0;
};

// One message deeper, for as long as this lives. Counts as protobuf itself does: a graph in a
// node's attribute is three deeper than the node's graph.
class OnnxDeeper {
 public:
  static constexpr int kMaxDepth = 100;
  explicit OnnxDeeper(OnnxWalk& walk) : walk_(walk) {
    if (walk_.depth == kMaxDepth) {
      throw OnnxRefused{"nested deeper than " + std::to_string(kMaxDepth) +
                        " messages, the most that protobuf reads"};
    }
    ++walk_.depth;
  }
  ~OnnxDeeper() { --walk_.depth; }
  OnnxDeeper(const OnnxDeeper&) = delete;
  OnnxDeeper& operator=(const OnnxDeeper&) = delete;

 private:
  OnnxWalk& walk_;
};

// A field's key: its number and its wire type in one.
constexpr std::uint32_t bytes_field(std::uint32_t number) {
  return protozero::tag_and_type(number, protozero::pbf_wire_type::length_delimited);
}
constexpr std::uint32_t varint_field(std::uint32_t number) {
  return protozero::tag_and_type(number, protozero::pbf_wire_type::varint);
}
constexpr std::uint32_t float_field(std::uint32_t number) {
  return protozero::tag_and_type(number, protozero::pbf_wire_type::fixed32);
}

// The fields of one message, in file order.
class OnnxFields {
 public:
  OnnxFields(std::string_view payload, const char* what, OnnxWalk& walk)
      : reader_(payload.data(), payload.size()), what_(what), walk_(walk) {}

  bool next() {
    start_ = reader_.data().data();
    walk_.what = what_;
    walk_.at = start_;
    if (!reader_.next()) return false;
    if (has_bytes()) check_length();
    return true;
  }

  // Of the current field. A getter may only be called where key() has shown the wire type.
  std::uint32_t key() const { return reader_.tag_and_type(); }
  std::uint32_t field_number() const { return reader_.tag(); }
  bool has_bytes() const {
    return reader_.wire_type() == protozero::pbf_wire_type::length_delimited;
  }
  void skip() { reader_.skip(); }
  std::int64_t number() { return reader_.get_int64(); }
  // Of type int32 or enum: what does not fit loses its upper bits, as in protobuf.
  std::int32_t number32() { return reader_.get_int32(); }
  float real() { return reader_.get_float(); }
  std::string_view text() {
    const protozero::data_view view = reader_.get_view();
    return {view.data(), view.size()};
  }
  OnnxRecord record() {
    const std::string_view payload = text();
    const char* end = payload.data() + payload.size();
    return {payload, {start_, static_cast<std::size_t>(end - start_)}};
  }
  void append_packed(std::vector<std::int64_t>& out) {
    for (const std::int64_t n : reader_.get_packed_int64()) out.push_back(n);
  }

 private:
  // protozero cuts a length to its lower 32 bits.
  void check_length() const {
    const char* at = reader_.data().data();
    const char* end = at + reader_.data().size();
    const std::uint64_t length = protozero::decode_varint(&at, end);
    if (length <= UINT32_MAX) return;
    throw OnnxRefused{std::string(what_) + " has a field of " + std::to_string(length) +
                      " bytes; above 4 GiB none is read: keep the weights of such a model as "
                      "external data"};
  }

  protozero::pbf_reader reader_;
  const char* what_;
  const char* start_ = nullptr;
  OnnxWalk& walk_;
};

// An attribute's or initializer's TensorProto or SparseTensorProto. Steps over the elements.
OnnxTensor index_onnx_tensor(OnnxRecord record, OnnxWalk& walk);
OnnxTensor index_onnx_sparse_tensor(OnnxRecord record, OnnxWalk& walk);
// A StringStringEntryProto.
OnnxKeyValue index_onnx_key_value(std::string_view payload, OnnxWalk& walk);

}  // namespace cleave
