// Writes the notes of a report, which its reader should know besides the numbers.
#pragma once

#include <span>
#include <string>

#include "formats/base/json/text.h"

namespace cleave {

// Writes the field "notes". The notes in `first` come before the others.
void write_notes(JsonText& json, std::span<const std::string> notes,
                 std::span<const std::string> first = {});

// A blank line, then `note: ...` for each, wrapped; "" if there are none.
std::string notes_text(std::span<const std::string> notes);

}  // namespace cleave
