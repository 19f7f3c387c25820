// The fields of one protobuf message as they are in the file, for code that copies or hashes most of
// a message and looks at little of it. OnnxFields reads values; this keeps bytes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace cleave {

struct MessageField {
  std::uint32_t number;
  std::string_view bytes;    // the whole field, with key and length
  std::string_view payload;  // of a length-delimited one; else empty
};

// In file order. Throws protozero::exception when the message is damaged.
std::vector<MessageField> message_fields(std::string_view message);

}  // namespace cleave
