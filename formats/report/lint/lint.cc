// Reports of faults of support lists, and of what lists have.
#include "formats/report/lint/lint.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/words.h"
#include "core/graph/graph.h"
#include "core/lists/support.h"
#include "formats/base/faults.h"
#include "formats/base/fields.h"
#include "formats/base/text.h"
#include "formats/lists/support_file.h"
#include "formats/onnx/infer/infer.h"
#include "formats/report/words/words.h"
#include "formats/tflite/tflite.h"

namespace cleave {

// ---- list text ----

namespace {

constexpr std::size_t kOpColumns = 24;
constexpr std::size_t kMostColumns = 600;  // of one rule

// The conditions as the list writes them; "" when there are none.
std::string conditions_text(Rule rule, bool is_denial) {
  rule.op.clear();
  rule.domain.clear();
  rule.why.clear();
  rule.unchecked.clear();
  JsonText json;
  is_denial ? write_deny_rule(json, rule) : write_allow_rule(json, rule);
  std::string text = std::move(json).finish();
  const std::size_t begin = text.find('{') + 1;
  return fitted(text.substr(begin, text.rfind('}') - begin), kMostColumns);
}

class ListText {
 public:
  explicit ListText(const SupportList& list) : list_(list) {}

  std::string run() {
    page_.line(escaped(list_.name) + " (" + escaped(list_.path) + ")");
    if (!list_.source.empty()) page_.line("source: " + escaped(list_.source), 2);
    page_.line(numbers(), 2);
    if (list_.link) page_.line("link: " + link_text(*list_.link), 2);
    for (std::size_t i = 0; i < kPartLimitCount; ++i) {
      const auto limit = static_cast<PartLimit>(i);
      if (const auto& most = list_.limits[limit]) {
        page_.line(std::string(part_limit_name(limit)) + ": " + count_text(*most), 2);
      }
    }
    write_part();
    if (list_.view == GraphView::onnxruntime) {
      page_.line("as onnxruntime: it is about the graph that ONNX Runtime makes of a model", 2);
    }
    if (list_.keeps_qdq) {
      page_.line(
          "keep_qdq: a quantised operator is one with its DequantizeLinear and QuantizeLinear, and "
          "stays whole",
          2);
    }
    write_rules("accepts, on these conditions", list_.allow, false);
    write_patterns();
    write_rules("denies", list_.deny, true);
    return page_.take();
  }

 private:
  void write_part() {
    for (const auto& [op, count] : list_.part.min_ops) {
      page_.line("a partition has at least " + count_text(count) + " of " + escaped_in_quotes(op),
                 2);
    }
    const std::string ops = joined(list_.part.not_only, ", ", escaped_in_quotes);
    if (!ops.empty()) page_.line("a partition has nodes of other ops than " + ops, 2);
  }

  std::string numbers() const {
    const auto on_trust =
        std::ranges::count_if(list_.allow,
                              [](const Rule& rule) { return !rule.unchecked.empty(); }) +
        std::ranges::count_if(list_.patterns,
                              [](const Pattern& pattern) { return !pattern.unchecked.empty(); });
    return counted(list_.allow.size(), "rule") + ", " + counted(list_.patterns.size(), "pattern") +
           ", " + counted(list_.deny.size(), "denial") + "; " +
           counted(static_cast<std::uint64_t>(on_trust), "accepts", "accept") +
           " on trust what the vendor asks for and no rule checks";
  }

  void write_rules(const std::string& heading, const std::vector<Rule>& rules, bool are_denials) {
    if (rules.empty()) return;
    page_.heading(heading);
    for (const Rule& rule : rules) {
      const std::string op = rule.op.empty() ? "any op" : escaped(op_text(rule.domain, rule.op));
      std::string conditions = conditions_text(rule, are_denials);
      if (are_denials && !rule.why.empty()) conditions += " (" + escaped(rule.why) + ")";
      write_op(op, conditions, rule.unchecked);
    }
  }

  void write_patterns() {
    if (list_.patterns.empty()) return;
    page_.heading("accepts as a whole");
    for (const Pattern& pattern : list_.patterns) {
      const std::string ops =
          joined(pattern.ops, ", ", [&](const Rule& op) { return escaped(op.op); });
      write_op(escaped(pattern.name), fitted(ops, kMostColumns), pattern.unchecked);
    }
  }

  void write_op(const std::string& op, const std::string& conditions,
                const std::string& unchecked) {
    page_.fact("  " + op, conditions, kOpColumns);
    if (!unchecked.empty()) {
      page_.line("on trust: " + fitted(escaped(unchecked), kMostColumns), kOpColumns);
    }
  }

  const SupportList& list_;
  Page page_;
};

}  // namespace

std::string list_text(const SupportList& list) { return ListText(list).run(); }

namespace {

struct MetOp {
  Rule rule;
  std::size_t nodes = 0;
  std::set<std::size_t> models = {};
};

// Adds the types of a node to the rule. A position that has no known type in some node accepts any
// type.
void add_types(const Signature& signature, bool is_first, Rule& rule) {
  const std::size_t count = signature.args.size();
  if (is_first) {
    for (const DType dtype : signature.args) {
      rule.inputs.emplace_back();
      if (dtype != DType::unknown) rule.inputs.back().emplace().add(dtype);
    }
    return;
  }
  if (rule.inputs.size() > count) rule.inputs.resize(count);
  for (std::size_t i = 0; i < rule.inputs.size(); ++i) {
    if (signature.args[i] == DType::unknown) rule.inputs[i].reset();
    if (rule.inputs[i]) rule.inputs[i]->add(signature.args[i]);
  }
}

}  // namespace

std::string list_skeleton(std::span<const Graph* const> graphs, const std::string& name) {
  std::vector<MetOp> ops;
  std::map<std::pair<std::string, std::string>, std::size_t> places;
  const auto add = [&](const Graph& graph, NodeId node, std::size_t model) {
    const std::pair<std::string, std::string> key(plain_domain(graph.domain(node)), graph.op(node));
    const auto [place, is_new] = places.try_emplace(key, ops.size());
    if (is_new) {
      MetOp& met = ops.emplace_back();
      met.rule.domain = key.first;
      met.rule.op = key.second;
    }
    MetOp& met = ops[place->second];
    add_types(signature_of(graph, node), is_new, met.rule);
    ++met.nodes;
    met.models.insert(model);
  };
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const Graph& graph = *graphs[i];
    for (const NodeId node : graph.nodes()) {
      add(graph, node, i);
      for (const NodeId inner : graph.body_nodes(node)) add(graph, inner, i);
    }
  }
  JsonText json;
  json.begin_object();
  json.text("format", "cleave.support");
  json.number("version", 1);
  json.text("name", name);
  json.begin_list("allow");
  for (MetOp& met : ops) {
    met.rule.why = counted(met.nodes, "node") + " of " + counted(met.models.size(), "model");
    write_allow_rule(json, met.rule);
  }
  json.end_list();
  json.end_object();
  return std::move(json).finish();
}

// ---- lint ----

namespace {

std::string op_of(const Rule& rule) { return escaped_in_quotes(op_text(rule.domain, rule.op)); }

// The position of the other rule: "line 12"; with the column if it is on the same line as `rule`.
std::string place_text(const Rule& other, const Rule& rule) {
  if (other.line == 0) return "another line";
  const std::string line = "line " + std::to_string(other.line);
  return other.line == rule.line ? line + ", column " + std::to_string(other.column) : line;
}

// `rule "Conv"`, `the deny rule for "Conv"`, `the deny rule for nodes "head.*"`, `the deny rule`
std::string rule_text(const Rule& rule, bool is_deny) {
  if (!is_deny) return "rule " + op_of(rule);
  if (!rule.op.empty()) return "the deny rule for " + op_of(rule);
  if (rule.node_name.empty()) return "the deny rule";
  return "the deny rule for nodes " + escaped_in_quotes(rule.node_name);
}

bool is_plain_name(const Rule& rule) {
  return !rule.op.empty() && !is_glob(rule.op) && rule.op.find('.') == rule.op.npos;
}

// The operator of TensorFlow Lite that the rule names; null when there is none.
const SchemaOperator* find_tflite_operator(const Rule& rule) {
  if (!rule.domain.empty() && rule.domain != "tflite") return nullptr;
  const auto* const found = std::ranges::find(kSchemaOperators, rule.op, &SchemaOperator::name);
  return found == std::end(kSchemaOperators) ? nullptr : found;
}

// Whether the operator's options have that field.
bool has_field(const SchemaOperator& op, std::string_view name) {
  if (op.options == kNoSchema) return false;
  const auto& fields = fields_of(op.options);
  return std::ranges::any_of(fields, [&](const SchemaField& field) { return field.name == name; });
}

// The operator that the name is a misspelling of, of ONNX or else of TensorFlow Lite; "" for none.
std::string nearest_op(const Rule& rule) {
  const auto names_of_onnx = onnx_op_names(rule.domain);
  std::string near = nearest_name(rule.op, names_of_onnx);
  if (!near.empty() || !rule.domain.empty()) return near;
  std::vector<std::string_view> names;
  for (const SchemaOperator& known : kSchemaOperators) names.push_back(known.name);
  return nearest_name(rule.op, names);
}

// Whether the names in the list look like ONNX's or TensorFlow Lite's: two of them do, or one and a
// misspelling of another.
bool has_known_names(const SupportList& list) {
  std::size_t plain = 0;
  std::size_t near = 0;
  std::size_t known = 0;
  for (const std::vector<Rule>* const rules : {&list.allow, &list.deny}) {
    for (const Rule& rule : *rules) {
      if (rule.opset) return true;
      if (!is_plain_name(rule)) continue;
      ++plain;
      if (find_onnx_op(rule.domain, rule.op) != nullptr || find_tflite_operator(rule) != nullptr) {
        ++known;
      } else if (!nearest_op(rule).empty()) {
        ++near;
      }
      if (known >= 2 || (known == 1 && near >= 1)) return true;
    }
  }
  return plain > 0 && 2 * known >= plain;
}

// The conditions of the rule, each entry of "shapes" as one, and the inputs that they are about. `given`
// may hold for an input that the node does not have.
struct AskedInputs {
  std::size_t conditions = 0;
  std::vector<std::uint32_t> inputs;
};
AskedInputs asked_inputs(const Rule& rule) {
  AskedInputs asked;
  const Condition* entry = nullptr;
  for (const Condition& one : rule.conditions) {
    const bool is_same_entry = one.is_clause && entry != nullptr && entry->place == one.place;
    entry = one.is_clause ? &one : nullptr;
    if (is_same_entry) continue;
    ++asked.conditions;
    const bool is_field = one.property == Property::given && !one.is_clause;
    if (one.of == Condition::Of::input && !is_field) asked.inputs.push_back(one.place.position);
  }
  return asked;
}

class Linter {
 public:
  Linter(const SupportList& list, const RuleUse* use)
      : list_(list), use_(use), allow_(list.allow) {}

  void add_warnings(const Diagnostics& warnings) {
    for (const Diagnostic& warning : warnings) {
      findings_.push_back({LintKind::unread, Severity::warning,
                           static_cast<std::uint32_t>(warning.line),
                           static_cast<std::uint32_t>(warning.column), warning.message,
                           warning.notes.empty() ? std::string() : warning.notes.front()});
    }
  }

  std::vector<LintFinding> lint(bool is_onnx) {
    if (list_.allow.empty() && list_.patterns.empty()) {
      findings_.push_back({LintKind::allows_nothing,
                           Severity::warning,
                           0,
                           0,
                           "the list has no allow rule: it puts no node on the accelerator",
                           {}});
    }
    each_rule([this](const Rule& rule, RuleRef ref) { add_unchecked(rule, ref); });
    if (is_onnx) each_rule([this](const Rule& rule, RuleRef ref) { look_up(rule, ref); });
    for (const RuleFault& fault : find_rule_faults(list_)) add_fault(fault);
    lint_patterns(is_onnx);
    lint_part(is_onnx);
    if (use_ != nullptr) {
      each_rule([this](const Rule& rule, RuleRef ref) { add_use(rule, ref); });
      add_missing_ops();
    }
    std::ranges::stable_sort(
        findings_, [](const LintFinding& a, const LintFinding& b) { return place(a) < place(b); });
    return std::move(findings_);
  }

 private:
  static std::tuple<std::uint32_t, std::uint32_t> place(const LintFinding& finding) {
    constexpr std::uint32_t kLast = std::numeric_limits<std::uint32_t>::max();
    return {finding.line == 0 ? kLast : finding.line, finding.column};
  }

  const Rule& rule_of(RuleRef ref) const {
    return (ref.is_deny ? list_.deny : list_.allow)[ref.index];
  }

  template <class Look>
  void each_rule(Look look) {
    for (std::uint32_t i = 0; i < list_.allow.size(); ++i) look(list_.allow[i], {false, i});
    for (std::uint32_t i = 0; i < list_.deny.size(); ++i) look(list_.deny[i], {true, i});
  }

  // `placed`: a rule or a pattern.
  template <class Placed>
  void add(LintKind kind, Severity severity, const Placed& placed, std::string message,
           std::string note = {}) {
    findings_.push_back(
        {kind, severity, placed.line, placed.column, std::move(message), std::move(note)});
  }

  void add_unchecked(const Rule& rule, RuleRef ref) {
    if (rule.unchecked.empty()) return;
    add(LintKind::unchecked, Severity::note, rule,
        rule_text(rule, ref.is_deny) + " leaves unchecked: " + escaped(rule.unchecked));
  }

  // ---- patterns ----

  void lint_patterns(bool is_onnx) {
    for (const Pattern& pattern : list_.patterns) {
      if (!pattern.unchecked.empty()) {
        add(LintKind::unchecked, Severity::note, pattern,
            pattern_text(pattern) + " leaves unchecked: " + escaped(pattern.unchecked));
      }
      if (!is_onnx) continue;
      for (const Rule& op : pattern.ops) look_up(op, {});
    }
    for (const PatternLint& fault : find_pattern_lint(list_)) add_pattern_fault(fault);
    if (use_ == nullptr) return;
    for (std::uint32_t i = 0; i < list_.patterns.size(); ++i) {
      if (use_->matches(i) > 0) continue;
      add(LintKind::never_matched, Severity::note, list_.patterns[i],
          pattern_text(list_.patterns[i]) + " matches nowhere in the models");
    }
  }

  void add_pattern_fault(const PatternLint& fault) {
    const Pattern& pattern = list_.patterns[fault.pattern];
    const Rule& op = pattern.ops[fault.op];
    const std::string subject =
        pattern_text(pattern) + ", op " + std::to_string(fault.op) + " (" + escaped(op.op) + "): ";
    switch (fault.kind) {
      case LintKind::impossible:
        return add(fault.kind, Severity::error, op,
                   subject + "no node can meet its conditions: " + fault.detail);
      case LintKind::contradiction:
        return add(fault.kind, Severity::error, op,
                   subject + rule_text(list_.deny[fault.other], true) + " on " +
                       place_text(list_.deny[fault.other], op) + " denies all such nodes");
      default:
        return add(fault.kind, Severity::note, pattern,
                   pattern_text(pattern) +
                       " accepts nothing that rules do not: it only keeps its nodes together");
    }
  }

  static std::string pattern_text(const Pattern& pattern) {
    return "pattern " + escaped_in_quotes(pattern.name);
  }

  // ---- conditions on whole partitions ----

  void lint_part(bool is_onnx) {
    Rule named;
    named.line = list_.part.line;
    named.column = list_.part.column;
    const auto name_of = [&](const std::string& text) {
      const ParsedOp name = parse_op(text);
      named.op = name.op;
      named.domain = name.domain;
      return name;
    };
    for (const auto& [op, count] : list_.part.min_ops) {
      const ParsedOp asked = name_of(op);
      const auto accepts = [&](const Rule& rule) {
        const bool is_in_one = !asked.has_domain || is_in_domain(rule.domain, asked.domain) ||
                               is_in_domain(asked.domain, rule.domain);
        return is_in_one && (glob_match(rule.op, named.op) || glob_match(named.op, rule.op));
      };
      const bool is_in_pattern = std::ranges::any_of(list_.patterns, [&](const Pattern& pattern) {
        return std::ranges::any_of(pattern.ops, accepts);
      });
      if (!is_in_pattern && std::ranges::none_of(list_.allow, accepts)) {
        add(LintKind::impossible, Severity::error, named,
            "\"part\" asks for nodes of " + op_of(named) +
                ", which the list does not accept: no partition passes");
      } else if (is_onnx) {
        look_up(named, {});
      }
    }
    for (const std::string& op : list_.part.not_only) {
      name_of(op);
      if (is_onnx) look_up(named, {});
    }
  }

  // ---- against the names of ONNX and TensorFlow Lite ----

  void look_up(const Rule& rule, RuleRef ref) {
    if (rule.op.empty()) return;
    const SchemaOperator* const tflite = find_tflite_operator(rule);
    if (tflite != nullptr && find_onnx_op(rule.domain, rule.op) == nullptr) {
      return look_up_tflite(rule, *tflite);
    }
    if (!is_onnx_domain(rule.domain)) return look_up_domain(rule);
    if (is_glob(rule.op)) return look_up_glob(rule);
    const OnnxOpNames* const op = find_onnx_op(rule.domain, rule.op);
    if (op == nullptr) return unknown_op(rule);
    for (const Condition& attribute : rule.conditions) {
      // Both have LSTM and RNN: the rule is of either.
      const auto look_up_one = [&](const std::string& name) {
        if (tflite == nullptr || !has_field(*tflite, name)) look_up_attribute(rule, *op, name);
      };
      for (const RelationTerm& term : attribute.relation.terms) {
        if (term.kind == RelationTerm::Kind::attribute) look_up_one(term.text);
      }
      if (attribute.property != Property::attribute) continue;
      look_up_one(attribute.name);
      look_for_list(rule, *op, attribute);
    }
    look_up_inputs(rule, ref, *op);
    if (rule.opset && !rule.opset->same_schema && rule.opset->highest < op->since) {
      add(LintKind::impossible, Severity::error, rule,
          rule_text(rule, ref.is_deny) + " is for opsets up to " +
              std::to_string(rule.opset->highest) + ", but ONNX has the op since opset " +
              std::to_string(op->since));
    }
  }

  // Attributes are the fields of the operator's options.
  void look_up_tflite(const Rule& rule, const SchemaOperator& op) {
    std::vector<std::string_view> known;
    if (op.options != kNoSchema) {
      for (const SchemaField& field : fields_of(op.options)) known.push_back(field.name);
    }
    for (const Condition& attribute : rule.conditions) {
      if (attribute.property != Property::attribute) continue;
      if (contains(known, attribute.name)) continue;
      unknown_attribute(rule, attribute.name, known);
    }
  }

  // Any other domain may be a user's own; only near misses of ONNX's names are reported.
  void look_up_domain(const Rule& rule) {
    if (is_glob(rule.domain)) return;
    const std::string near =
        nearest_name(rule.domain, {"ai.onnx", "ai.onnx.ml", "ai.onnx.preview.training",
                                   "com.microsoft", "com.microsoft.nchwc", "com.ms.internal.nhwc"});
    if (near.empty() || near == rule.domain) return;
    add(LintKind::unknown_domain, Severity::warning, rule,
        "no domain " + escaped_in_quotes(rule.domain) + " is known",
        "did you mean " + escaped_in_quotes(near) + "?");
  }

  bool has_tflite() const { return std::ranges::any_of(list_.allow, find_tflite_operator); }

  void look_up_glob(const Rule& rule) {
    const auto matches = [&](std::string_view name) { return glob_match(rule.op, name); };
    if (std::ranges::any_of(onnx_op_names(rule.domain), matches)) return;
    if (rule.domain.empty() &&
        std::ranges::any_of(kSchemaOperators, matches, &SchemaOperator::name)) {
      return;
    }
    add(LintKind::unknown_op, Severity::error, rule,
        (has_tflite() ? "no op of ONNX or TensorFlow Lite matches " : "no ONNX op matches ") +
            op_of(rule));
  }

  void unknown_op(const Rule& rule) {
    if (const std::int64_t opset = onnx_op_removed_in(rule.op); opset != 0) {
      return add(LintKind::removed_op, Severity::warning, rule,
                 "ONNX has op " + op_of(rule) + " no more: it was removed in opset " +
                     std::to_string(opset));
    }
    std::string note;
    if (const std::string near = nearest_op(rule); !near.empty()) {
      note = "did you mean " + escaped_in_quotes(op_text(rule.domain, near)) + "?";
    }
    add(LintKind::unknown_op, Severity::error, rule,
        (has_tflite() ? "neither ONNX nor TensorFlow Lite has op " : "ONNX has no op ") +
            op_of(rule),
        std::move(note));
  }

  void look_up_attribute(const Rule& rule, const OnnxOpNames& op, const std::string& name) {
    if (std::ranges::binary_search(op.attributes, name)) return;
    unknown_attribute(rule, name, {op.attributes.begin(), op.attributes.end()});
  }

  // [3, 3] for an attribute that is a list: 3 or 3, which it never is.
  void look_for_list(const Rule& rule, const OnnxOpNames& op, const Condition& attribute) {
    const auto& values = attribute.wanted.one_of;
    if (values.empty() || std::ranges::any_of(values, holds_list) ||
        !std::ranges::binary_search(op.lists, std::string_view(attribute.name))) {
      return;
    }
    add(LintKind::impossible, Severity::error, rule,
        "attribute " + escaped_in_quotes(attribute.name) + " of " + op_of(rule) +
            " is a list, and no number or text alone equals it",
        "the list of 3 and 3 is written [[3, 3]]");
  }

  void unknown_attribute(const Rule& rule, const std::string& name,
                         const std::vector<std::string_view>& attributes) {
    const std::string near = nearest_name(name, attributes);
    std::string note;
    if (!near.empty()) {
      note = "did you mean " + escaped_in_quotes(near) + "?";
    } else {
      for (const std::string_view known : attributes) {
        note += (note.empty() ? "it has " : ", ") + std::string(known);
      }
      if (note.empty()) note = "it has none";
    }
    add(LintKind::unknown_attribute, Severity::error, rule,
        "op " + op_of(rule) + " has no attribute " + escaped_in_quotes(name), std::move(note));
  }

  void look_up_inputs(const Rule& rule, RuleRef ref, const OnnxOpNames& op) {
    if (!rule.kwargs.empty()) {
      add(LintKind::unused_condition, Severity::warning, rule,
          rule_text(rule, ref.is_deny) +
              " has conditions on keyword inputs, which no ONNX node has");
    }
    if (ref.is_deny) look_for_absent_input(rule, op);
    std::size_t inputs = rule.inputs.size();
    for (const std::uint32_t input : asked_inputs(rule).inputs) {
      inputs = std::max(inputs, std::size_t{input} + 1);
    }
    if (inputs <= op.inputs) return;
    add(LintKind::unused_condition, Severity::warning, rule,
        rule_text(rule, ref.is_deny) + " has a condition on input " + std::to_string(inputs - 1) +
            ", but the op has at most " + counted(op.inputs, "input"));
  }

  // A deny rule whose only condition is on an input that may be left out denies nothing there.
  void look_for_absent_input(const Rule& rule, const OnnxOpNames& op) {
    const auto [asked, inputs] = asked_inputs(rule);
    const std::size_t conditions = asked + rule.inputs.size() + rule.outputs.size() +
                                   (rule.opset ? 1 : 0) + (rule.input_dtype ? 1 : 0);
    if (inputs.size() != 1 || conditions != 1 || inputs.front() < op.required_inputs) return;
    add(LintKind::absent_input, Severity::warning, rule,
        rule_text(rule, true) + " has one condition, on input " + std::to_string(inputs.front()) +
            ", which may be left out: nodes without it are not denied");
  }

  // ---- rules compared with each other ----

  void add_fault(const RuleFault& fault) {
    const Rule& rule = rule_of(fault.rule);
    const Rule& other = rule_of(fault.other);
    const std::string subject = rule_text(rule, fault.rule.is_deny);
    switch (fault.kind) {
      case LintKind::impossible:
        add(fault.kind, Severity::error, rule,
            subject + " cannot hold for any node: " + fault.detail);
        return;
      case LintKind::contradiction:
        add(fault.kind, Severity::error, rule,
            subject + " allows what " + rule_text(other, true) + " on " + place_text(other, rule) +
                " denies");
        return;
      default:
        add(fault.kind, Severity::warning, rule,
            subject + " is redundant: " + rule_text(other, fault.other.is_deny) + " on " +
                place_text(other, rule) + " covers it");
    }
  }

  // ---- against models ----

  void add_use(const Rule& rule, RuleRef ref) {
    const RuleUse::Count& count = use_->count(ref);
    const std::string subject = rule_text(rule, ref.is_deny);
    if (count.named == 0) {
      add(LintKind::never_matched, Severity::note, rule,
          subject + " matches no node of the models");
      return;
    }
    if (count.held > 0) return;
    add(LintKind::never_held, Severity::warning, rule,
        subject + " names " + counted(count.named, "node") +
            " of the models, but its conditions hold for none",
        escaped(count.example) + ": " + failed_parts_text(count.failed));
  }

  // That the list has the op's other name in a torch.export program: empty if it has not.
  std::string twin_note(const std::string& op) const {
    for (const IrTwin& twin : ir_twins(op)) {
      const std::string base = "torch.ops." + twin.op;
      const bool is_named = !allow_.names("", base + ".default").empty() ||
                            !allow_.names("", base + op.substr(op.rfind('.'))).empty();
      if (!is_named) continue;
      return "the list names " + escaped_in_quotes(twin.op) + ", as the layer is called " +
             (twin.is_decomposed ? "after run_decompositions()" : "before run_decompositions()") +
             "; this model is saved " + (twin.is_decomposed ? "without it" : "after it");
    }
    return {};
  }

  void add_missing_ops() {
    for (const RuleUse::Op& op : use_->ops_without_rule()) {
      const std::string name = op_text(op.domain, op.op);
      findings_.push_back({LintKind::no_rule, Severity::note, 0, 0,
                           "the list does not have op " + escaped_in_quotes(name) + ", which " +
                               counted(op.nodes, "node has", "nodes have") + " (" +
                               escaped(op.first) + (op.nodes > 1 ? ", ...)" : ")"),
                           twin_note(op.op)});
    }
  }

  const SupportList& list_;
  const RuleUse* use_;
  RulesByOp allow_;
  std::vector<LintFinding> findings_;
};

}  // namespace

std::size_t Lint::count(Severity severity) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      findings, [&](const LintFinding& finding) { return finding.severity == severity; }));
}

Lint lint_support(const SupportList& list, const RuleUse* use, const LintRequest& request) {
  Lint lint{.list = list.path, .models = request.models, .findings = {}};
  lint.is_onnx = request.has_onnx_model || has_known_names(list);
  Linter linter(list, use);
  linter.add_warnings(request.warnings);
  lint.findings = linter.lint(lint.is_onnx);
  return lint;
}

std::string lint_text(const Lint& lint) {
  constexpr std::size_t kMostOfAKind = 5;  // of notes
  std::string text;
  std::map<LintKind, std::size_t> notes;
  for (const LintFinding& finding : lint.findings) {
    if (finding.severity == Severity::note && ++notes[finding.kind] > kMostOfAKind) continue;
    text += escaped(lint.list);
    if (finding.line > 0) {
      text += ":" + std::to_string(finding.line) + ":" + std::to_string(finding.column);
    }
    text += ": " + std::string(severity_name(finding.severity)) + ": " + finding.message + " [" +
            std::string(lint_kind_name(finding.kind)) + "]\n";
    if (!finding.note.empty()) text += "    " + finding.note + "\n";
  }
  for (const auto& [kind, count] : notes) {
    if (count <= kMostOfAKind) continue;
    text += counted(count - kMostOfAKind, "more note") + " [" + std::string(lint_kind_name(kind)) +
            "] (--json has all)\n";
  }
  const std::size_t errors = lint.count(Severity::error);
  const std::size_t warnings = lint.count(Severity::warning);
  text += escaped(lint.list) + ": " + counted(errors, "error") + ", " +
          counted(warnings, "warning") + ", " + counted(lint.count(Severity::note), "note");
  if (!lint.is_onnx) text += "; the ops are not ONNX's: their names were not looked up";
  return text + "\n";
}

// ---- lint json ----

namespace {

template <auto Position>
std::optional<std::uint32_t> position_of(const LintFinding& finding) {
  return when(finding.line != 0, finding.*Position);
}

const Fields<LintFinding> kFindingFields = {
    kLines,
    {{"kind", [](auto& one) { return lint_kind_name(one.kind); },
      words(all_up_to<lint_kind_name, LintKind{kLintKindCount - 1}>)},
     {"severity", [](auto& one) { return severity_name(one.severity); },
      words("error warning note")},
     {"line", the<position_of<&LintFinding::line>>, "From 1; null: it is of the whole list."},
     {"column", the<position_of<&LintFinding::column>>, "From 1; null: as for `line`."},
     {"message", the<&LintFinding::message>},
     {"note", the<&LintFinding::note>}}};

const Fields<Lint> kLintFields = {
    kLines,
    {{"list", the<&Lint::list>},
     {"models", the<&Lint::models>, kOnOneLine},
     {"onnx", the<&Lint::is_onnx>, "Names of ops were compared with ONNX's."},
     {"errors", [](auto& lint) { return lint.count(Severity::error); }},
     {"warnings", [](auto& lint) { return lint.count(Severity::warning); }},
     {"findings", the<&Lint::findings>, "By line; those without a line last.", kFindingFields}}};

}  // namespace

Document lint_document() {
  return {"lint", "The output of `lists lint --json`.", kLintFields.table()};
}

std::string lint_json(const Lint& lint) { return document_text("lint", kLintFields, lint); }

}  // namespace cleave
