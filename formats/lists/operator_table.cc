// 1. Columns are found by words of their headings. 2. A row's operators are looked up among ONNX's.
// 3. Types become types of the inputs that share the output's type, the opset a range, and each
// sentence of a note a condition, or a part of `unchecked`.
#include "formats/lists/operator_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "core/base/white_space.h"
#include "core/graph/domain.h"
#include "formats/lists/markdown_table.h"
#include "formats/lists/note_conditions.h"
#include "formats/onnx/infer/names.h"

namespace cleave {
namespace {

std::string lower_text(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

void add_once(std::vector<std::string>& to, const std::string& text) {
  if (std::find(to.begin(), to.end(), text) == to.end()) to.push_back(text);
}

// ---- columns ----

struct Columns {
  std::optional<std::size_t> op, supported, types, opset, note;
};

Columns columns_of(const std::vector<std::string>& headings) {
  Columns columns;
  const auto has = [](const std::string& heading, std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return heading.find(word) != heading.npos; });
  };
  const auto take = [](std::optional<std::size_t>& column, std::size_t i) {
    if (!column) column = i;
  };
  for (std::size_t i = 0; i < headings.size(); ++i) {
    const std::string heading = lower_text(headings[i]);
    if (has(heading, {"note", "restriction", "comment", "limitation", "constraint", "remark"})) {
      take(columns.note, i);
    } else if (has(heading, {"type", "precision"})) {
      take(columns.types, i);
    } else if (has(heading, {"opset", "version"})) {
      take(columns.opset, i);
    } else if (has(heading, {"operator", "onnx", "layer"}) || heading == "op" || heading == "ops") {
      take(columns.op, i);
    } else if (has(heading, {"support"})) {
      take(columns.supported, i);
    }
  }
  return columns;
}

std::string_view cell(const MarkdownRow& row, std::optional<std::size_t> column) {
  if (!column || *column >= row.cells.size()) return {};
  return row.cells[*column];
}

bool says_no(std::string_view text) {
  const std::string small = lower_text(trimmed(text));
  constexpr std::array<std::string_view, 7> kNo = {"n", "no", "x", "-", "false", "❌", "✗"};
  return std::find(kNo.begin(), kNo.end(), small) != kNo.end() || small.starts_with("not supp");
}

bool says_yes(std::string_view text) {
  const std::string small = lower_text(trimmed(text));
  constexpr std::array<std::string_view, 8> kYes = {"",  "y", "yes", "true",
                                                    "✓", "✔", "✅",   "supported"};
  return std::find(kYes.begin(), kYes.end(), small) != kYes.end();
}

// ---- types and opsets ----

constexpr std::array<std::pair<std::string_view, DType>, 27> kTypes = {{
    {"fp32", DType::float32},      {"float", DType::float32},        {"float32", DType::float32},
    {"fp16", DType::float16},      {"float16", DType::float16},      {"half", DType::float16},
    {"bf16", DType::bfloat16},     {"bfloat16", DType::bfloat16},    {"fp64", DType::float64},
    {"double", DType::float64},    {"float64", DType::float64},      {"int8", DType::int8},
    {"uint8", DType::uint8},       {"int16", DType::int16},          {"uint16", DType::uint16},
    {"int32", DType::int32},       {"uint32", DType::uint32},        {"int64", DType::int64},
    {"uint64", DType::uint64},     {"bool", DType::boolean},         {"boolean", DType::boolean},
    {"fp8", DType::float8_e4m3fn}, {"float8", DType::float8_e4m3fn}, {"int4", DType::int4},
    {"uint4", DType::uint4},       {"string", DType::string},        {"i64", DType::int64},
}};

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    const bool is_part =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (is_part) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, {}));
    }
  }
  return words;
}

// "9", "9-20", "7+", "7 - 12, 13": the range around all of them.
std::optional<OpsetRule> opset_of(std::string_view text) {
  constexpr std::int64_t kNewest = 1000;
  OpsetRule rule{.lowest = kNewest, .highest = 0};
  for (const std::string& word : words_of(text)) {
    std::int64_t number = 0;
    const auto parsed = std::from_chars(word.data(), word.data() + word.size(), number);
    if (parsed.ec != std::errc() || parsed.ptr != word.data() + word.size() || number < 1) {
      return std::nullopt;
    }
    rule.lowest = std::min(rule.lowest, number);
    rule.highest = std::max(rule.highest, number);
  }
  if (rule.highest == 0) return std::nullopt;
  if (text.find('+') != text.npos) rule.highest = kNewest;
  return rule;
}

// "... opset 9 to opset 20" in the prose holds for all rules.
std::optional<OpsetRule> opset_in_prose(std::string_view text) {
  const std::string small = lower_text(text);
  for (std::size_t at = small.find("opset "); at != small.npos; at = small.find("opset ", at + 1)) {
    const std::vector<std::string> words = words_of(std::string_view(small).substr(at, 60));
    if (words.size() < 5 || words[2] != "to" || words[3] != "opset") continue;
    return opset_of(words[1] + "-" + words[4]);
  }
  return std::nullopt;
}

// The types go to the inputs of the output's type; where there are none, to the first input; of an
// operator without inputs, to the output.
void add_types(const TypeSet& types, const OnnxOpNames* op, Rule& rule) {
  if (op == nullptr || op->output_formals.empty()) {
    rule.inputs = {types};
    return;
  }
  const std::string_view wanted = op->output_formals.front().type;
  const auto& inputs = op->input_formals;
  if (inputs.empty()) {
    rule.outputs = {types};
    return;
  }
  if (inputs.front().is_variadic) {
    rule.conditions.emplace_back(EveryInputCondition{types});
    return;
  }
  std::vector<MaybeTypes> positions;
  bool is_any_shared = false;
  for (const OnnxFormal& input : inputs) {
    const bool is_shared = input.type == wanted && !input.is_variadic;
    is_any_shared = is_any_shared || is_shared;
    positions.push_back(is_shared ? MaybeTypes(types) : std::nullopt);
  }
  if (!is_any_shared) positions = {types};
  while (!positions.empty() && !positions.back()) positions.pop_back();
  rule.inputs = std::move(positions);
}

// ---- rows ----

class Importer {
 public:
  explicit Importer(std::string_view text) : opset_(opset_in_prose(text)) {}

  TableImport run(const std::vector<MarkdownTable>& tables) {
    for (const MarkdownTable& table : tables) {
      columns_ = columns_of(table.headings);
      if (!columns_.op) continue;
      for (const MarkdownRow& row : table.rows) read_row(row);
    }
    return std::move(import_);
  }

 private:
  void read_row(const MarkdownRow& row) {
    const std::string_view supported = cell(row, columns_.supported);
    std::vector<std::string> names;
    for (const std::string& name : names_of(cell(row, columns_.op))) names.push_back(name);
    if (names.empty()) return;
    ++import_.rows;
    if (says_no(supported)) {
      ++import_.unsupported_rows;
      return;
    }
    for (const std::string& name : names) add_rule(name, row);
  }

  // "Conv", "ai.onnx:Conv", "com.microsoft::Gelu", "Max, Min", "Max / Min"
  static std::vector<std::string> names_of(std::string_view text) {
    std::vector<std::string> names;
    std::string name;
    for (std::size_t i = 0; i <= text.size(); ++i) {
      const char c = i < text.size() ? text[i] : ',';
      if (c != ',' && c != '/' && c != ' ' && c != '(' && c != ')' && c != '*') {
        name += c;
        continue;
      }
      if (!name.empty()) names.push_back(std::exchange(name, {}));
      if (c == '(') break;
    }
    // A row of prose is no row of operators.
    constexpr std::size_t kMostNames = 8;
    if (names.size() > kMostNames) names.clear();
    return names;
  }

  void add_rule(const std::string& name, const MarkdownRow& row) {
    Rule rule;
    const std::size_t colon = name.find(':');
    if (colon != name.npos) rule.domain = plain_domain(name.substr(0, colon));
    rule.op = name.substr(std::min(name.size(), name.find_last_of(':') + 1));
    if (rule.op.empty()) return;
    const OnnxOpNames* const op = look_up(rule);
    rule.opset = opset_of(cell(row, columns_.opset));
    if (!rule.opset && rule.domain.empty()) rule.opset = opset_;
    add_row_types(cell(row, columns_.types), op, rule);
    rule.why = cell(row, columns_.note);
    for (const std::string& sentence : sentences_of(rule.why)) add_sentence(sentence, op, rule);
    const std::string_view supported = cell(row, columns_.supported);
    if (!says_yes(supported)) add_unchecked(std::string(supported), rule);
    import_.list.allow.push_back(std::move(rule));
  }

  // ONNX's spelling where only the case is another.
  const OnnxOpNames* look_up(Rule& rule) {
    if (!is_onnx_domain(rule.domain)) return nullptr;
    if (const OnnxOpNames* const op = find_onnx_op(rule.domain, rule.op)) return op;
    for (const std::string_view known : onnx_op_names(rule.domain)) {
      if (lower_text(known) != lower_text(rule.op)) continue;
      import_.renamed.push_back(rule.op + " is " + std::string(known));
      rule.op = known;
      return find_onnx_op(rule.domain, rule.op);
    }
    add_once(import_.unknown, rule.op);
    return nullptr;
  }

  void add_row_types(std::string_view text, const OnnxOpNames* op, Rule& rule) {
    TypeSet types;
    for (const std::string& word : words_of(text)) {
      const auto* const known = std::find_if(kTypes.begin(), kTypes.end(), [&](const auto& type) {
        return type.first == lower_text(word);
      });
      if (known != kTypes.end()) {
        types.add(known->second);
      } else {
        add_once(import_.types, word);
      }
    }
    if (types.dtypes != 0) return add_types(types, op, rule);
    if (!trimmed(text).empty()) add_unchecked("types: " + std::string(text), rule);
  }

  void add_sentence(const std::string& sentence, const OnnxOpNames* op, Rule& rule) {
    ++import_.sentences;
    if (op != nullptr && add_note_condition(sentence, *op, rule)) {
      ++import_.conditions;
    } else {
      add_unchecked(sentence, rule);
    }
  }

  void add_unchecked(const std::string& text, Rule& rule) {
    rule.unchecked += (rule.unchecked.empty() ? "" : "; ") + text;
    add_once(import_.unchecked, rule.op + ": " + text);
  }

  std::optional<OpsetRule> opset_;
  Columns columns_;
  TableImport import_;
};

}  // namespace

bool has_operator_table(std::string_view text) {
  const std::vector<MarkdownTable> tables = parse_markdown_tables(text);
  return std::any_of(tables.begin(), tables.end(), [](const MarkdownTable& table) {
    return columns_of(table.headings).op.has_value();
  });
}

TableImport import_operator_tables(std::string_view text) {
  return Importer(text).run(parse_markdown_tables(text));
}

}  // namespace cleave
