// Failed conditions as text: what about the node, its value, and the value that the rule wants.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/support/failed_part.h"

namespace cleave {

// Not escaped: names are as in the model and the list.
struct FailedPartWords {
  std::string subject;   // "input 2", "attribute group", "opset"
  std::string expected;  // "float32 or float16", "1", "rank 4"
  std::string actual;    // "int64", "32 by default", "rank 3", "not given"
};
FailedPartWords words_of(const FailedPart& part);

// Which kind of condition it is, as JSON names it: "type", "attribute", "shape", "opset", "constant",
// "values", "where", ...
std::string_view condition_name(const FailedPart& part);

// `attribute group is 32, wants 1; input 0 is int64, wants float32`; escaped.
std::string failed_parts_text(const std::vector<FailedPart>& parts);

}  // namespace cleave
