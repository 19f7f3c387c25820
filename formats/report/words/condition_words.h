// Words that sentences on conditions are made of: alternatives, types, values, dims. Not escaped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/condition/found.h"
#include "core/condition/type_set.h"
#include "core/graph/attribute.h"
#include "core/graph/dtype.h"

namespace cleave {

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

}  // namespace cleave
