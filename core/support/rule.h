// A rule of a support list: the op that it is for and the conditions on a node of that op.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/condition/condition.h"
#include "core/condition/type_set.h"
#include "core/graph/attribute.h"
#include "core/graph/graph.h"

namespace cleave {

struct AttributeRule {
  std::string name;
  std::vector<AttributeValue> accepted;  // one of these; empty: see the range
  std::optional<double> min, max;        // for numbers
  bool operator==(const AttributeRule&) const = default;
};

struct ShapeRule {
  std::uint32_t input = 0;
  bool if_given = false;  // holds where the node has no such input; else it fails there
  std::optional<std::int64_t> rank;
  bool is_static = false;  // every dim known
  std::optional<std::int64_t> max_dim;
  std::vector<std::pair<std::int64_t, std::int64_t>> multiple_of;  // axis (may be negative), factor
  bool operator==(const ShapeRule&) const = default;
};

struct OpsetRule {
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  // Instead of a range: opset `lowest`, or any opset in which the op's schema version is the same.
  bool same_schema = false;
  bool operator==(const OpsetRule&) const = default;
};

struct Rule {
  std::string op;  // exact, or a glob with * and ?; empty in a deny rule: any op of any domain
  std::string domain;
  std::optional<OpsetRule> opset;
  std::vector<MaybeTypes> inputs, outputs;  // by position
  std::vector<std::pair<std::string, TypeSet>> kwargs;
  std::vector<AttributeRule> attributes;
  std::vector<ShapeRule> shapes;
  std::vector<Condition> conditions;  // beyond those above
  std::string node_name;              // glob on node names; empty: any
  bool is_exact_name = false;         // `node_name` is not a glob, whatever it holds
  // deny only: an input (other than a parameter that FX reads) has one of these types
  MaybeTypes input_dtype;
  std::string why;
  std::string unchecked;   // allow only: what the vendor asks for and this rule does not test
  std::uint32_t line = 0;  // position of the rule in its file, from 1; 0 when unknown
  std::uint32_t column = 0;
  bool operator==(const Rule&) const = default;
};

}  // namespace cleave
