#include "formats/models/onnx/index/fields.h"

#include <protozero/exception.hpp>
#include <protozero/pbf_reader.hpp>
#include <protozero/varint.hpp>

#include <cstring>

#include "formats/base/text/diagnostic.h"
#include "formats/base/text/utf8.h"

namespace cleave {

void refuse_beyond_limit(OnnxWalk& walk, std::string_view whose,
                         std::uint64_t ModelLimits::*limit) {
  const std::string place = walk.at == nullptr || walk.begin == nullptr
                                ? ""
                                : " at byte " + std::to_string(walk.at - walk.begin);
  walk.refuse(std::string(whose) + place + " has " + beyond_limit(walk.limits, limit));
}

OnnxDeeper::OnnxDeeper(OnnxWalk& walk) : walk_(walk) {
  const std::uint64_t asked = walk_.limits.depth;
  if (walk_.depth >= kMaxDepth && asked >= kMaxDepth) {
    walk_.refuse("nested deeper than " + std::to_string(kMaxDepth) +
                 " messages, the most that protobuf reads");
  } else if (walk_.depth >= asked) {
    walk_.refuse("nested deeper than " + std::to_string(asked) + " messages; " +
                 limit_hint(&ModelLimits::depth));
  }
  ++walk_.depth;
}

void OnnxFields::refuse(std::string message) {
  walk_.refuse(std::move(message));
  at_ = end_;
}

void OnnxFields::refuse_damage(const char* what_happened) {
  refuse(std::string("truncated or damaged: ") + what_ + " " + what_happened + " at byte " +
         std::to_string(walk_.at - walk_.begin));
}

std::uint64_t OnnxFields::long_varint() {
  try {
    return protozero::decode_varint(&at_, end_);
  } catch (const protozero::end_of_buffer_exception&) {
    refuse_damage("ends early");
  } catch (const protozero::exception&) {
    refuse_damage("has bytes that are not protobuf");
  }
  return 0;
}

template <class Real>
Real OnnxFields::fixed() {
  Real out = 0;
  const std::string_view bytes = take(sizeof out);
  std::memcpy(&out, bytes.data(), bytes.size());
  return out;
}

float OnnxFields::real() { return fixed<float>(); }
double OnnxFields::double_real() { return fixed<double>(); }

void OnnxFields::refuse_long(std::uint64_t size) {
  if (size > static_cast<std::uint64_t>(end_ - at_)) return refuse_damage("ends early");
  refuse(std::string(what_) + " has a field of " + std::to_string(size) +
         " bytes; above 4 GiB none is read: keep the weights of such a model as "
         "external data");
}

std::string_view OnnxFields::name() {
  const std::string_view name = text();
  if (name.size() > walk_.limits.name_bytes) {
    refuse_beyond_limit(walk_, "a name", &ModelLimits::name_bytes);
  } else if (walk_.is_first() && first_invalid_utf8(name) != std::string_view::npos) {
    note_odd_name(name);
  }
  return name;
}

void OnnxFields::note_odd_name(std::string_view name) {
  if (walk_.limits.names == NameBytes::utf8) {
    refuse("a name in " + std::string(what_) + ", at byte " + std::to_string(start_ - walk_.begin) +
           ", is not UTF-8: " + escaped_in_quotes(name) +
           "; --limit utf8=lenient reads such names, other tools may not");
  } else if (++walk_.odd_names == 1) {
    walk_.first_odd_name = name;
  }
}

void OnnxFields::append_packed(std::vector<std::int64_t>& out) {
  const char* end_of_message = end_;
  const std::string_view packed = text();
  at_ = packed.data();
  end_ = at_ + packed.size();
  while (at_ != end_) out.push_back(number());
  end_ = end_of_message;
}

std::vector<MessageField> message_fields(std::string_view message) {
  std::vector<MessageField> fields;
  protozero::pbf_reader reader(message.data(), message.size());
  const char* begin = message.data();
  while (reader.next()) {
    MessageField field{reader.tag(), {}, {}};
    if (reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
      const protozero::data_view payload = reader.get_view();
      field.payload = {payload.data(), payload.size()};
    } else {
      reader.skip();
    }
    const char* const end = message.data() + message.size() - reader.length();
    field.bytes = {begin, static_cast<std::size_t>(end - begin)};
    begin = end;
    fields.push_back(field);
  }
  return fields;
}

std::string_view field_of(std::string_view message, std::uint32_t number) {
  for (const MessageField& field : message_fields(message)) {
    if (field.number == number) return field.payload;
  }
  return {};
}

}  // namespace cleave
