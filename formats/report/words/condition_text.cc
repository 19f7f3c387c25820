#include "formats/report/words/condition_text.h"

#include <utility>
#include <vector>

#include "formats/report/words/condition_words.h"

namespace cleave {
namespace {

// ---- what a rule wants ----

std::string range_text(const std::optional<std::string>& min,
                       const std::optional<std::string>& max) {
  if (min && max) return *min + " to " + *max;
  if (min) return "at least " + *min;
  return max ? "at most " + *max : std::string();
}

template <class Number>
std::optional<std::string> maybe_text(const std::optional<Number>& number) {
  if (!number) return std::nullopt;
  return number_or_text(*number);
}

void add_part(std::string& text, const std::string& part) {
  if (part.empty()) return;
  text += (text.empty() ? "" : ", ") + part;
}

std::string integer_rule_text(const IntegerRule& rule) {
  std::vector<std::string> numbers;
  for (const std::int64_t number : rule.one_of) numbers.push_back(std::to_string(number));
  std::string text = alternatives_text(numbers);
  add_part(text, range_text(maybe_text(rule.min), maybe_text(rule.max)));
  if (rule.multiple_of) add_part(text, "a multiple of " + std::to_string(*rule.multiple_of));
  return text;
}

std::string values_text(const ValuesCondition& wanted) {
  std::string text = wanted.list ? literals_text(*wanted.list) : std::string();
  std::vector<std::string> each;
  for (const Literal& literal : wanted.one_of) each.push_back(literal_text(literal));
  std::string of_each = alternatives_text(each);
  add_part(of_each, range_text(maybe_text(wanted.min), maybe_text(wanted.max)));
  if (wanted.power_of_two) add_part(of_each, "a power of two");
  if (wanted.finite) add_part(of_each, "finite");
  if (!of_each.empty()) add_part(text, of_each + " in every element");
  return text;
}

std::string layout_text(LayoutName name) {
  return std::string(kLayoutNames[static_cast<std::size_t>(name)]);
}

std::string layouts_text(LayoutSet layouts) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kLayoutNames.size(); ++i) {
    const auto name = static_cast<LayoutName>(i);
    if (layouts.contains(name)) names.push_back(layout_text(name));
  }
  return alternatives_text(names);
}

// ---- what the node has ----

std::string input_text(std::uint32_t input) { return "input " + std::to_string(input); }

std::string text_of(const FoundNoTensor& found) {
  return found_type_text(found.type, DType::unknown);
}
std::string text_of(const FoundNoRank&) { return "of unknown rank"; }
std::string text_of(const FoundRank& found) {
  return rank_text(static_cast<std::int64_t>(found.rank));
}
std::string text_of(const FoundDim& found) { return found_dim_text(found); }
std::string text_of(const FoundNoInput&) { return "not given"; }
std::string text_of(const FoundOpposite&) { return "the opposite"; }
std::string text_of(const FoundReaders&) { return "read"; }
std::string text_of(const FoundType& found) { return found_type_text(found.type, found.dtype); }
std::string text_of(const FoundTypes& found) {
  return found_type_text(found.first.type, found.first.dtype) + " at " +
         std::to_string(found.first.input) + " and " +
         found_type_text(found.other.type, found.other.dtype) + " at " +
         std::to_string(found.other.input);
}
std::string text_of(const FoundShapeOf& found) {
  return std::visit([](const auto& shape) { return text_of(shape); }, found.shape);
}
std::string text_of(const FoundAllKnown&) { return "known in every dim"; }
std::string text_of(const FoundWritten&) { return "written by the model"; }
std::string text_of(const FoundLayout& found) {
  for (const LayoutName name : {LayoutName::sparse, LayoutName::contiguous,
                                LayoutName::channels_last, LayoutName::channels_last_3d}) {
    if (found.layout.layouts.contains(name)) return layout_text(name);
  }
  std::string text;
  for (const auto& stride : found.layout.strides) {
    add_part(text, stride ? std::to_string(*stride) : "?");
  }
  return "of strides [" + text + "]";
}
std::string text_of(const FoundNoLayout&) { return "of unknown layout"; }
std::string text_of(const FoundVariable&) { return "no constant"; }
std::string text_of(const FoundNoElements&) { return "a constant whose elements are not read"; }
std::string text_of(const FoundCount& found) {
  return std::to_string(found.elements) + " elements";
}
std::string text_of(const FoundElement& found) {
  return literal_text(found.value) + " in element " + std::to_string(found.index);
}

std::string item_text(const RelationItem& item) {
  if (const auto* const integer = std::get_if<std::int64_t>(&item)) return number_or_text(*integer);
  if (const auto* const real = std::get_if<double>(&item)) return number_or_text(*real);
  if (const auto* const text = std::get_if<std::string>(&item)) return number_or_text(*text);
  return "unknown";
}

std::string relation_value_text(const RelationValue& value) {
  if (const auto* const items = std::get_if<std::vector<RelationItem>>(&value)) {
    std::string text = "[";
    for (const RelationItem& item : *items) text += (text.size() > 1 ? ", " : "") + item_text(item);
    return text + "]";
  }
  if (const auto* const integer = std::get_if<std::int64_t>(&value)) return item_text(*integer);
  if (const auto* const real = std::get_if<double>(&value)) return item_text(*real);
  if (const auto* const text = std::get_if<std::string>(&value)) return item_text(*text);
  return "unknown";
}

std::string text_of(const RelationFailure& failure) {
  if (failure.is_comparison && !failure.is_unknown) {
    return relation_value_text(failure.left) + " " + failure.sign + " " +
           relation_value_text(failure.right);
  }
  return failure.is_unknown ? failure.part + " is unknown" : "false";
}

std::string found_text(const FoundInstead& found) {
  return std::visit([](const auto& one) { return text_of(one); }, found);
}

// ---- subject and wish, by kind of condition ----

class Words {
 public:
  explicit Words(const FoundInstead& found) : found_(found) {}

  FailedPartWords operator()(const ConstantCondition& wanted) const {
    if (is_missing()) return of_input(wanted.input, "a constant");
    return {input_text(wanted.input.position), wanted.wanted ? "a constant" : "no constant",
            wanted.wanted ? opposite_of_constant() : "a constant"};
  }
  FailedPartWords operator()(const GivenCondition& wanted) const {
    return {input_text(wanted.input), wanted.wanted ? "given" : "left out",
            wanted.wanted ? "left out" : "given"};
  }
  FailedPartWords operator()(const OutputsUsedCondition& wanted) const {
    std::vector<std::string> outputs;
    for (const std::uint32_t output : wanted.outputs) outputs.push_back(std::to_string(output));
    const auto* const readers = std::get_if<FoundReaders>(&found_);
    return {
        "output " + std::to_string(readers == nullptr ? 0 : readers->output),
        outputs.empty() ? "no output read" : "only output " + alternatives_text(outputs) + " read",
        "read"};
  }
  FailedPartWords operator()(const RankCondition& wanted) const {
    return of_shape(wanted.input, "rank " + integer_rule_text(wanted.rank));
  }
  FailedPartWords operator()(const MaxRankCondition& wanted) const {
    return of_shape({blamed_input(), false}, "rank " + std::to_string(wanted.most) + " at most");
  }
  FailedPartWords operator()(const DimCondition& wanted) const {
    const std::string size = integer_rule_text(wanted.size);
    return of_shape(wanted.input, (size.empty() ? "a known size" : size) + " in dim " +
                                      std::to_string(wanted.axis));
  }
  FailedPartWords operator()(const EveryInputCondition& wanted) const {
    return {input_text(blamed_input()), types_text(wanted.types), found_text(found_)};
  }
  FailedPartWords operator()(const SameInputsCondition&) const {
    return {"the type of inputs", "the same for all", found_text(found_)};
  }
  FailedPartWords operator()(const InputShapeCondition& wanted) const {
    if (wanted.shape == InputShapeCondition::Shape::open) {
      return {"the shape of inputs", "an unknown dim", found_text(found_)};
    }
    return of_shape({blamed_input(), false}, "a known size in every dim");
  }
  FailedPartWords operator()(const ValuesCondition& wanted) const {
    return of_input(wanted.input, values_text(wanted));
  }
  FailedPartWords operator()(const LayoutCondition& wanted) const {
    return of_input(wanted.input, layouts_text(wanted.one_of));
  }
  FailedPartWords operator()(const AbsentAttributeCondition& wanted) const {
    return {"attribute " + wanted.name, "absent", "stated"};
  }
  FailedPartWords operator()(const RelationCondition& wanted) const {
    return {wanted.relation.text, "true", found_text(found_)};
  }

 private:
  std::string opposite_of_constant() const {
    const bool is_written = std::holds_alternative<FoundWritten>(found_);
    return is_written ? found_text(found_) : "no constant";
  }
  bool is_missing() const { return std::holds_alternative<FoundNoInput>(found_); }

  FailedPartWords of_input(const InputPlace& input, std::string wanted) const {
    return {input_text(input.position), std::move(wanted), found_text(found_)};
  }
  FailedPartWords of_shape(const InputPlace& input, std::string wanted) const {
    const std::string subject = is_missing() ? std::string() : "shape of ";
    return {subject + input_text(input.position), std::move(wanted), found_text(found_)};
  }
  std::uint32_t blamed_input() const {
    if (const auto* const type = std::get_if<FoundType>(&found_)) return type->input;
    const auto* const shape = std::get_if<FoundShapeOf>(&found_);
    return shape == nullptr ? 0 : shape->input;
  }

  const FoundInstead& found_;
};

}  // namespace

FailedPartWords condition_words(const UnmetCondition& unmet) {
  return std::visit(Words(unmet.found), unmet.wanted);
}

std::string relation_failure_text(const RelationCondition& wanted, const RelationFailure& failure) {
  const std::string& whole = wanted.relation.text;
  if (failure.is_unknown) return whole + " cannot be decided: " + text_of(failure);
  const std::string part = failure.part == whole ? std::string() : failure.part + ": ";
  const std::string values = failure.is_comparison ? text_of(failure) : "false";
  return (part.empty() ? whole + ": " : part) + values;
}

}  // namespace cleave
