#include "formats/lists/support_file.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "core/base/words.h"
#include "core/graph/graph.h"
#include "core/lists/support.h"
#include "formats/base/faults.h"
#include "formats/base/files.h"
#include "formats/base/json.h"
#include "formats/base/text.h"

namespace cleave {

namespace {

std::optional<bool> parse_verdict(std::string_view text) {
  for (const std::string_view yes : {"true", "True", "yes", "1"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"false", "False", "no", "0"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

struct NodeVerdict {
  std::string_view node;
  bool is_supported;
  std::string_view why;
};

constexpr std::string_view kAssignedTo = "assigned to ";

// Names of device verdicts may be globs; those of others hold no more than they say.
void add(const NodeVerdict& verdict, std::size_t offset, PlaceCounter& places, SupportList& list) {
  Rule& rule = (verdict.is_supported ? list.allow : list.deny).emplace_back();
  rule.node_name = verdict.node;
  rule.is_exact_name = !(verdict.why.starts_with(kAssignedTo) && is_glob(verdict.node));
  rule.why = verdict.why;
  places.mark(rule, offset);
}

// True for the names that OpenVINO and ONNX Runtime give the CPU, and for "".
bool is_cpu_device(std::string_view device) {
  return device.empty() || device == "CPU" || device == "cpu" || device == "CPUExecutionProvider";
}

// A rule of a verdict, and whether it supports.
using RuleVerdict = std::pair<const Rule*, bool>;

// Those that support first; where there are globs in the order of the file, which decides.
std::vector<RuleVerdict> rule_verdicts(const SupportList& list) {
  std::vector<RuleVerdict> verdicts;
  for (const Rule& rule : list.allow) verdicts.emplace_back(&rule, true);
  for (const Rule& rule : list.deny) verdicts.emplace_back(&rule, false);
  const auto is_glob_rule = [](const RuleVerdict& one) { return !one.first->is_exact_name; };
  // The order of the file is in the places of the rules: the list keeps two vectors, of which neither knows the other.
  if (std::ranges::any_of(verdicts, is_glob_rule)) {
    std::ranges::stable_sort(verdicts, {}, [](const RuleVerdict& one) {
      return std::pair(one.first->line, one.first->column);
    });
  }
  return verdicts;
}

void write_verdicts(JsonText& json, const SupportList& list) {
  for (const auto& [rule, is_supported] : rule_verdicts(list)) {
    json.key(rule->node_name);
    if (rule->why.empty()) {
      json.flag(is_supported);
      continue;
    }
    json.begin_object(JsonText::Layout::one_line);
    json.flag("supported", is_supported);
    json.text("why", rule->why);
    json.end_object();
  }
}

struct ReadVerdict {
  std::optional<bool> is_supported;
  std::string why;
};

ReadVerdict read_verdict_object(JsonWalk& json, const std::string& node, std::size_t at) {
  ReadVerdict read;
  json.each_field("a verdict", "true, false or an object",
                  [&](const std::string& key, std::size_t place) {
                    if (key == "supported") {
                      read.is_supported = json.take_flag("\"supported\"");
                    } else if (key == "why") {
                      read.why = json.take_text("\"why\"").value_or("");
                    } else {
                      json.pass_unknown(place, key, "a verdict", {"supported", "why"});
                    }
                  });
  if (!read.is_supported && !json.is_over()) {
    json.faults().error(at, "the verdict on " + escaped_in_quotes(node) + " has no \"supported\"");
  }
  return read;
}

ReadVerdict read_device(JsonWalk& json, const VerdictTarget& target, std::size_t at) {
  const auto device = json.take_text("a device");
  if (!device) return {};
  const std::string why = std::string(kAssignedTo) + *device;
  if (is_cpu_device(*device)) return {false, why};
  if (target.names.size() < 2) return {true, why};
  std::string known;
  for (std::size_t i = 0; i < target.names.size(); ++i) {
    if (lower_case(*device) == lower_case(target.names[i])) return {i == target.which, why};
    known += ", " + target.names[i];
  }
  json.faults().error(at, escaped_in_quotes(*device) + " is no target: there are cpu" + known);
  return {};
}

ReadVerdict read_verdict(JsonWalk& json, const std::string& node, std::size_t at,
                         const VerdictTarget& target) {
  if (json.type() == JsonType::object) return read_verdict_object(json, node, at);
  if (json.type() == JsonType::string) return read_device(json, target, at);
  return {json.take_flag("the verdict on " + escaped_in_quotes(node)), {}};
}

void read_json(std::string_view bytes, PlaceCounter& places, SupportList& list,
               const VerdictTarget& target, TextFaults& faults) {
  const PaddedJson padded(bytes);
  JsonWalk json(padded.text(), faults);
  read_verdicts(json, places, list, target);
  json.finish();
}

void read_rows(std::string_view bytes, PlaceCounter& places, SupportList& list,
               TextFaults& faults) {
  CsvRows rows(bytes, faults);
  std::unordered_set<std::string> seen;
  while (const CsvRow* const row = rows.next()) {
    const auto& cells = row->cells;
    if (row->offset == 0 && !cells.empty() && cells[0] == "node") continue;
    if (cells.size() < 2 || cells.size() > 3) {
      faults.error(row->offset, "expected a node, true or false, and perhaps why");
      continue;
    }
    const auto is_supported = parse_verdict(trimmed(cells[1]));
    if (!is_supported) {
      faults.error(row->offset, escaped_in_quotes(cells[1]) + " is neither true nor false");
    } else if (!seen.emplace(cells[0]).second) {
      faults.error(row->offset, escaped_in_quotes(cells[0]) + " is given twice");
    } else {
      const std::string_view why = cells.size() > 2 ? cells[2] : std::string_view();
      add({cells[0], *is_supported, why}, row->offset, places, list);
    }
  }
}

// The text of a native list with these verdicts.
std::string verdicts_text(const SupportList& list) {
  JsonText json;
  json.begin_object();
  json.text("format", "cleave.support");
  json.number("version", 1);
  json.begin_object("verdicts");
  write_verdicts(json, list);
  json.end_object();
  json.end_object();
  return std::move(json).finish();
}

// The last verdict whose name fits a node decides on it: each becomes one on the nodes on which it decides. A glob that
// fits none stays, as a name that no node has. Returns the names of those that later ones overrule.
std::vector<std::string> settle_globs(const Graph& graph, SupportList& list) {
  const std::vector<RuleVerdict> verdicts = rule_verdicts(list);
  std::vector<std::size_t> globs;  // in `verdicts`
  std::unordered_map<std::string_view, std::size_t> named;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const Rule& rule = *verdicts[i].first;
    rule.is_exact_name ? static_cast<void>(named.emplace(rule.node_name, i)) : globs.push_back(i);
  }
  // A file without globs keeps its rules and places as they are.
  if (globs.empty()) return {};
  SupportList settled;
  std::vector<bool> fits(verdicts.size(), false), decides(verdicts.size(), false);
  std::unordered_set<std::string_view> names;
  const auto settle = [&](NodeId node) {
    const std::string_view name = graph.node(node).name;
    // Rules are by name, so nodes of one name have one verdict.
    if (!names.insert(name).second) return;
    std::optional<std::size_t> last;
    for (const std::size_t i : globs) {
      if (!glob_match(verdicts[i].first->node_name, name)) continue;
      fits[i] = true;
      last = i;
    }
    // Exact names are looked up, so that only globs cost a pass over the nodes each.
    if (const auto own = named.find(name); own != named.end()) {
      fits[own->second] = true;
      if (!last || own->second > *last) last = own->second;
    }
    if (!last) return;
    decides[*last] = true;
    const auto [rule, is_supported] = verdicts[*last];
    Rule& added = (is_supported ? settled.allow : settled.deny).emplace_back(*rule);
    added.node_name = name;
    added.is_exact_name = true;
  };
  for (const NodeId node : graph.nodes()) {
    settle(node);
    for (const NodeId inner : graph.body_nodes(node)) settle(inner);
  }
  for (const NodeId node : graph.constants()) settle(node);
  std::vector<std::string> overruled;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (fits[i] && !decides[i]) overruled.push_back(verdicts[i].first->node_name);
    // An entry that fits no node stays in the list, and is then reported as an unknown name.
    if (fits[i]) continue;
    Rule& kept =
        (verdicts[i].second ? settled.allow : settled.deny).emplace_back(*verdicts[i].first);
    kept.is_exact_name = true;
  }
  list.allow = std::move(settled.allow);
  list.deny = std::move(settled.deny);
  return overruled;
}

}  // namespace

std::vector<std::string> settle_verdicts(const Graph& graph, SupportList& list) {
  std::unordered_set<std::string_view> names;
  for (const NodeId node : graph.nodes()) {
    names.insert(graph.node(node).name);
    for (const NodeId inner : graph.body_nodes(node)) names.insert(graph.node(inner).name);
  }
  std::unordered_map<std::string_view, NodeId> makers;  // by output
  for (const ValueId output : graph.outputs()) {
    const Value& value = graph.value(output);
    if (value.kind != ValueKind::node_output || names.contains(value.name)) continue;
    makers.emplace(value.name, value.producer);
  }
  std::unordered_set<std::string> settled;
  for (const auto* const rules : {&list.allow, &list.deny}) {
    for (const Rule& rule : *rules) settled.insert(rule.node_name);
  }
  for (auto* const rules : {&list.allow, &list.deny}) {
    for (Rule& rule : *rules) {
      const auto maker = makers.find(rule.node_name);
      if (!rule.is_exact_name || maker == makers.end()) continue;
      const std::string name(graph.node(maker->second).name);
      if (settled.insert(name).second) rule.node_name = name;
    }
  }
  return settle_globs(graph, list);
}

void read_verdicts(JsonWalk& json, PlaceCounter& places, SupportList& list,
                   const VerdictTarget& target) {
  list.role = ListRole::verdicts;
  json.each_field("verdicts", "an object {\"node\": true, ...}",
                  [&](const std::string& node, std::size_t at) {
                    const ReadVerdict read = read_verdict(json, node, at, target);
                    if (read.is_supported)
                      add({node, *read.is_supported, read.why}, at, places, list);
                  });
}

namespace {

// True for a native list, as reports keep one of verdicts.
bool is_native_list(std::string_view bytes) {
  return trimmed(bytes).starts_with('{') && bytes.find("\"cleave.support\"") != bytes.npos;
}

Loaded<SupportList> verdicts_of_native_list(const std::string& path, std::string_view bytes) {
  auto loaded = parse_support(path, bytes);
  if (!loaded) return std::move(loaded).error();
  if (loaded->list.role == ListRole::verdicts) return std::move(loaded->list);
  return Diagnostics{
      diagnostic_of(path, "is a support list without \"verdicts\": give it with --support")};
}

}  // namespace

Loaded<SupportList> parse_verdicts(const std::string& path, std::string_view bytes,
                                   const VerdictTarget& target) {
  TextFaults faults(path, bytes);
  if (faults.refuses_bytes("a verdict file is")) return std::move(faults.errors());
  if (is_native_list(bytes)) return verdicts_of_native_list(path, bytes);
  SupportList list;
  list.name = "verdicts";
  list.path = path;
  list.role = ListRole::verdicts;
  PlaceCounter places(bytes);
  const bool is_json = !trimmed(bytes).empty() && trimmed(bytes).front() == '{';
  is_json ? read_json(bytes, places, list, target, faults) : read_rows(bytes, places, list, faults);
  if (!faults.errors().empty()) return std::move(faults.errors());
  list.text = verdicts_text(list);
  return list;
}

Loaded<SupportList> read_verdict_file(const std::string& path, const VerdictTarget& target) {
  const auto source = SourceFile::open(path);
  if (!source) return source.error();
  return parse_verdicts(source->path(), source->bytes(), target);
}

// Each text becomes two deny rules, one by op and one by the node's name. A text with a domain only
// becomes the rule by op.

namespace {

constexpr std::string_view kPath = "--deny";

std::vector<Rule> rules_of(const std::string& text) {
  const ParsedOp name = parse_op(text);
  Rule by_op;
  by_op.op = name.op;
  by_op.domain = name.domain;
  if (name.has_domain && !by_op.op.empty()) return {by_op};
  Rule by_name;
  by_name.node_name = text;
  if (by_op.op.empty()) return {by_name};
  return {std::move(by_op), std::move(by_name)};
}

std::string rule_text(const Rule& rule) {
  return rule.node_name.empty() ? op_text(rule.domain, rule.op) : rule.node_name;
}

}  // namespace

SupportList list_of_denials(const std::vector<std::string>& texts) {
  SupportList list;
  list.name = kPath;
  list.path = kPath;
  JsonText json;
  json.begin_object();
  json.text("format", "cleave.support");
  json.number("version", 1);
  json.begin_list("deny");
  for (const std::string& text : texts) {
    for (Rule& rule : rules_of(text)) {
      write_deny_rule(json, rule);
      list.deny.push_back(std::move(rule));
    }
  }
  json.end_list();
  json.end_object();
  list.text = std::move(json).finish();
  return list;
}

bool is_list_of_denials(const SupportList& list) { return list.path == kPath; }

std::vector<std::string> idle_denials(const Graph& graph, const SupportList& list) {
  const RuleIndex rules(list);
  std::vector<bool> is_used(list.deny.size(), false);
  const auto use = [&](const RuleIndices& found) {
    for (const std::uint32_t i : found) is_used[i] = true;
  };
  std::set<std::pair<std::string_view, std::string_view>> ops;
  const auto look_at = [&](NodeId node) {
    use(rules.deny_of(graph.node(node).name));
    const auto [op, is_new] = ops.emplace(graph.domain(node), graph.op(node));
    if (is_new) use(rules.rules_of(op->first, op->second).deny.unnamed);
  };
  for (const NodeId node : graph.nodes()) {
    look_at(node);
    for (const NodeId inner : graph.body_nodes(node)) look_at(inner);
  }
  for (const NodeId constant : graph.constants()) look_at(constant);
  // A text is two rules, of which one will do.
  std::set<std::string> done;
  std::vector<std::string> idle;
  for (std::size_t i = 0; i < is_used.size(); ++i) {
    if (is_used[i]) done.insert(rule_text(list.deny[i]));
  }
  for (std::size_t i = 0; i < is_used.size(); ++i) {
    if (is_used[i]) continue;
    std::string text = rule_text(list.deny[i]);
    if (done.insert(text).second) idle.push_back(std::move(text));
  }
  return idle;
}

}  // namespace cleave
