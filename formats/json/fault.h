// Where a text stops being JSON: slow and exact looks at texts that simdjson's first stage refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cleave {

// The first control character inside quotes, or the quote that is never closed.
struct StringFault {
  std::uint64_t offset;
  bool is_unclosed;
};
std::optional<StringFault> find_string_fault(std::string_view text);

// What holds the byte at `offset`: "nodes[17]", "inputs[0]", or "the graph" when it is in no list
// of the outermost object. The text before must be JSON.
std::string json_holder_of(std::string_view text, std::uint64_t offset);

// The text between the quotes around `offset`, without what follows a quote that is missing.
std::string_view json_string_around(std::string_view text, std::uint64_t offset);

}  // namespace cleave
