// Steps:
// 1. find the columns by words of their headings;
// 2. look up the operators of each row among ONNX's;
// 3. turn its types into types of the inputs that they are about by ONNX's schema, its opset into a
//    range, and each sentence of its notes into a condition or a part of `unchecked`.
#include "formats/lists/import/operator_table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "core/base/white_space.h"
#include "core/condition/relation.h"
#include "core/graph/op_name.h"
#include "formats/lists/import/table_text.h"
#include "formats/models/onnx/infer/names.h"
#include "formats/models/tflite/schema.h"

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

std::string_view cell(const MarkdownRow& row, std::optional<std::size_t> column) {
  if (!column || *column >= row.cells.size()) return {};
  return row.cells[*column];
}

bool says_no(std::string_view text) {
  const std::string small = lower_text(trimmed(text));
  constexpr std::array<std::string_view, 9> kNo = {"n",     "no", "x", "-",          "–",
                                                   "false", "❌",  "✗", "unsupported"};
  return std::find(kNo.begin(), kNo.end(), small) != kNo.end() || small.starts_with("not supp");
}

bool says_yes(std::string_view text) {
  const std::string small = lower_text(trimmed(text));
  constexpr std::array<std::string_view, 8> kYes = {"y", "yes",    "true", "✓",
                                                    "✔", "✔️", "✅",    "supported"};
  return std::find(kYes.begin(), kYes.end(), small) != kYes.end();
}

struct Columns {
  std::optional<std::size_t> op, types, opset, note;
  // Those that say whether an operator is supported: by their heading, or since all of their cells
  // do. More than one: the table is about several accelerators.
  std::vector<std::size_t> supported;
  std::vector<std::size_t> other;  // not read
};

// Some cells of the column say yes or no, and none says anything else.
bool has_verdicts(const MarkdownTable& table, std::size_t column) {
  bool is_any = false;
  for (const MarkdownRow& row : table.rows) {
    const std::string_view text = trimmed(cell(row, column));
    if (text.empty()) continue;
    if (!says_yes(text) && !says_no(text)) return false;
    is_any = true;
  }
  return is_any;
}

Columns columns_of(const MarkdownTable& table) {
  Columns columns;
  const auto has = [](const std::string& heading, std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](std::string_view word) { return heading.find(word) != heading.npos; });
  };
  const auto take = [&](std::optional<std::size_t>& column, std::size_t i) {
    column ? columns.other.push_back(i) : static_cast<void>(column = i);
  };
  for (std::size_t i = 0; i < table.headings.size(); ++i) {
    const std::string heading = lower_text(table.headings[i]);
    if (has(heading, {"note", "restriction", "comment", "limitation", "constraint", "remark"})) {
      take(columns.note, i);
    } else if (has(heading, {"type", "precision"})) {
      take(columns.types, i);
    } else if (has(heading, {"opset", "version"})) {
      take(columns.opset, i);
    } else if (has(heading, {"operator", "onnx", "layer"}) || heading == "op" || heading == "ops") {
      take(columns.op, i);
    } else if (has(heading, {"support"}) || has_verdicts(table, i)) {
      columns.supported.push_back(i);
    } else {
      columns.other.push_back(i);
    }
  }
  return columns;
}

bool contains_text(std::string_view text, std::string_view wanted) {
  return lower_text(text).find(lower_text(wanted)) != std::string::npos;
}

// The columns about one accelerator: of several that say what is supported, those whose headings
// have the text, if any do.
Columns columns_for(const MarkdownTable& table, std::string_view wanted) {
  Columns columns = columns_of(table);
  std::vector<std::size_t> chosen;
  for (const std::size_t i : columns.supported) {
    if (!wanted.empty() && contains_text(table.headings[i], wanted)) chosen.push_back(i);
  }
  if (!chosen.empty()) columns.supported = std::move(chosen);
  return columns;
}

// ---- types and opsets ----

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

// True when ONNX allows several types there, and the vendor supports some of them.
bool is_narrowed(const OnnxFormal& formal, const TypeSet& types) {
  const TypeSet allowed = allowed_types(formal);
  const bool is_one = (allowed.dtypes & (allowed.dtypes - 1)) == 0;
  return !is_one && (allowed.dtypes & types.dtypes) != 0;
}

bool has_input_of(const OnnxOpNames& op, std::string_view type) {
  return std::any_of(op.input_formals.begin(), op.input_formals.end(),
                     [&](const OnnxFormal& input) { return input.type == type; });
}

// The type variable that a table's types are about: that of the output if inputs share it, else
// that of the first input that may have several types. Empty if there is none.
std::string_view variable_of(const OnnxOpNames& op, const TypeSet& types) {
  const OnnxFormal& output = op.output_formals.front();
  if (has_input_of(op, output.type) && is_narrowed(output, types)) return output.type;
  for (const OnnxFormal& input : op.input_formals) {
    if (is_narrowed(input, types)) return input.type;
  }
  return {};
}

// Adds the types to the inputs of one type variable, and to an output whose type no input has (as
// in Cast). False when the types do not agree with ONNX's schema.
bool add_types(const TypeSet& types, const OnnxOpNames* op, Rule& rule) {
  if (op == nullptr || op->output_formals.empty()) {
    rule.inputs = {types};
    return true;
  }
  const auto& inputs = op->input_formals;
  const std::string_view wanted = variable_of(*op, types);
  std::vector<MaybeTypes> positions;
  for (const OnnxFormal& input : inputs) {
    const bool is_wanted = input.type == wanted && !wanted.empty();
    if (is_wanted && input.is_variadic && !positions.empty()) return false;
    if (is_wanted && input.is_variadic) {
      rule.conditions.emplace_back(EveryInputCondition{types});
      return true;
    }
    positions.push_back(is_wanted ? MaybeTypes(types) : std::nullopt);
  }
  while (!positions.empty() && !positions.back()) positions.pop_back();
  rule.inputs = std::move(positions);
  const OnnxFormal& output = op->output_formals.front();
  const bool is_own = !has_input_of(*op, output.type) && is_narrowed(output, types);
  if (is_own) rule.outputs = {types};
  if (is_own || !rule.inputs.empty()) return true;
  // All types are fixed: the table has to have the first input's.
  const TypeSet fixed = allowed_types(inputs.empty() ? output : inputs.front());
  return (fixed.dtypes & types.dtypes) != 0;
}

// ---- rows ----

// The note unchanged, except for line breaks (<br>) between its sentences.
std::string in_one_line(std::string_view note) {
  if (note.find("<br") == note.npos) return std::string(note);
  std::string line;
  for (const std::string& sentence : sentences_of(note)) {
    line += (line.empty() ? "" : "; ") + sentence;
  }
  return line;
}

class Importer {
 public:
  Importer(std::string_view text, OperatorNames names)
      : opset_(names == OperatorNames::onnx ? opset_in_prose(text) : std::nullopt), names_(names) {
    for (MarkdownSection& section : parse_markdown_sections(text)) {
      constraints_.try_emplace(std::move(section.link), std::move(section.items));
    }
  }

  TableImport run(const std::vector<MarkdownTable>& tables, std::string_view section) {
    for (const MarkdownTable& table : tables) {
      columns_ = columns_for(table, section);
      for (const std::size_t i : columns_.other) add_once(import_.not_read, table.headings[i]);
      is_tflite_ = has_tflite_names(table);
      for (const MarkdownRow& row : table.rows) read_row(row);
    }
    return std::move(import_);
  }

 private:
  // Some of its operators are TensorFlow Lite's and not ONNX's.
  bool has_tflite_names(const MarkdownTable& table) const {
    constexpr std::ptrdiff_t kSome = 3;
    const auto is_tflite = [&](const MarkdownRow& row) {
      const std::string name(trimmed(cell(row, columns_.op)));
      const TfliteOp* const op = find_tflite_op(name);
      return op != nullptr && lower_text(op->onnx) != lower_text(name);
    };
    return std::count_if(table.rows.begin(), table.rows.end(), is_tflite) >= kSome;
  }

  void read_row(const MarkdownRow& row) {
    std::vector<std::string> names;
    for (const std::string& name : names_of(cell(row, columns_.op))) names.push_back(name);
    if (names.empty()) return;
    ++import_.rows;
    if (says_no(supported_cell(row))) {
      ++import_.unsupported_rows;
      return;
    }
    for (const std::string& name : names) add_rule(name, row);
  }

  std::string_view supported_cell(const MarkdownRow& row) const {
    return columns_.supported.empty() ? "yes" : trimmed(cell(row, columns_.supported.front()));
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
    // So many words are prose and not names of operators.
    constexpr std::size_t kMostNames = 8;
    if (names.size() > kMostNames) names.clear();
    return names;
  }

  void add_rule(const std::string& name, const MarkdownRow& row) {
    Rule rule;
    const std::size_t colon = name.find(':');
    if (colon != name.npos) rule.domain = plain_domain(name.substr(0, colon));
    rule.op = name.substr(std::min(name.size(), name.find_last_of(':') + 1));
    constexpr std::string_view kDefaultDomain = "ai.onnx.";  // a slip of tables for "ai.onnx:"
    if (colon == name.npos && rule.op.starts_with(kDefaultDomain)) {
      rule.op.erase(0, kDefaultDomain.size());
    }
    if (rule.op.empty()) return;
    const bool stays = names_ == OperatorNames::tflite;
    if (stays ? !spell_tflite(rule) : is_tflite_ && !rename_tflite(rule)) return;
    // Notes about TensorFlow Lite's operator are not about the inputs and attributes of ONNX's.
    const OnnxOpNames* const op = is_tflite_ || stays ? nullptr : look_up(rule);
    if (!stays) rule.opset = opset_of(cell(row, columns_.opset));
    if (!rule.opset && rule.domain.empty()) rule.opset = opset_;
    add_row_types(cell(row, columns_.types), op, rule);
    const std::string_view note = cell(row, columns_.note);
    rule.why = in_one_line(note);
    if (!add_constraints(name, row, rule)) {
      for (const std::string& sentence : sentences_of(note)) add_sentence(sentence, op, rule);
    }
    const std::string_view supported = supported_cell(row);
    if (supported.empty()) {
      add_unchecked("the table does not say whether it is supported", rule);
    } else if (!says_yes(supported)) {
      add_unchecked(std::string(supported), rule);
    }
    import_.list.allow.push_back(std::move(rule));
  }

  // The items below the headings that the row links to; false without any.
  bool add_constraints(const std::string& name, const MarkdownRow& row, Rule& rule) {
    bool is_any = false;
    for (const std::string& link : row.links) {
      const auto found = constraints_.find(link);
      if (found == constraints_.end()) continue;
      is_any = true;
      for (const MarkdownItem& item : found->second) {
        const auto is_it = [&](const std::string& other) { return is_same_name(other, name); };
        if (std::any_of(item.except.begin(), item.except.end(), is_it)) continue;
        ++import_.sentences;
        add_unchecked(item.text.substr(0, item.text.find_last_not_of('.') + 1), rule);
      }
    }
    if (is_any) rule.why = name;
    return is_any;
  }

  // ARGMAX is ARG_MAX.
  static bool is_same_name(std::string a, std::string b) {
    std::erase(a, '_');
    std::erase(b, '_');
    return a == b;
  }

  // False for an operator that TensorFlow Lite does not have.
  bool spell_tflite(Rule& rule) {
    const std::string wanted = lower_text(rule.op);
    const auto* const known = std::find_if(
        std::begin(kSchemaOperators), std::end(kSchemaOperators),
        [&](const SchemaOperator& one) { return is_same_name(lower_text(one.name), wanted); });
    if (known == std::end(kSchemaOperators)) {
      add_once(import_.unknown, rule.op);
      return false;
    }
    if (known->name != rule.op)
      add_once(import_.renamed, rule.op + " is " + std::string(known->name));
    rule.op = known->name;
    rule.domain.clear();
    return true;
  }

  // False for an operator that ONNX does not have.
  bool rename_tflite(Rule& rule) {
    const TfliteOp* const op = find_tflite_op(rule.op);
    if (op == nullptr) {
      add_once(import_.unknown, rule.op);
      return false;
    }
    add_once(import_.renamed, rule.op + " is " + std::string(op->onnx));
    rule.op = op->onnx;
    if (op->where.empty()) return true;
    if (auto relation = parse_relation(op->where)) {
      rule.conditions.emplace_back(RelationCondition{*std::move(relation)});
    }
    return true;
  }

  // Looks the operator up and corrects the case of its name to ONNX's spelling.
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
      if (const auto dtype = dtype_of_word(word)) {
        types.add(*dtype);
      } else {
        add_once(import_.types, word + " (" + rule.op + ")");
      }
    }
    if (types.dtypes != 0 && names_ == OperatorNames::tflite) {
      // The first input of some operators is an axis or a shape.
      rule.conditions.emplace_back(
          QuantizedCondition{QuantizedCondition::Of::activations, {}, of_any_way(types)});
      return;
    }
    if (types.dtypes != 0 && add_types(types, op, rule)) return;
    if (!trimmed(text).empty()) add_unchecked("types: " + std::string(text), rule);
  }

  // Numbers of these types, quantised or not.
  static QuantizationSet of_any_way(const TypeSet& types) {
    QuantizationSet set{.ways = 0, .types = types};
    using Way = QuantizationSet::Way;
    for (const Way way : {Way::none, Way::tensor, Way::axis, Way::other}) set.add(way);
    return set;
  }

  void add_sentence(const std::string& sentence, const OnnxOpNames* op, Rule& rule) {
    ++import_.sentences;
    if (op != nullptr && add_note_condition(sentence, *op, rule)) {
      ++import_.conditions;
    } else if (asks_nothing(sentence, op)) {
      ++import_.remarks;
    } else {
      add_unchecked(sentence, rule);
    }
  }

  void add_unchecked(const std::string& text, Rule& rule) {
    rule.unchecked += (rule.unchecked.empty() ? "" : "; ") + text;
    const auto [place, is_new] = sentences_.try_emplace(text, import_.unchecked.size());
    if (is_new) import_.unchecked.push_back({text, {}});
    add_once(import_.unchecked[place->second].ops, rule.op);
  }

  std::optional<OpsetRule> opset_;
  OperatorNames names_;
  std::map<std::string, std::vector<MarkdownItem>> constraints_;  // by link
  std::map<std::string, std::size_t> sentences_;                  // in import_.unchecked
  Columns columns_;
  bool is_tflite_ = false;
  TableImport import_;
};

// True when two of the tables have the same operator: then they describe different accelerators and
// do not make one list.
bool share_an_operator(const std::vector<MarkdownTable>& tables) {
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const Columns columns = columns_of(tables[i]);
    for (const MarkdownRow& row : tables[i].rows) {
      const auto [place, is_new] = seen.try_emplace(std::string(cell(row, columns.op)), i);
      if (!is_new && place->second != i) return true;
    }
  }
  return false;
}

// The headings among which the user has to choose: of tables, or of columns of one.
std::vector<std::string> choices_of(const std::vector<MarkdownTable>& tables,
                                    std::string_view section) {
  std::vector<std::string> choices;
  if (share_an_operator(tables)) {
    for (const MarkdownTable& table : tables) choices.push_back(table.section);
    return choices;
  }
  for (const MarkdownTable& table : tables) {
    const Columns columns = columns_for(table, section);
    if (columns.supported.size() < 2) continue;
    for (const std::size_t i : columns.supported) add_once(choices, table.headings[i]);
  }
  return choices;
}

// Whether the table, or one of its columns that say what is supported, has the text as heading.
bool is_about(const MarkdownTable& table, std::string_view section) {
  const std::vector<std::size_t> columns = columns_of(table).supported;
  return contains_text(table.section, section) ||
         std::any_of(columns.begin(), columns.end(),
                     [&](std::size_t i) { return contains_text(table.headings[i], section); });
}

}  // namespace

bool has_operator_table(std::string_view text) {
  const std::vector<MarkdownTable> tables = parse_markdown_tables(text);
  return std::any_of(tables.begin(), tables.end(),
                     [](const MarkdownTable& table) { return columns_of(table).op.has_value(); });
}

TableImport import_operator_tables(std::string_view text, std::string_view section,
                                   OperatorNames names) {
  std::vector<MarkdownTable> tables = parse_markdown_tables(text);
  std::erase_if(tables, [](const MarkdownTable& table) { return !columns_of(table).op; });
  TableImport import;
  const auto is_other = [&](const MarkdownTable& table) { return !is_about(table, section); };
  if (std::all_of(tables.begin(), tables.end(), is_other)) {
    for (const MarkdownTable& table : tables) import.sections.push_back(table.section);
    return import;
  }
  std::erase_if(tables, is_other);
  import.sections = choices_of(tables, section);
  return import.sections.empty() ? Importer(text, names).run(tables, section) : import;
}

}  // namespace cleave
