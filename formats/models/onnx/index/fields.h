// The wire format of ONNX files: the fields of one protobuf message at a time, as views of the
// bytes. No bytes are copied, and every length is checked against the bytes present.
//
// Damage ends a walk: the first fault is noted in the OnnxWalk, and from then on each message of
// the walk is at its end and each value is 0 or empty. Code that starts a walk must check
// is_refused() after it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/base/text/limits.h"
#include "formats/models/onnx/index/field_numbers.h"
#include "formats/models/onnx/index/records.h"

namespace cleave {

// The position of a walk over a file, for the message when the file is damaged.
struct OnnxWalk {
  const char* begin = nullptr;     // of the file; null where only one record of it is walked
  const char* what = "the model";  // the message whose field is being read
  const char* at = nullptr;        // the start of that field
  std::uint64_t depth = 0;
  ModelLimits limits{.names = NameBytes::any};  // the index sets the user's
  std::uint64_t odd_names = 0;                  // names that are not UTF-8, where limits allow them
  std::string_view first_odd_name = {};
  std::string fault = {};  // the first fault; empty: none

  // Whether the walk is over the whole file, which is the first; later ones need not check names.
  bool is_first() const { return begin != nullptr; }
  bool is_refused() const { return !fault.empty(); }
  void refuse(std::string message) {
    if (fault.empty()) fault = std::move(message);
  }
};

// Refuses the file because `whose` exceeds a limit.
void refuse_beyond_limit(OnnxWalk& walk, std::string_view whose, std::uint64_t ModelLimits::*limit);

// Enters one more level of messages while it lives. Counts as protobuf does: a graph in a node's
// attribute is three levels deeper than the node's graph.
class OnnxDeeper {
 public:
  static constexpr std::uint64_t kMaxDepth = 100;
  explicit OnnxDeeper(OnnxWalk& walk);
  ~OnnxDeeper() { --walk_.depth; }
  OnnxDeeper(const OnnxDeeper&) = delete;
  OnnxDeeper& operator=(const OnnxDeeper&) = delete;

 private:
  OnnxWalk& walk_;
};

// A field's key as in the file: its number and its wire type combined.
constexpr std::uint32_t varint_field(std::uint32_t number) { return number << 3U; }
constexpr std::uint32_t bytes_field(std::uint32_t number) { return number << 3U | 2U; }
constexpr std::uint32_t double_field(std::uint32_t number) { return number << 3U | 1U; }
constexpr std::uint32_t float_field(std::uint32_t number) { return number << 3U | 5U; }

// The fields of one message, in file order. After next() has returned true, call skip() or the
// getter that fits the wire type of key(), once.
class OnnxFields {
 public:
  OnnxFields(std::string_view payload, const char* what, OnnxWalk& walk)
      : at_(payload.data()), end_(at_ + payload.size()), what_(what), walk_(walk) {}

  bool next() {
    start_ = at_;
    walk_.what = what_;
    walk_.at = start_;
    if (at_ == end_ || walk_.is_refused()) return false;
    const std::uint64_t key = varint();
    const std::uint64_t wire_type = key & 7U;
    const bool is_known = wire_type <= 2 || wire_type == 5;
    if (!is_known || key > UINT32_MAX || key >> 3U == 0) {
      refuse_damage("has bytes that are not protobuf");
      return false;
    }
    key_ = static_cast<std::uint32_t>(key);
    return true;
  }
  std::uint32_t key() const { return key_; }
  std::uint32_t field_number() const { return key_ >> 3U; }
  bool has_bytes() const { return (key_ & 7U) == 2U; }

  void skip() {
    switch (key_ & 7U) {
      case 0:
        varint();
        break;
      case 1:
        take(8);
        break;
      case 2:
        text();
        break;
      default:
        take(4);
        break;
    }
  }
  std::int64_t number() { return static_cast<std::int64_t>(varint()); }
  // For type int32 or enum: drops the upper bits of larger values, as protobuf does.
  std::int32_t number32() { return static_cast<std::int32_t>(number()); }
  float real();          // of a float_field
  double double_real();  // of a double_field
  std::string_view text() {
    const std::uint64_t size = varint();
    if (size > UINT32_MAX) {
      refuse_long(size);
      return {end_, 0};
    }
    return take(size);
  }
  // A text that is a name, and so subject to the limits: on its size, and on its bytes.
  std::string_view name();
  OnnxRecord record() {
    const std::string_view payload = text();
    return {payload, whole()};
  }
  // The whole field with key and length. Only after its value was taken or skipped.
  std::string_view whole() const { return {start_, static_cast<std::size_t>(at_ - start_)}; }
  // Appends varints that are packed in one bytes field.
  void append_packed(std::vector<std::int64_t>& out);

 private:
  // Nearly all are keys and lengths of one byte.
  std::uint64_t varint() {
    if (at_ == end_ || static_cast<unsigned char>(*at_) >= 0x80) return long_varint();
    return static_cast<unsigned char>(*at_++);
  }
  std::uint64_t long_varint();
  template <class Real>
  Real fixed();
  std::string_view take(std::size_t size) {
    if (size > static_cast<std::size_t>(end_ - at_)) {
      refuse_damage("ends early");
      return {end_, 0};
    }
    const std::string_view taken(at_, size);
    at_ += size;
    return taken;
  }
  void refuse_long(std::uint64_t size);
  void refuse(std::string message);  // ends this message, too
  void refuse_damage(const char* what_happened);
  void note_odd_name(std::string_view name);

  const char* at_;
  const char* end_;
  const char* start_ = nullptr;  // of the current field
  std::uint32_t key_ = 0;
  const char* what_;
  OnnxWalk& walk_;
};

// Indexes a TensorProto or SparseTensorProto of an attribute or initializer. Skips the elements;
// checks the dims against the limits.
OnnxTensor index_onnx_tensor(OnnxRecord record, OnnxWalk& walk);
OnnxTensor index_onnx_sparse_tensor(OnnxRecord record, OnnxWalk& walk);
// Takes a field of a NodeProto unless it is an attribute; returns false if the field must still be
// taken.
bool index_onnx_node_field(OnnxFields& field, OnnxNode& out, OnnxWalk& walk);
// The same for an AttributeProto, unless the field is a graph.
bool index_onnx_attribute_field(OnnxFields& field, OnnxAttribute& out, OnnxWalk& walk);
// The AttributeProto.AttributeType whose value is in the field with this number; 0: not a value.
std::int32_t onnx_attribute_type(std::uint32_t field_number);
// Indexes a StringStringEntryProto.
OnnxKeyValue index_onnx_key_value(std::string_view payload, OnnxWalk& walk);

// The fields of one protobuf message as they are in the file, for code that copies or hashes most of
// a message and looks at little of it. OnnxFields reads values; this keeps bytes.
struct MessageField {
  std::uint32_t number;
  std::string_view bytes;    // the whole field, with key and length
  std::string_view payload;  // of a length-delimited one; else empty
};

// In file order. Throws protozero::exception when the message is damaged.
std::vector<MessageField> message_fields(std::string_view message);
// The payload of the first field with that number; empty if the message has none.
std::string_view field_of(std::string_view message, std::uint32_t number);

}  // namespace cleave
