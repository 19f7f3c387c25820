#include "core/support/rule_cover.h"

#include <algorithm>

#include "core/graph/domain.h"
#include "core/support/glob.h"

namespace cleave {
namespace {

// Whether the pattern matches everything that the other one matches. A star of the narrow pattern
// must be matched by a star of the wide one: it is read as a character, which a star or ? matches.
bool covers_glob(const std::string& wide, const std::string& narrow) {
  if (wide.empty() || wide == narrow || wide == "*") return true;
  if (narrow.empty() || !is_glob(wide)) return false;
  if (is_glob(narrow) && wide.find('?') != wide.npos) return false;
  return glob_match(wide, narrow);
}

bool is_subset(const TypeSet& narrow, const TypeSet& wide) {
  return (narrow.dtypes & ~wide.dtypes) == 0 &&
         (unsigned{narrow.value_types} & ~unsigned{wide.value_types}) == 0;
}

bool covers_types(const MaybeTypes& wide, const MaybeTypes& narrow) {
  return !wide || (narrow && is_subset(*narrow, *wide));
}

bool covers_positions(const std::vector<MaybeTypes>& wide, const std::vector<MaybeTypes>& narrow) {
  for (std::size_t i = 0; i < wide.size(); ++i) {
    if (!covers_types(wide[i], i < narrow.size() ? narrow[i] : MaybeTypes())) return false;
  }
  return true;
}

bool covers_kwargs(const Rule& wide, const Rule& narrow) {
  return std::all_of(wide.kwargs.begin(), wide.kwargs.end(), [&](const auto& condition) {
    return std::any_of(narrow.kwargs.begin(), narrow.kwargs.end(), [&](const auto& other) {
      return other.first == condition.first && is_subset(other.second, condition.second);
    });
  });
}

std::optional<double> number_of(const AttributeValue& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

bool is_in_range(const AttributeValue& value, const AttributeRule& range) {
  const auto number = number_of(value);
  return number && (!range.min || *number >= *range.min) && (!range.max || *number <= *range.max);
}

bool covers_attribute(const AttributeRule& wide, const AttributeRule& narrow) {
  if (wide.name != narrow.name) return false;
  if (narrow.accepted.empty()) {
    if (!wide.accepted.empty()) return false;
    return (!wide.min || (narrow.min && *narrow.min >= *wide.min)) &&
           (!wide.max || (narrow.max && *narrow.max <= *wide.max));
  }
  return std::all_of(
      narrow.accepted.begin(), narrow.accepted.end(), [&](const AttributeValue& value) {
        if (wide.accepted.empty()) return is_in_range(value, wide);
        return std::find(wide.accepted.begin(), wide.accepted.end(), value) != wide.accepted.end();
      });
}

bool covers_shape(const ShapeRule& wide, const ShapeRule& narrow) {
  if (wide.input != narrow.input) return false;
  if (wide.rank && wide.rank != narrow.rank) return false;
  if (wide.is_static && !narrow.is_static) return false;
  if (wide.max_dim && (!narrow.max_dim || *narrow.max_dim > *wide.max_dim)) return false;
  return std::all_of(wide.multiple_of.begin(), wide.multiple_of.end(), [&](const auto& multiple) {
    return std::any_of(
        narrow.multiple_of.begin(), narrow.multiple_of.end(), [&](const auto& other) {
          return other.first == multiple.first && other.second % multiple.second == 0;
        });
  });
}

bool covers_opset(const Rule& wide, const Rule& narrow) {
  if (!wide.opset) return true;
  if (!narrow.opset || wide.opset->same_schema != narrow.opset->same_schema) return false;
  if (wide.opset->same_schema) return wide.opset->lowest == narrow.opset->lowest;
  return wide.opset->lowest <= narrow.opset->lowest && wide.opset->highest >= narrow.opset->highest;
}

// Whether each condition of the wide rule follows from one of the narrow rule.
template <class Conditions, class Covers>
bool all_covered(const Conditions& wide, const Conditions& narrow, Covers covers_one) {
  return std::all_of(wide.begin(), wide.end(), [&](const auto& condition) {
    return std::any_of(narrow.begin(), narrow.end(),
                       [&](const auto& other) { return covers_one(condition, other); });
  });
}

}  // namespace

bool covers(const Rule& wide, const Rule& narrow) {
  const bool any_op = wide.op.empty();
  if (!any_op && plain_domain(wide.domain) != plain_domain(narrow.domain)) return false;
  if (!covers_glob(wide.op, narrow.op) || !covers_glob(wide.node_name, narrow.node_name)) {
    return false;
  }
  return covers_types(wide.input_dtype, narrow.input_dtype) && covers_opset(wide, narrow) &&
         covers_positions(wide.inputs, narrow.inputs) &&
         covers_positions(wide.outputs, narrow.outputs) && covers_kwargs(wide, narrow) &&
         all_covered(wide.attributes, narrow.attributes, covers_attribute) &&
         all_covered(wide.shapes, narrow.shapes, covers_shape);
}

}  // namespace cleave
