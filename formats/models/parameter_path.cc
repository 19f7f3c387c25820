#include "formats/models/parameter_path.h"

#include "formats/base/json/cursor.h"
#include "formats/models/pt2/model.h"

namespace cleave {
namespace {

// The text of the field "target" of a parameter in native JSON; "" if it has none.
std::string target_in(std::string_view declaration) {
  JsonCursor cursor(declaration);
  if (cursor.type() != JsonType::object) return {};
  cursor.enter();
  while (const auto key = cursor.next_key()) {
    if (key->text == "target" && cursor.type() == JsonType::string) {
      return unescaped(cursor.take_string());
    }
    cursor.skip();
  }
  return {};
}

std::string target_in(const Pt2Model& model, ValueId parameter) {
  const std::uint32_t input = model.program.values[model.value_numbers[parameter]].input;
  return input == kNoPt2 ? std::string() : std::string(model.program.inputs[input].target);
}

}  // namespace

std::string parameter_path(const LoadedModel& model, ValueId parameter) {
  std::string path;
  if (const Pt2Model* const program = model.pt2()) {
    path = target_in(*program, parameter);
  } else if (model.format() == ModelFormat::graph_json) {
    const SourceSpan span = model.graph.declaration(parameter);
    if (span.length > 0) path = target_in(model.source.bytes().substr(span.offset, span.length));
  }
  return path.empty() ? std::string(model.graph.value(parameter).name) : path;
}

}  // namespace cleave
