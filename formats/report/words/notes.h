// The notes of a report: what its reader should know beside the numbers.
#pragma once

#include <span>
#include <string>

#include "formats/json/text.h"

namespace cleave {

// The field "notes". `first` come before the others.
void write_notes(JsonText& json, std::span<const std::string> notes,
                 std::span<const std::string> first = {});

// A blank line, then `note: ...` for each, wrapped; "" where there are none.
std::string notes_text(std::span<const std::string> notes);

}  // namespace cleave
