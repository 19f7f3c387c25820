// Reads the fields of a rule for conditions beyond types, attributes, shapes and opset: constants
// and their values, layouts, quantisation, inputs given, outputs used, ranks, dims, relations. See
// core/condition/condition.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/condition/relation.h"
#include "core/support/support_list.h"
#include "formats/base/json/walk.h"

namespace cleave {

struct ConditionField {
  std::string_view name;
  void (*read)(JsonWalk& json, Rule& rule);
};

// "constant", "values", "layout", "quantized", "given", "outputs_used", "input_shape", "max_rank", "where".
std::span<const ConditionField> condition_fields();

// Reports what is wrong with a relation, which is the string at `start` of the file.
void report_relation(JsonWalk& json, std::size_t start, const std::string& text,
                     const RelationFault& fault);

// "inputs" as "same" or {"all": [dtypes], "same": true}.
void read_every_input(JsonWalk& json, Rule& rule);

// Fields of a shape rule: "rank" as a number, a list or a range; "dims" by axis.
void read_rank(JsonWalk& json, const InputPlace& input, ShapeRule& shape, Rule& rule);
void read_dims(JsonWalk& json, const InputPlace& input, Rule& rule);

// The input that a key names by number: "0", or "0?" for one that may be left out; nullopt for any
// other key.
std::optional<InputPlace> input_of_key(std::string_view key);

// The number that a key is: "0", "-1"; nullopt when it is not a number, or below `least`.
std::optional<std::int64_t> number_of_key(std::string_view key, std::int64_t least);

// A number, a string, or true or false as 1 and 0.
std::optional<Literal> take_literal(JsonWalk& json, const std::string& what);

}  // namespace cleave
