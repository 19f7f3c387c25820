#include "formats/models/onnx/index/message_fields.h"

#include <protozero/pbf_reader.hpp>

namespace cleave {

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

}  // namespace cleave
