// What every SARIF 2.1.0 file of ours has around its results: the tool, its rules, and a note on
// results that were left out.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "formats/base/json/text.h"

namespace cleave {

// What a code scanner shows for a kind of result. `help` says how to be rid of it.
struct SarifRule {
  std::string_view id, name, text, help;
};

// Begins the file up to its list of results, which follow as objects.
void begin_sarif(JsonText& json, std::span<const SarifRule> rules);

// Ends the list and the file, and says how many results were left out.
std::string end_sarif(JsonText&& json, std::size_t left_out);

// Writes a SARIF message: an object with a text.
void write_sarif_text(JsonText& json, std::string_view key, std::string_view text);

}  // namespace cleave
