// Each reader below knows one form of sentence. It gets the words of the sentence as written and in
// small letters.
#include "formats/lists/import/operator_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "core/base/white_space.h"
#include "core/condition/relation.h"
#include "formats/lists/import/table_text.h"

namespace cleave {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lower_text(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

bool is_word_char(char c) {
  const char small = lower(c);
  return (small >= 'a' && small <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// True where the sentence has a minus sign right before a number.
bool is_sign(std::string_view sentence, std::size_t at) {
  return sentence[at] == '-' && (at == 0 || !is_word_char(sentence[at - 1])) &&
         at + 1 < sentence.size() && is_digit(sentence[at + 1]);
}

// A sentence with other characters, such as those of "> 2", "!= 1" and "~64", says something that
// no reader knows.
bool has_strange_character(std::string_view sentence) {
  for (std::size_t at = 0; at < sentence.size(); ++at) {
    const char c = sentence[at];
    if (is_word_char(c) || std::string_view(" \t,/`'\".:;()").find(c) != std::string_view::npos) {
      continue;
    }
    const bool is_hyphen = c == '-' && at > 0 && at + 1 < sentence.size() &&
                           is_word_char(sentence[at - 1]) && !is_digit(sentence[at - 1]) &&
                           is_word_char(sentence[at + 1]) && !is_digit(sentence[at + 1]);
    if (!is_hyphen && !is_sign(sentence, at)) return true;
  }
  return false;
}

// The words of a sentence; a number has its sign.
struct Words {
  std::vector<std::string> as_written, small;

  explicit Words(std::string_view sentence) {
    for (std::size_t at = 0; at < sentence.size();) {
      if (!is_word_char(sentence[at]) && !is_sign(sentence, at)) {
        ++at;
        continue;
      }
      std::size_t end = at + 1;
      while (end < sentence.size() && is_word_char(sentence[end])) ++end;
      as_written.emplace_back(sentence.substr(at, end - at));
      small.push_back(lower_text(as_written.back()));
      at = end;
    }
  }

  bool has(std::string_view word) const {
    return std::find(small.begin(), small.end(), word) != small.end();
  }
  bool has_any(std::initializer_list<std::string_view> words) const {
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return has(word); });
  }
  std::size_t place_of(std::string_view word) const {
    return static_cast<std::size_t>(std::find(small.begin(), small.end(), word) - small.begin());
  }
};

bool has_negation(const Words& words) {
  return words.has_any({"not", "unsupported", "cannot", "no", "except", "if", "when", "unless"});
}

// ---- names ----

// The input that the word names: as the schema spells it, or as people call it.
std::optional<std::uint32_t> input_named(const std::string& word, const OnnxOpNames& op) {
  const auto find = [&](std::string_view name) -> std::optional<std::uint32_t> {
    for (std::uint32_t i = 0; i < op.input_formals.size(); ++i) {
      if (lower_text(op.input_formals[i].name) == name) return i;
    }
    return std::nullopt;
  };
  const std::string small = lower_text(word);
  if (const auto found = find(small)) return found;
  if (small == "weight" || small == "weights" || small == "filter") return find("w");
  if (small == "bias") return find("b");
  if (small == "splits") return find("split");
  // Opset 18 gave the reductions and Pad one more input.
  if (small == "axes" && op.inputs == op.input_formals.size() + 1) {
    return static_cast<std::uint32_t>(op.input_formals.size());
  }
  return std::nullopt;
}

std::vector<std::uint32_t> inputs_named(const Words& words, const OnnxOpNames& op,
                                        std::size_t before) {
  std::vector<std::uint32_t> inputs;
  for (std::size_t i = 0; i < std::min(before, words.small.size()); ++i) {
    // In `Input B` the name is B: "input" itself can only be a name if no other word follows.
    if (words.small[i] == "input" && i + 1 < before) continue;
    const auto input = input_named(words.as_written[i], op);
    if (input && std::find(inputs.begin(), inputs.end(), *input) == inputs.end()) {
      inputs.push_back(*input);
    }
  }
  return inputs;
}

bool is_attribute(const std::string& word, const OnnxOpNames& op) {
  return std::binary_search(op.attributes.begin(), op.attributes.end(), std::string_view(word));
}

std::vector<std::string> attributes_named(const Words& words, const OnnxOpNames& op,
                                          std::size_t before) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(before, words.small.size()); ++i) {
    if (is_attribute(words.as_written[i], op)) names.push_back(words.as_written[i]);
  }
  return names;
}

// True when the sentence has only names and the words that the reader knows. Readers do not take
// other sentences.
bool has_only(const Words& words, const OnnxOpNames& op,
              std::initializer_list<std::string_view> known) {
  return std::all_of(words.small.begin(), words.small.end(), [&](const std::string& word) {
    const std::string& written =
        words.as_written[static_cast<std::size_t>(&word - words.small.data())];
    return std::find(known.begin(), known.end(), word) != known.end() ||
           input_named(written, op).has_value() || is_attribute(written, op);
  });
}

// ---- numbers ----

std::optional<std::int64_t> number_of(std::string_view word) {
  if (word == "zero") return 0;
  if (word == "one") return 1;
  std::int64_t number = 0;
  const auto parsed = std::from_chars(word.data(), word.data() + word.size(), number);
  if (parsed.ec != std::errc() || parsed.ptr != word.data() + word.size()) return std::nullopt;
  return number;
}

// "2d" -> 2
std::optional<std::int64_t> dimensions_of(std::string_view word) {
  if (word.size() != 2 || word[1] != 'd' || word[0] < '1' || word[0] > '9') return std::nullopt;
  return word[0] - '0';
}

// ---- the readers ----

constexpr std::array<std::string_view, 3> kConstantWords = {"constant", "initializer",
                                                            "initializers"};

// "starts/ends/axes/steps must be constant initializers"
bool read_constants(const Words& words, const OnnxOpNames& op, Rule& rule) {
  const bool is_constant = std::any_of(kConstantWords.begin(), kConstantWords.end(),
                                       [&](std::string_view word) { return words.has(word); });
  if (!is_constant || !words.has_any({"must", "should"})) return false;
  if (!has_only(words, op, {"if",     "provided", "must",     "should",      "be",
                            "a",      "an",       "constant", "initializer", "initializers",
                            "and",    "or",       "the",      "tensor",      "input",
                            "inputs", "build",    "time",     "constants",   "compile"})) {
    return false;
  }
  const std::size_t verb = std::min(words.place_of("must"), words.place_of("should"));
  const auto inputs = inputs_named(words, op, verb);
  if (inputs.empty()) return false;
  for (const std::uint32_t input : inputs) {
    rule.conditions.emplace_back(ConstantCondition{{input, true}, true});
  }
  return true;
}

// "All quantization scales and zero points should be constant"
bool read_quantization(const Words& words, const OnnxOpNames& op, Rule& rule) {
  if (!words.has("scales") || !words.has("points") || has_negation(words) ||
      !has_only(words, op,
                {"all", "quantization", "scales", "and", "zero", "points", "should", "must", "be",
                 "constant"})) {
    return false;
  }
  std::size_t found = 0;
  for (std::uint32_t i = 0; i < op.input_formals.size(); ++i) {
    const std::string name = lower_text(op.input_formals[i].name);
    if (!name.ends_with("scale") && !name.ends_with("zero_point")) continue;
    rule.conditions.emplace_back(ConstantCondition{{i, true}, true});
    ++found;
  }
  return found > 0;
}

// "Both inputs must be bool", "Only supports cases when both inputs are fp32"
bool read_types(const Words& words, const OnnxOpNames& op, Rule& rule) {
  if (!words.has_any({"both", "all"}) || !words.has("inputs") || !rule.inputs.empty()) return false;
  TypeSet types;
  for (const std::string& word : words.small) {
    constexpr std::array<std::string_view, 12> kOthers = {"both",  "all",  "inputs", "must",
                                                          "be",    "are",  "only",   "supports",
                                                          "cases", "when", "or",     "and"};
    if (const auto dtype = dtype_of_word(word)) {
      types.add(*dtype);
    } else if (std::find(kOthers.begin(), kOthers.end(), word) == kOthers.end()) {
      return false;
    }
  }
  if (types.dtypes == 0 || op.input_formals.empty()) return false;
  rule.conditions.emplace_back(EveryInputCondition{types});
  return true;
}

// "Only DCR mode DepthToSpace is supported", "Only constant mode Pad is supported"
bool read_only_mode(const Words& words, const OnnxOpNames& op, Rule& rule) {
  const auto& small = words.small;
  const bool is_form = small.size() >= 5 && small.size() <= 6 && small[0] == "only" &&
                       small[2] == "mode" && small[small.size() - 2] == "is" &&
                       small.back() == "supported";
  if (!is_form || !is_attribute("mode", op)) return false;
  AttributeRule wanted;
  wanted.name = "mode";
  wanted.accepted = {AttributeValue(words.as_written[1])};
  rule.attributes.push_back(std::move(wanted));
  return true;
}

// "`y_zero_point` must be 0", "`sorted` must be 1", "K input must be less than 3840"
bool read_number(const Words& words, const OnnxOpNames& op, Rule& rule) {
  if (!words.has_any({"must", "should"}) || words.small.size() < 4) return false;
  const auto number = number_of(words.small.back());
  if (!number || !has_only(words, op,
                           {"must", "should", "be", "less", "than", "input", "attribute", "value",
                            "the", words.small.back()})) {
    return false;
  }
  const std::size_t verb = std::min(words.place_of("must"), words.place_of("should"));
  const bool is_less = words.has("less");
  const auto attributes = attributes_named(words, op, verb);
  const auto inputs = inputs_named(words, op, verb);
  if (attributes.size() == 1 && inputs.empty()) {
    AttributeRule wanted;
    wanted.name = attributes.front();
    if (is_less) {
      wanted.max = static_cast<double>(*number - 1);
    } else {
      wanted.accepted = {AttributeValue(*number)};
    }
    rule.attributes.push_back(std::move(wanted));
    return true;
  }
  if (inputs.size() != 1) return false;
  ValuesCondition wanted;
  wanted.input = {inputs.front(), true};
  if (is_less) {
    wanted.max = static_cast<double>(*number - 1);
  } else {
    wanted.one_of = {Literal(*number)};
  }
  rule.conditions.emplace_back(std::move(wanted));
  return true;
}

// "`dilations` must be empty or all ones"
bool read_all_ones(const Words& words, const OnnxOpNames& op, Rule& rule) {
  const auto attributes = attributes_named(words, op, words.small.size());
  if (attributes.size() != 1 || !words.has("ones") ||
      !has_only(words, op, {"must", "should", "be", "empty", "or", "all", "ones"})) {
    return false;
  }
  auto relation = parse_relation("all(attr." + attributes.front() + " == 1)");
  if (!relation) return false;
  rule.conditions.emplace_back(RelationCondition{*std::move(relation)});
  return true;
}

// "Only the first output Y is supported", "`Indices` output tensor unsupported"
bool read_outputs(const Words& words, const OnnxOpNames& op, Rule& rule) {
  if (!words.has("output")) return false;
  const bool is_first = words.has("first") && words.has("only") && !has_negation(words);
  const std::string first = op.output_formals.empty() ? "" : lower_text(op.output_formals[0].name);
  if (is_first && has_only(words, op,
                           {"only", "the", "first", "output", "tensor", "is", "supported", "can",
                            "be", "used", first})) {
    rule.conditions.emplace_back(OutputsUsedCondition{{0}});
    return true;
  }
  if (op.output_formals.size() != 2 || words.small.size() > 5 || !words.has("unsupported") ||
      words.has("not")) {
    return false;
  }
  if (!words.has(lower_text(op.output_formals[1].name))) return false;
  rule.conditions.emplace_back(OutputsUsedCondition{{0}});
  return true;
}

// "Only 1D/2D Conv is supported", "2D or 3D pooling only"
bool read_spatial_rank(const Words& words, const OnnxOpNames& op, Rule& rule) {
  if (!words.has("only") || !words.has_any({"conv", "pool", "pooling", "convolution"}))
    return false;
  if (!has_only(words, op,
                {"only", "1d", "2d", "3d", "or", "and", "conv", "pool", "pooling", "convolution",
                 "is", "are", "supported", "currently"})) {
    return false;
  }
  IntegerRule rank;
  for (const std::string& word : words.small) {
    if (const auto dims = dimensions_of(word)) rank.one_of.push_back(*dims + 2);
  }
  if (rank.one_of.empty()) return false;
  rule.conditions.emplace_back(RankCondition{{0, false}, std::move(rank)});
  return true;
}

// "Input must be 4D input", "Input rank up to 5"
bool read_rank(const Words& words, const OnnxOpNames& op, Rule& rule) {
  if (!words.has_any({"input", "inputs"}) || has_negation(words)) return false;
  IntegerRule rank;
  if (words.has("rank") && words.has("up") && number_of(words.small.back())) {
    if (words.small.size() > 6) return false;
    rank.max = number_of(words.small.back());
  } else {
    for (const std::string& word : words.small) {
      if (const auto dims = dimensions_of(word)) rank.one_of.push_back(*dims);
    }
    if (!has_only(words, op,
                  {"input", "must", "should", "be", "a", "only", "is", "supported", "1d", "2d",
                   "3d", "4d", "5d", "or", "and", "tensor"})) {
      return false;
    }
  }
  if (rank == IntegerRule{}) return false;
  rule.conditions.emplace_back(RankCondition{{0, false}, std::move(rank)});
  return true;
}

// "`input` must have static dimensions"
bool read_static(const Words& words, const OnnxOpNames& op, Rule& rule) {
  if (!words.has("static") ||
      !has_only(words, op, {"must", "have", "static", "dimensions", "shape", "a", "input", "be"})) {
    return false;
  }
  const auto inputs = inputs_named(words, op, words.place_of("must"));
  if (inputs.size() != 1) return false;
  ShapeRule shape;
  shape.input = inputs.front();
  shape.is_static = true;
  rule.shapes.push_back(std::move(shape));
  return true;
}

// "`sparse_value`, `value_string` attributes are unsupported", "output_shape is not supported".
// Only for attributes without a default: a node may state another one with its default value.
bool read_unsupported(const Words& words, const OnnxOpNames& op, Rule& rule) {
  const auto names = attributes_named(words, op, words.small.size());
  if (names.empty() || !words.has_any({"unsupported", "not"}) ||
      !has_only(
          words, op,
          {"and", "attribute", "attributes", "are", "is", "not", "supported", "unsupported"})) {
    return false;
  }
  for (const std::string& name : names) {
    if (std::binary_search(op.with_default.begin(), op.with_default.end(),
                           std::string_view(name))) {
      return false;
    }
  }
  for (const std::string& name : names) {
    rule.conditions.emplace_back(AbsentAttributeCondition{name});
  }
  return true;
}

// The attribute whose name shares most words with a label such as "nearest modes".
std::string attribute_like(const Words& label, const OnnxOpNames& op) {
  std::string best;
  int best_score = 0;
  for (const std::string_view name : op.attributes) {
    int score = 0;
    std::string part;
    for (std::size_t i = 0; i <= name.size(); ++i) {
      if (i < name.size() && name[i] != '_') {
        part += name[i];
        continue;
      }
      const bool is_shared = label.has(part) || label.has(part + "s");
      score += is_shared ? 10 : -1;
      part.clear();
    }
    if (score <= best_score) continue;
    best = name;
    best_score = score;
  }
  return best;
}

// The items of "a, b and c", of one or more words each.
std::vector<std::string> items_of(std::string_view list) {
  std::vector<std::string> items;
  std::string item;
  const auto end_item = [&] {
    if (!item.empty()) items.push_back(std::exchange(item, {}));
  };
  std::size_t at = 0;
  while (at <= list.size()) {
    const std::size_t end = std::min(list.find_first_of(" \t,;/", at), list.size());
    const std::string_view word = list.substr(at, end - at);
    if (word == "and" || word == "or") {
      end_item();
    } else if (!word.empty()) {
      item += (item.empty() ? "" : " ") + std::string(word);
    }
    if (end < list.size() && list[end] != ' ' && list[end] != '\t') end_item();
    at = end + 1;
  }
  end_item();
  return items;
}

// "Supported resize modes: nearest, linear"
bool read_list(std::string_view sentence, const OnnxOpNames& op, Rule& rule) {
  const std::size_t colon = sentence.find(':');
  if (colon == sentence.npos) return false;
  const Words label(sentence.substr(0, colon));
  if (!label.has("supported") || has_negation(label) || label.small.size() > 5) return false;
  const std::string name = attribute_like(label, op);
  if (name.empty()) return false;
  AttributeRule wanted;
  wanted.name = name;
  for (const std::string& item : items_of(sentence.substr(colon + 1))) {
    const Words words(item);
    if (words.as_written.size() != 1 || has_negation(words)) return false;
    if (const auto number = number_of(words.small.front())) {
      wanted.accepted.emplace_back(*number);
    } else {
      wanted.accepted.emplace_back(words.as_written.front());
    }
  }
  if (wanted.accepted.empty()) return false;
  rule.attributes.push_back(std::move(wanted));
  return true;
}

struct AskedValue {
  std::string name;
  double value;
};

// "Only support for transA == 0, alpha == 1.0 and beta == 1.0 is currently implemented": the names and
// numbers; empty for any other sentence.
std::vector<AskedValue> asked_values(std::string_view sentence) {
  constexpr std::string_view kBegin = "Only support for ";
  if (!sentence.starts_with(kBegin)) return {};
  sentence.remove_prefix(kBegin.size());
  for (const std::string_view end : {" is currently implemented", " is implemented"}) {
    if (!sentence.ends_with(end)) continue;
    sentence.remove_suffix(end.size());
    std::vector<AskedValue> values;
    for (const std::string& item : items_of(sentence)) {
      const std::size_t equal = item.find(" == ");
      if (equal == item.npos) return {};
      AskedValue asked{item.substr(0, equal), 0};
      const std::string_view number = std::string_view(item).substr(equal + 4);
      const auto parsed =
          std::from_chars(number.data(), number.data() + number.size(), asked.value);
      const bool is_name = std::all_of(asked.name.begin(), asked.name.end(), is_word_char);
      if (!is_name || parsed.ec != std::errc() || parsed.ptr != number.data() + number.size()) {
        return {};
      }
      values.push_back(std::move(asked));
    }
    return values;
  }
  return {};
}

bool read_values(std::string_view sentence, const OnnxOpNames& op, Rule& rule) {
  const std::vector<AskedValue> values = asked_values(sentence);
  const bool is_known = std::all_of(values.begin(), values.end(), [&](const AskedValue& asked) {
    return is_attribute(asked.name, op);
  });
  if (values.empty() || !is_known) return false;
  for (const AskedValue& asked : values) {
    AttributeRule wanted;
    wanted.name = asked.name;
    const auto whole = static_cast<std::int64_t>(asked.value);
    if (static_cast<double>(whole) == asked.value) {
      wanted.accepted.emplace_back(whole);
    } else {
      wanted.accepted.emplace_back(asked.value);
    }
    rule.attributes.push_back(std::move(wanted));
  }
  return true;
}

}  // namespace

std::vector<std::string> sentences_of(std::string_view note) {
  std::vector<std::string> sentences;
  std::string current;
  const auto end_sentence = [&] {
    std::string_view text = trimmed(current);
    while (!text.empty() && text.back() == '.') text = trimmed(text.substr(0, text.size() - 1));
    if (!text.empty()) sentences.emplace_back(text);
    current.clear();
  };
  for (std::size_t i = 0; i < note.size(); ++i) {
    if (note.substr(i, 3) == "<br") {
      i = std::min(note.find('>', i), note.size());
      end_sentence();
      continue;
    }
    current += note[i];
    const bool is_stop = note[i] == '.' && (i + 1 == note.size() || note[i + 1] == ' ');
    if (is_stop) end_sentence();
  }
  end_sentence();
  return sentences;
}

bool add_note_condition(std::string_view sentence, const OnnxOpNames& op, Rule& rule) {
  constexpr std::size_t kLongest = 1000;  // bytes of a sentence that is looked at
  if (sentence.size() > kLongest) return false;
  if (read_values(sentence, op, rule)) return true;
  if (has_strange_character(sentence)) return false;
  const Words words(sentence);
  return read_list(sentence, op, rule) || read_constants(words, op, rule) ||
         read_quantization(words, op, rule) || read_types(words, op, rule) ||
         read_only_mode(words, op, rule) || read_number(words, op, rule) ||
         read_all_ones(words, op, rule) || read_outputs(words, op, rule) ||
         read_spatial_rank(words, op, rule) || read_rank(words, op, rule) ||
         read_static(words, op, rule) || read_unsupported(words, op, rule);
}

bool asks_nothing(std::string_view sentence, const OnnxOpNames* op) {
  if (sentence.ends_with("can be added if needed")) return true;
  if (sentence.starts_with("Produced by ") || sentence.starts_with("Decomposed into ")) return true;
  const Words words(sentence);
  const bool is_asked = has_negation(words) || words.has_any({"must", "should", "only"});
  if (!is_asked && sentence.find(" is ignored by ") != sentence.npos) return true;
  if (op == nullptr) return false;
  const bool is_permission = words.small.size() > 3 && words.small[1] == "may" &&
                             words.small[2] == "be" && input_named(words.as_written[0], *op);
  if (is_permission && !has_negation(words) && !words.has_any({"must", "should"})) return true;
  const std::vector<AskedValue> values = asked_values(sentence);
  return !values.empty() &&
         std::none_of(values.begin(), values.end(), [&](const AskedValue& asked) {
           return is_attribute(asked.name, *op) || input_named(asked.name, *op);
         });
}

}  // namespace cleave
