#include "formats/report/words/notes.h"

#include "formats/base/text/diagnostic.h"
#include "formats/base/text/text_layout.h"

namespace cleave {

void write_notes(JsonText& json, std::span<const std::string> notes,
                 std::span<const std::string> first) {
  json.begin_list("notes");
  for (const std::string& note : first) json.text(note);
  for (const std::string& note : notes) json.text(note);
  json.end_list();
}

std::string notes_text(std::span<const std::string> notes) {
  std::string text;
  for (const std::string& note : notes) {
    text += (text.empty() ? "\n" : "") + wrapped("note: " + escaped(note), 0, 2);
  }
  return text;
}

}  // namespace cleave
