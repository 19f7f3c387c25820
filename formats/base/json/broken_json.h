// Where a text stops being JSON: slow, exact searches in texts that simdjson's first stage refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cleave {

// The first control character inside quotes, or the quote that is not closed.
struct StringFault {
  std::uint64_t offset;
  bool is_unclosed;
};
std::optional<StringFault> find_string_fault(std::string_view text);

// The innermost list item of the outermost object that contains the byte at `offset`: "nodes[17]",
// "inputs[0]"; "the graph" when it is in no list. The text before must be JSON.
std::string json_holder_of(std::string_view text, std::uint64_t offset);

// The text between the quotes around `offset`; ends sensibly when the closing quote is missing.
std::string_view json_string_around(std::string_view text, std::uint64_t offset);

}  // namespace cleave
