#include "formats/report/words/failed_part_text.h"

#include <array>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/decimal.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {

std::string alternatives_text(const std::vector<std::string>& alternatives) {
  std::string text;
  for (std::size_t i = 0; i < alternatives.size(); ++i) {
    if (i > 0) text += i + 1 == alternatives.size() ? " or " : ", ";
    text += alternatives[i];
  }
  return text;
}

std::string types_text(const TypeSet& types) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < unsigned{kDTypeCount}; ++i) {
    if ((types.dtypes >> i & 1U) != 0) names.emplace_back(dtype_name(static_cast<DType>(i)));
  }
  for (unsigned i = 0; i <= static_cast<unsigned>(ValueType::unknown); ++i) {
    if ((unsigned{types.value_types} >> i & 1U) != 0) {
      names.emplace_back(value_type_name(static_cast<ValueType>(i)));
    }
  }
  return names.empty() ? "nothing" : alternatives_text(names);
}

std::string found_type_text(ValueType type, DType dtype) {
  if (type == ValueType::unknown) return "of unknown type";
  if (type != ValueType::tensor) return "a " + std::string(value_type_name(type));
  return dtype == DType::unknown ? "of unknown dtype" : std::string(dtype_name(dtype));
}

std::string number_or_text(std::int64_t value) { return std::to_string(value); }

std::string number_or_text(double value) { return shortest_text(value); }

std::string number_or_text(const std::string& value) { return '"' + value + '"'; }

std::string literal_text(const Literal& value) {
  return std::visit([](const auto& held) { return number_or_text(held); }, value);
}

std::string literals_text(const std::vector<Literal>& list) {
  std::string text = "[";
  for (const Literal& item : list) {
    if (text.size() > 1) text += ", ";
    text += literal_text(item);
  }
  return text + "]";
}

std::string attribute_value_text(const AttributeValue& value) {
  if (const auto* const list = std::get_if<std::vector<Literal>>(&value)) {
    return literals_text(*list);
  }
  if (const auto* const real = std::get_if<double>(&value)) return number_or_text(*real);
  if (const auto* const text = std::get_if<std::string>(&value)) return number_or_text(*text);
  return number_or_text(std::get<std::int64_t>(value));
}

std::string rank_text(std::int64_t rank) { return "rank " + std::to_string(rank); }

std::string found_dim_text(const FoundDim& found) {
  std::string text = "unknown";
  if (!found.symbol.empty()) text = '"' + found.symbol + '"';
  if (found.size) text = std::to_string(*found.size);
  return text + " in dim " + std::to_string(found.axis);
}

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

std::string quantization_text(const QuantizationSet& wanted) {
  static constexpr std::array<std::string_view, 5> kWords = {
      "not quantised", "quantised per tensor", "quantised per axis", "quantised in another way",
      "quantised symmetrically"};
  std::vector<std::string> ways;
  for (std::size_t i = 0; i < kWords.size(); ++i) {
    if (wanted.has(static_cast<QuantizationSet::Way>(i))) ways.emplace_back(kWords[i]);
  }
  std::string text = ways.empty() ? "quantised" : alternatives_text(ways);
  if (wanted.types != TypeSet{}) text += " to " + types_text(wanted.types);
  if (wanted.as_input_0) text += " to the type that input 0 is quantised to";
  return text;
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
std::string text_of(const FoundQuantization& found) {
  QuantizationSet as_set;
  as_set.add(static_cast<QuantizationSet::Way>(found.kind));
  const bool is_none = found.kind == Quantization::Kind::none;
  if (!is_none && found.stored != DType::unknown) as_set.types.add(found.stored);
  const bool is_shifted = !is_none && !found.is_symmetric;
  return quantization_text(as_set) + (is_shifted ? ", not symmetrically" : "");
}
std::string text_of(const FoundNoQuantization&) { return "of unknown quantisation"; }
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
    const bool is_batched = wanted.shape == InputShapeCondition::Shape::batched;
    return of_shape({blamed_input(), false}, is_batched ? "a known size in every dim but the first"
                                                        : "a known size in every dim");
  }
  FailedPartWords operator()(const ValuesCondition& wanted) const {
    return of_input(wanted.input, values_text(wanted));
  }
  FailedPartWords operator()(const LayoutCondition& wanted) const {
    return of_input(wanted.input, layouts_text(wanted.one_of));
  }
  FailedPartWords operator()(const QuantizedCondition& wanted) const {
    const bool is_output = blames_output() || wanted.of == QuantizedCondition::Of::output;
    const std::uint32_t position =
        is_missing() ? wanted.place.position : blamed_tensor(wanted.place.position);
    const std::string subject =
        is_output ? "output " + std::to_string(position) : input_text(position);
    return {subject, quantization_text(wanted.wanted), found_text(found_)};
  }
  FailedPartWords operator()(const AbsentAttributeCondition& wanted) const {
    const std::string what = "attribute " + wanted.name;
    if (wanted.wanted) return {what, "absent", "stated"};
    return {what, "stated", "absent"};
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
  bool blames_output() const {
    const auto* const one = std::get_if<FoundQuantization>(&found_);
    const auto* const unknown = std::get_if<FoundNoQuantization>(&found_);
    return (one != nullptr && one->is_output) || (unknown != nullptr && unknown->is_output);
  }
  std::uint32_t blamed_tensor(std::uint32_t otherwise) const {
    if (const auto* const one = std::get_if<FoundQuantization>(&found_)) return one->position;
    const auto* const unknown = std::get_if<FoundNoQuantization>(&found_);
    return unknown == nullptr ? otherwise : unknown->position;
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
  if (!wanted.why.empty()) {
    const bool has_values = failure.is_unknown || failure.is_comparison;
    return wanted.why + (has_values ? ": " + text_of(failure) : "");
  }
  if (failure.is_unknown) {
    const std::string unknown = text_of(failure);
    return failure.part == whole ? unknown : whole + " cannot be decided: " + unknown;
  }
  const std::string part = failure.part == whole ? std::string() : failure.part + ": ";
  const std::string values = failure.is_comparison ? text_of(failure) : "false";
  return (part.empty() ? whole + ": " : part) + values;
}

namespace {

// ---- attribute values ----

std::string wanted_text(const AttributeRule& rule) {
  if (rule.accepted.empty()) {
    if (!rule.max) return "at least " + number_or_text(rule.min.value_or(0));
    if (!rule.min) return "at most " + number_or_text(*rule.max);
    return number_or_text(*rule.min) + " to " + number_or_text(*rule.max);
  }
  std::vector<std::string> values;
  for (const AttributeValue& value : rule.accepted) values.push_back(attribute_value_text(value));
  return alternatives_text(values);
}

std::string found_text(const FailedAttribute& failed) {
  switch (failed.origin) {
    case ValueOrigin::stated:
      return attribute_value_text(*failed.value);
    case ValueOrigin::by_default:
      return attribute_value_text(*failed.value) + " by default";
    case ValueOrigin::opaque:
      return "not a number, string or list of these";
    case ValueOrigin::absent:
      break;
  }
  return "not given";
}

// ---- shapes ----

std::string in_dim(std::int64_t axis) { return " in dim " + std::to_string(axis); }

std::string text_of(const WantedInput&) { return "given"; }
std::string text_of(const WantedRank& wanted) { return rank_text(wanted.rank); }
std::string text_of(const WantedStatic&) { return "a known size in every dim"; }
std::string text_of(const WantedMaxDim& wanted) {
  return "at most " + std::to_string(wanted.most) + " in every dim";
}
std::string text_of(const WantedMultiple& wanted) {
  return "a multiple of " + std::to_string(wanted.factor) + in_dim(wanted.axis);
}

// ---- parts ----

FailedPartWords words(const FailedType& failed) {
  std::string subject;
  switch (failed.place) {
    case FailedType::Place::input:
      subject = "input " + std::to_string(failed.position);
      break;
    case FailedType::Place::output:
      subject = "output " + std::to_string(failed.position);
      break;
    case FailedType::Place::keyword:
      subject = "argument " + failed.keyword;
  }
  return {subject, types_text(failed.wanted), found_type_text(failed.type, failed.dtype)};
}

FailedPartWords words(const FailedAttribute& failed) {
  return {"attribute " + failed.wanted.name, wanted_text(failed.wanted), found_text(failed)};
}

FailedPartWords words(const FailedShape& failed) {
  const auto text = [](const auto& alternative) { return text_of(alternative); };
  const bool is_missing = std::holds_alternative<FoundNoInput>(failed.found);
  return {(is_missing ? "input " : "shape of input ") + std::to_string(failed.input),
          std::visit(text, failed.wanted), std::visit(text, failed.found)};
}

FailedPartWords words(const FailedOpset& failed) {
  const OpsetRule& wanted = failed.wanted;
  std::string expected = "the schema of " + std::to_string(wanted.lowest);
  if (!wanted.same_schema) {
    expected = std::to_string(wanted.lowest);
    if (wanted.highest != wanted.lowest) expected += " to " + std::to_string(wanted.highest);
  }
  std::string subject = failed.domain.empty() ? "opset" : "opset of " + failed.domain;
  if (failed.domain == "tflite") subject = "version of the operator";
  return {std::move(subject), expected,
          failed.found ? std::to_string(*failed.found) : "not stated by the model"};
}

// Empty when the part is no relation.
std::string relation_text(const FailedPart& part) {
  const auto* const unmet = std::get_if<UnmetCondition>(&part);
  if (unmet == nullptr) return {};
  const auto* const wanted = std::get_if<RelationCondition>(&unmet->wanted);
  if (wanted == nullptr) return {};
  return relation_failure_text(*wanted, std::get<RelationFailure>(unmet->found));
}

FailedPartWords words(const UnmetCondition& failed) { return condition_words(failed); }

}  // namespace

FailedPartWords words_of(const FailedPart& part) {
  return std::visit([](const auto& failed) { return words(failed); }, part);
}

std::string_view condition_name(const FailedPart& part) {
  // In the order of the alternatives of FailedPart and of Condition.
  static constexpr std::array<std::string_view, 4> kParts = {"type", "attribute", "shape", "opset"};
  static constexpr std::array<std::string_view, 14> kConditions = {
      "constant",   "given",       "outputs_used", "rank",   "max_rank", "dim",
      "inputs_all", "inputs_same", "input_shape",  "values", "layout",   "absent_attribute",
      "where",      "quantized"};
  static_assert(std::variant_size_v<Condition> == kConditions.size());
  const auto* const unmet = std::get_if<UnmetCondition>(&part);
  return unmet == nullptr ? kParts[part.index()] : kConditions[unmet->wanted.index()];
}

namespace {

constexpr std::uint32_t bits_of(std::initializer_list<DType> dtypes) {
  std::uint32_t bits = 0;
  for (const DType dtype : dtypes) bits |= 1U << static_cast<unsigned>(dtype);
  return bits;
}
constexpr std::uint32_t kFloats =
    bits_of({DType::float16, DType::float32, DType::float64, DType::bfloat16});
constexpr std::uint32_t kQuantised = bits_of({DType::int8, DType::uint8, DType::int16});

std::string part_text(const FailedPart& part) {
  if (const std::string relation = relation_text(part); !relation.empty()) return escaped(relation);
  const FailedPartWords words = words_of(part);
  return escaped(words.subject) + " is " + escaped(words.actual) + ", wants " +
         escaped(words.expected);
}

}  // namespace

std::string quantised_model_text(const std::vector<FailedPart>& parts) {
  for (const FailedPart& part : parts) {
    const auto* const failed = std::get_if<FailedType>(&part);
    if (failed == nullptr || failed->type != ValueType::tensor) continue;
    const std::uint32_t found = bits_of({failed->dtype}), wanted = failed->wanted.dtypes;
    if ((found & kFloats) != 0 && (wanted & kQuantised) != 0 && (wanted & kFloats) == 0) {
      return part_text(part) + ": quantise it";
    }
    if ((found & kQuantised) != 0 && (wanted & kFloats) != 0 && (wanted & ~kFloats) == 0) {
      return part_text(part) + ": quantised models are refused";
    }
  }
  return {};
}

std::string failed_parts_text(const std::vector<FailedPart>& parts) {
  std::string text;
  for (const FailedPart& part : parts) {
    text += (text.empty() ? "" : "; ") + part_text(part);
  }
  return text;
}

}  // namespace cleave
