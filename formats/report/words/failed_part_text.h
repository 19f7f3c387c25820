// Failed conditions as text: what about the node, its value, and the value that the rule wants; and the
// words that such sentences are made of: alternatives, types, values, dims, which are not escaped.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/condition/condition.h"
#include "core/condition/condition_check.h"
#include "core/graph/attribute.h"
#include "core/graph/dtype.h"
#include "core/support/rule_check.h"

namespace cleave {

// Not escaped: names are as in the model and the list.
struct FailedPartWords {
  std::string subject;   // "input 2", "attribute group", "opset"
  std::string expected;  // "float32 or float16", "1", "rank 4"
  std::string actual;    // "int64", "32 by default", "rank 3", "not given"
};

// "a, b or c"
std::string alternatives_text(const std::vector<std::string>& alternatives);

// "float32 or float16"; "nothing" for an empty set.
std::string types_text(const TypeSet& types);

// "int64", "a tuple", "of unknown dtype"
std::string found_type_text(ValueType type, DType dtype);

// "3", "0.5", "\"linear\"", "[1, 1]"
std::string number_or_text(std::int64_t value);
std::string number_or_text(double value);
std::string number_or_text(const std::string& value);
std::string literal_text(const Literal& value);
std::string literals_text(const std::vector<Literal>& list);
std::string attribute_value_text(const AttributeValue& value);

// "rank 4"
std::string rank_text(std::int64_t rank);

// "8 in dim 1", "\"N\" in dim 0", "unknown in dim -1"
std::string found_dim_text(const FoundDim& found);

// Says what about the node fails, what the rule wants, and what the node has. For a relation these
// are its text, "true", and the values of both sides.
FailedPartWords condition_words(const UnmetCondition& unmet);

// `attr.group == in[0].dim[1]: 32 == 64` for a relation that does not hold; `attr.group ==
// in[0].dim[1] cannot be decided: in[0].dim[1] is unknown` for one that cannot be decided. A relation that
// the list has words for is said in these: `Batch must be 1: 2 == 1`.
std::string relation_failure_text(const RelationCondition& wanted, const RelationFailure& failure);

FailedPartWords words_of(const FailedPart& part);

// Which kind of condition it is, as JSON names it: "type", "attribute", "shape", "opset", "constant",
// "values", "where", ...
std::string_view condition_name(const FailedPart& part);

// `input 0 is float32, wants int8 or int16: quantise it`, where the type says that the node is of a model
// that is not quantised, or that is: what else fails follows from that. Empty where no type does.
std::string quantised_model_text(const std::vector<FailedPart>& parts);

// `attribute group is 32, wants 1; input 0 is int64, wants float32`; escaped.
std::string failed_parts_text(const std::vector<FailedPart>& parts);

}  // namespace cleave
