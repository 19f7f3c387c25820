// Reports of a model, and of the operators that a list supports.

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/base/words.h"
#include "core/cost/cost.h"
#include "core/graph/graph.h"
#include "core/lists/support.h"
#include "formats/base/faults.h"
#include "formats/base/fields.h"
#include "formats/base/text.h"
#include "formats/pt2/pt2.h"
#include "formats/report/split/split_texts.h"
#include "formats/report/words/report.h"
#include "formats/report/words/words.h"
#include "formats/tflite/tflite.h"

namespace cleave {

// ---- inspect text ----

namespace {

struct OpRow {
  std::string op;  // with its domain
  std::size_t nodes = 0;
  std::size_t unknown_flops = 0;  // nodes
  double flops = 0;               // of the other nodes
  bool is_at_sizes = false;       // these FLOPs are those at the first of sizes that are open
  std::set<std::string> types = {};
};

struct Inspection {
  std::vector<OpRow> ops;  // the most FLOPs first, then the most nodes, then in order of first use
  double flops = 0;
  std::size_t unknown_flops = 0;                     // nodes
  std::size_t unknown_shapes = 0;                    // tensors that nodes make
  std::optional<std::uint64_t> parameter_bytes = 0;  // each parameter once; nullopt: one is unknown
  std::size_t parameters = 0;
};

std::string op_name(const Graph& graph, NodeId node) {
  return op_text(plain_domain(graph.domain(node)), graph.op(node));
}

bool is_known(const Graph& graph, ValueId value) {
  if (!graph.value(value).is_tensor()) return true;
  if (!graph.has_rank(value)) return false;
  const Shape shape = graph.shape(value);
  return std::ranges::all_of(shape, [](Dim dim) { return dim.is_fixed(); });
}

void add_parameters(const Graph& graph, Inspection& inspection) {
  for (const ValueId parameter : graph.parameters()) {
    if (graph.canonical_parameter(parameter) != parameter || !is_in_file(graph, parameter))
      continue;
    ++inspection.parameters;
    const auto bytes = value_bytes(graph, parameter);
    if (!bytes) inspection.parameter_bytes.reset();
    if (inspection.parameter_bytes) *inspection.parameter_bytes += *bytes;
  }
}

// With `sizes` the FLOPs are those at its first sizes, where they are not known otherwise.
Inspection inspect(const Graph& graph, const OpenSizes* sizes) {
  Inspection inspection;
  auto flops = node_flops(graph);
  std::map<std::pair<NameId, NameId>, std::size_t> places;
  for (const NodeId node : graph.nodes()) {
    const std::pair<NameId, NameId> key(graph.node(node).domain, graph.node(node).op);
    const auto [place, is_new] = places.try_emplace(key, inspection.ops.size());
    if (is_new) inspection.ops.push_back({.op = op_name(graph, node)});
    OpRow& row = inspection.ops[place->second];
    ++row.nodes;
    if (!flops[node] && sizes != nullptr && sizes->node_flops[index(node)]) {
      flops[node] = sizes->node_flops[index(node)];
      row.is_at_sizes = true;
    }
    row.flops += flops[node].value_or(0);
    if (!flops[node]) ++row.unknown_flops;
    for (const ValueId output : graph.outputs(node)) {
      const Value& value = graph.value(output);
      if (value.is_tensor()) row.types.emplace(dtype_name(value.dtype));
      if (!is_known(graph, output)) ++inspection.unknown_shapes;
    }
  }
  for (const OpRow& row : inspection.ops) {
    inspection.flops += row.flops;
    inspection.unknown_flops += row.unknown_flops;
  }
  std::ranges::stable_sort(inspection.ops, [](const OpRow& a, const OpRow& b) {
    return std::pair(a.flops, a.nodes) > std::pair(b.flops, b.nodes);
  });
  add_parameters(graph, inspection);
  return inspection;
}

// What one list accepts of the model.
struct ListCoverage {
  const SupportList& list;
  std::size_t nodes = 0;
  std::size_t open_nodes = 0;   // the same where open dims are left open
  std::size_t other_opset = 0;  // nodes that it refuses for their opset alone
  std::size_t unchecked = 0;    // of `nodes`, by rules that leave a vendor's condition unchecked
  std::optional<double> flops_share = {};  // nullopt: FLOPs of a node are unknown, or all are 0
};

bool has_open_inputs(const Graph& graph) {
  return std::ranges::any_of(graph.inputs(), [&](ValueId input) {
    return graph.value(input).is_tensor() &&
           !(graph.has_rank(input) && element_count(graph.shape(input)));
  });
}

// `at_first`: the graph at the first sizes of open dims; null: none is open.
std::vector<ListCoverage> coverage_of(const LoadedModel& model, std::span<const SupportList> lists,
                                      const Graph* at_first) {
  const Graph& graph = at_first == nullptr ? model.graph : *at_first;
  const OpFacts facts = op_facts(model);
  const auto flops = node_flops(graph);
  std::vector<ListCoverage> out;
  for (const SupportList& list : lists) {
    const Support support = match_support(graph, {list}, facts);
    ListCoverage& coverage = out.emplace_back(ListCoverage{list});
    coverage.unchecked = support.unchecked.size();
    coverage.open_nodes = at_first != nullptr && has_open_inputs(model.graph)
                              ? match_support(model.graph, {list}, facts).supported.count()
                              : support.supported.count();
    double all = 0, accepted = 0;
    bool is_known = true;
    for (const NodeId node : graph.nodes()) {
      const bool is_accepted = support.supported.contains(node);
      coverage.nodes += is_accepted ? 1 : 0;
      if (fails_on_opset_alone(graph, node, {&list, 1}, support.reasons[node], facts)) {
        ++coverage.other_opset;
      }
      is_known = is_known && flops[node].has_value();
      all += flops[node].value_or(0);
      if (is_accepted) accepted += flops[node].value_or(0);
    }
    if (is_known && all > 0) coverage.flops_share = accepted / all;
  }
  return out;
}

// How to make a program of torch one that such a list accepts; empty when it does, or it is another list.
std::string core_note(const LoadedModel& model, const ListCoverage& coverage) {
  const std::size_t others = model.graph.node_count() - coverage.nodes;
  const bool is_asked = is_core_aten(coverage.list) && model.format() == ModelFormat::pt2;
  return is_asked && others > 0 ? as_line(core_aten_text(others)) : std::string();
}

// Lists that accept no node are left out, but for those that refuse the opset alone. Those that need the sizes of the
// model's inputs are named.
std::string coverage_text(const LoadedModel& model, std::span<const SupportList> lists,
                          const Graph* at_first) {
  const std::vector<ListCoverage> coverages = coverage_of(model, lists, at_first);
  const bool is_trusted =
      std::ranges::any_of(coverages, [](const ListCoverage& one) { return one.unchecked > 0; });
  std::vector<std::string> headings = {"known list", "nodes", "", "work"};
  if (is_trusted) headings.emplace_back("unchecked");
  TextTable table(std::move(headings));
  const std::size_t nodes = model.graph.node_count();
  bool is_any = false;
  std::string notes, waiting;
  for (const ListCoverage& one : coverages) {
    notes += core_note(model, one);
    if (one.open_nodes < one.nodes) {
      waiting += (waiting.empty() ? "" : ", ") + escaped(one.list.name);
    }
    if (one.nodes == 0 && one.other_opset == 0) continue;
    if (one.nodes == 0) {
      notes += as_line(escaped(one.list.name) + " refuses " + counted(one.other_opset, "node") +
                       " for the opset alone, " + opsets_text(model.graph) +
                       ", which was not measured: cleave explain says which it takes");
    }
    is_any = true;
    const double share = static_cast<double>(one.nodes) / static_cast<double>(nodes);
    std::vector<std::string> row = {
        escaped(one.list.name), count_text(one.nodes) + " of " + count_text(nodes),
        percent_text(share), one.flops_share ? percent_text(*one.flops_share) : "not known"};
    if (is_trusted) row.push_back(count_text(one.unchecked));
    table.add_row(std::move(row));
  }
  if (is_trusted) {
    notes += as_line("unchecked: the vendor also asks of these nodes what no rule checks");
  }
  if (!waiting.empty()) {
    notes +=
        as_line("take as many only where the sizes are given (--dim, --input-shape): " + waiting);
  }
  if (is_any) return '\n' + table.text() + notes;
  if (!notes.empty()) return '\n' + notes;
  return lists.empty() ? "" : "\nno node is accepted by a list that is known by name\n";
}

std::string types_text(const OpRow& row) { return joined(row.types); }

std::string work_text(const OpRow& row) {
  if (row.unknown_flops == row.nodes) return "not known";
  return flops_text(row.flops) + (row.is_at_sizes ? " @" : "") +
         (row.unknown_flops > 0 ? " and more" : "");
}

std::string total_work_text(const Inspection& inspection) {
  if (inspection.unknown_flops == 0) return flops_text(inspection.flops);
  if (inspection.flops == 0) return "FLOPs not known";
  return "at least " + flops_text(inspection.flops);
}

}  // namespace

std::vector<std::string> output_notes(const LoadedModel& model) {
  std::vector<std::string> notes(model.graph.outputs().size());
  std::size_t at = 0;
  const auto add = [&](std::string_view what, std::string_view name) {
    if (at < notes.size() && !what.empty()) {
      notes[at] = "next value of " + std::string(what) + " " + escaped(name);
    }
    ++at;
  };
  if (const Pt2Model* const pt2 = model.pt2()) {
    for (const Pt2Output& output : pt2->program.outputs) {
      std::string_view what;
      if (output.kind == Pt2OutputKind::buffer_mutation) what = "buffer";
      if (output.kind == Pt2OutputKind::parameter_mutation) what = "parameter";
      if (output.kind == Pt2OutputKind::user_input_mutation) what = "input";
      for (std::size_t i = 0; i < output.refs.size(); ++i) add(what, output.target);
    }
  } else if (const TfliteModel* const tflite = model.tflite()) {
    at = tflite->subgraph().outputs.size();
    for (const TfliteVariable& variable : tflite->state.variables) {
      if (variable.newest != kNoTflite) add("variable", variable.shared_name);
    }
  }
  return notes;
}

std::string inspect_text(const LoadedModel& model, std::span<const SupportList> lists,
                         const OpenSizes* sizes, const Graph* at_first) {
  const Graph& graph = model.graph;
  const Inspection inspection = inspect(graph, sizes);
  std::string text = as_line(
      model_name(model) + ": " + counted(graph.node_count(), "node") + ", " +
      (sizes == nullptr ? total_work_text(inspection) : open_flops_text(*sizes, sizes->flops)) +
      ", " + counted(inspection.parameters, "parameter") + " of " +
      (inspection.parameter_bytes ? bytes_text(*inspection.parameter_bytes) : "unknown size"));
  if (!graph.opsets().empty()) text += as_line("opset " + opsets_text(graph));
  const auto add_values = [&](const std::string& what, const auto& values,
                              const std::vector<std::string>& notes) {
    std::size_t at = 0;
    const auto line = [&](ValueId value) {
      const std::string note = at < notes.size() && !notes[at].empty() ? ", " + notes[at] : "";
      ++at;
      return as_line(
          what + escaped(graph.value(value).name) + ": " + type_text(graph, value) + note, 2);
    };
    text += capped_list(values, 20, line, "  ... and # more\n", "");
  };
  add_values("input ", graph.inputs(), {});
  add_values("output ", graph.outputs(), output_notes(model));
  TextTable table({"op", "nodes", "work", "makes"},
                  {Align::left, Align::right, Align::right, Align::left});
  CappedList list(40);
  for (const OpRow& row : inspection.ops) {
    if (!list.shows_next()) continue;
    table.add_row({escaped(row.op), count_text(row.nodes), work_text(row), types_text(row)});
  }
  text += '\n' + table.text() +
          list.rest("... and # more op (see --json)\n", "... and # more ops (see --json)\n");
  const bool is_at_sizes =
      std::ranges::any_of(inspection.ops, [](auto& row) { return row.is_at_sizes; });
  if (is_at_sizes) text += as_line("@: at " + first_sizes_text(*sizes));
  if (sizes != nullptr && !steps_text(*sizes).empty())
    text += as_line("for " + steps_text(*sizes), 2);
  std::string unknown;
  const auto add_unknown = [&](std::size_t count, const std::string& what) {
    if (count > 0) unknown += (unknown.empty() ? "" : ", ") + what;
  };
  add_unknown(inspection.unknown_shapes,
              "shapes of " + counted(inspection.unknown_shapes, "tensor"));
  add_unknown(inspection.unknown_flops, "FLOPs of " + counted(inspection.unknown_flops, "node"));
  if (!unknown.empty()) {
    text += '\n' + as_line("not known: " + unknown);
    const std::string dims = size_options_text(model, graph, sizes);
    if (!dims.empty()) text += as_line("to know more give " + dims, 2);
  }
  return text + coverage_text(model, lists, at_first) + notes_text(model.notes);
}

namespace {

const Fields<OpRow> kOpRowFields = {
    kOneLine,
    {{"op", the<&OpRow::op>},
     {"nodes", the<&OpRow::nodes>},
     {"flops", [](auto& row) { return when(row.unknown_flops == 0, row.flops); }},
     {"makes", the<&OpRow::types>, "Element types of the tensors that the nodes make."}}};

const Fields<ListCoverage> kListCoverageFields = {
    kOneLine,
    {{"name", [](auto& one) { return std::string_view(one.list.name); }},
     {"nodes", the<&ListCoverage::nodes>, "That it accepts."},
     {"unchecked", the<&ListCoverage::unchecked>,
      "Of these, by rules that leave a vendor's condition unchecked."},
     {"flops_share", the<&ListCoverage::flops_share>}}};

struct ValueSaid {
  std::string name, type;
  std::optional<std::string> note;
};
const Fields<ValueSaid> kValueFields = {
    kOneLine,
    {{"name", the<&ValueSaid::name>},
     {"type", the<&ValueSaid::type>,
      "As in texts: float32[N, 3, 224, 224]; ? is a size that is not known."},
     {"note", the<&ValueSaid::note>,
      "Of an output that is the next value of a state; null: it is none."}}};

std::vector<ValueSaid> values_said(const Graph& graph, const auto& values,
                                   const std::vector<std::string>& notes) {
  std::vector<ValueSaid> said;
  for (const ValueId value : values) {
    const std::string note = said.size() < notes.size() ? notes[said.size()] : "";
    said.push_back(
        {std::string(graph.value(value).name), type_text(graph, value), when(!note.empty(), note)});
  }
  return said;
}

struct InspectSaid {
  const LoadedModel& model;
  std::span<const SupportList> lists;
  const OpenSizes* sizes;
  const Graph* at_first;
  Inspection inspection;
};
const Fields<InspectSaid> kInspectFields = {
    kLines,
    {{"model", [](auto& said) { return said.model.source.path(); }},
     {"nodes", [](auto& said) { return said.model.graph.node_count(); }},
     {"flops",
      [](auto& said) {
        const Inspection& all = said.inspection;
        return when(all.unknown_flops == 0, all.flops);
      },
      "null: those of a node are not known."},
     {"open_sizes", the<&InspectSaid::sizes>,
      "How the work depends on open dims; null: on none, or it is not known.", kOpenSizesFields},
     {"nodes_of_unknown_flops", the<&InspectSaid::inspection, &Inspection::unknown_flops>},
     {"tensors_of_unknown_shape", the<&InspectSaid::inspection, &Inspection::unknown_shapes>},
     {"parameters", the<&InspectSaid::inspection, &Inspection::parameters>},
     {"parameter_bytes", the<&InspectSaid::inspection, &Inspection::parameter_bytes>,
      "Each parameter once; null: one is of unknown size."},
     {"opsets", [](auto& said) { return said.model.graph.opsets(); }, kOpsetFields},
     {"inputs",
      [](auto& said) { return values_said(said.model.graph, said.model.graph.inputs(), {}); },
      kValueFields},
     {"outputs",
      [](auto& said) {
        return values_said(said.model.graph, said.model.graph.outputs(), output_notes(said.model));
      },
      kValueFields},
     {"state", [](auto& said) { return state_of(said.model.graph); },
      "What one step of the model hands to the next.", kStateFields, kLeftOut},
     {"ops", the<&InspectSaid::inspection, &Inspection::ops>,
      "The most FLOPs first, then the most nodes.", kOpRowFields},
     {"lists", [](auto& said) { return coverage_of(said.model, said.lists, said.at_first); },
      "What lists that are known by name accept, at the first sizes of `open_sizes`.",
      kListCoverageFields}}};

}  // namespace

Document inspect_document() {
  return {"inspect", "What a model is made of: `inspect --json`.", kInspectFields.table()};
}

std::string inspect_json(const LoadedModel& model, std::span<const SupportList> lists,
                         const OpenSizes* sizes, const Graph* at_first) {
  return document_text("inspect", kInspectFields,
                       InspectSaid{model, lists, sizes, at_first, inspect(model.graph, nullptr)});
}

// ---- support report ----
//
// `preview --show ops`: the op types of a model with their dtypes, as the lists judge them, before any pass
// keeps an accepted node on the CPU.

namespace {

struct SignatureCount {
  Signature signature;
  ReasonCode code = ReasonCode::none;  // of the first node that has it
  std::string reason = {};
  std::size_t count = 0;
};

struct OpCount {
  std::string_view op, domain;
  std::size_t count = 0;
  std::vector<SignatureCount> signatures = {};  // in order of first use
};

// The ops of some nodes, in order of first use.
class OpTable {
 public:
  explicit OpTable(const Report& report) : report_(report), reasons_(reason_context(report)) {}

  void add(NodeId node) {
    const Graph& graph = report_.graph;
    const Node& record = graph.node(node);
    const std::uint64_t key = std::uint64_t{index(record.domain)} << 32U | index(record.op);
    const auto [place, is_new] = places_.try_emplace(key, ops.size());
    if (is_new) {
      ops.push_back({graph.op(node), graph.domain(node)});
      signatures_.emplace_back();
    }
    OpCount& op = ops[place->second];
    ++op.count;
    Signature signature = signature_of(graph, node);
    const auto [at, is_new_signature] =
        signatures_[place->second].try_emplace(signature, op.signatures.size());
    if (is_new_signature) {
      const Reason& reason = report_.split.support.reasons[node];
      const bool is_accepted = reason.code == ReasonCode::none;
      op.signatures.push_back({std::move(signature), reason.code,
                               is_accepted ? "" : reason_text(reasons_, node, reason)});
    }
    ++op.signatures[at->second].count;
  }

  std::vector<OpCount> ops;

 private:
  const Report& report_;
  ReasonContext reasons_;
  std::unordered_map<std::uint64_t, std::size_t> places_;
  std::vector<std::map<Signature, std::size_t>> signatures_;  // by op
};

// ---- JSON ----

struct MatchedPattern {
  const Pattern* pattern;
  std::string_view file;
  std::size_t matches = 0, nodes = 0;
};

struct SupportReport {
  std::vector<OpCount> supported, unsupported;
  std::vector<MatchedPattern> patterns;
  Coverages coverage;
};

SupportReport support_report(const Report& report) {
  OpTable supported(report), unsupported(report);
  for (const NodeId node : report.graph.nodes()) {
    (report.split.support.supported.contains(node) ? supported : unsupported).add(node);
  }
  const PatternMatches& matches = report.split.support.patterns;
  std::map<std::pair<std::uint16_t, std::uint32_t>, std::pair<std::size_t, std::size_t>> counts;
  for (std::size_t i = 0; i < matches.count(); ++i) {
    auto& [times, nodes] = counts[{matches.matches[i].list, matches.matches[i].pattern}];
    ++times;
    nodes += matches.nodes_of(i).size();
  }
  const auto pattern_of = [&](const auto& one) {
    const SupportList& list = report.lists[one.first.first];
    return MatchedPattern{&list.patterns[one.first.second], list.path, one.second.first,
                          one.second.second};
  };
  return {std::move(supported.ops), std::move(unsupported.ops), each(counts, pattern_of),
          cover(report.graph, report.split.support.supported)};
}

const Fields<SignatureCount> kCountFields = {
    kOneLine,
    {{the<&SignatureCount::signature>, kSignatureFields},
     {"count", the<&SignatureCount::count>},
     {"reason", the<&SignatureCount::reason>, "Of the first node that has the signature.",
      kLeftOut}}};

const Fields<OpCount> kOpFields = {kLines,
                                   {{"op", the<&OpCount::op>},
                                    {"domain", the<&OpCount::domain>},
                                    {"count", the<&OpCount::count>},
                                    {"signatures", the<&OpCount::signatures>, kCountFields}},
                                   "op"};

const Fields<MatchedPattern> kPatternFields = {
    kOneLine,
    {{"name", the<&MatchedPattern::pattern, &Pattern::name>},
     {"file", the<&MatchedPattern::file>},
     {"line", the<&MatchedPattern::pattern, &Pattern::line>},
     {"matches", the<&MatchedPattern::matches>},
     {"nodes", the<&MatchedPattern::nodes>}}};

const Fields<SupportReport> kSupportFields = {
    kLines,
    {{"supported", the<&SupportReport::supported>, kOpFields},
     {"unsupported", the<&SupportReport::unsupported>, kOpFields},
     {"patterns", the<&SupportReport::patterns>,
      "Patterns of the lists that match: how often, and how many nodes they accept.",
      kPatternFields},
     {"coverage", the<&SupportReport::coverage>, "What the list accepts.", kCoverageFields}}};

// ---- text ----

// The ops of nodes with the verdict, the most frequent first.
std::vector<OpCount> ops_with(const Report& report, ReasonCode verdict) {
  OpTable table(report);
  for (const NodeId node : report.graph.nodes()) {
    if (report.split.support.reasons[node].code == verdict) table.add(node);
  }
  std::ranges::stable_sort(table.ops,
                           [](const OpCount& a, const OpCount& b) { return a.count > b.count; });
  return std::move(table.ops);
}

void add_ops(Page& page, const std::string& title, const std::vector<OpCount>& ops) {
  if (ops.empty()) return;
  TextTable rows({title, "nodes", "inputs"}, {Align::left, Align::right, Align::left});
  std::vector<std::string> reasons{""};
  for (const OpCount& op : ops) {
    std::string name = escaped(op_text(plain_domain(op.domain), op.op));
    for (const SignatureCount& one : op.signatures) {
      rows.add_row({"  " + std::exchange(name, ""), count_text(one.count),
                    fitted(signature_text(one.signature), 40)});
      reasons.push_back(one.code == ReasonCode::no_rule ? "" : one.reason);
    }
  }
  page.table(rows, reasons, 300);
}

}  // namespace

Document support_report_document() {
  return {"support_report",
          "`preview --show ops --json`: the op types of a model with the dtypes that they occur "
          "with, and whether the list supports them, before any pass moves an accepted node to the "
          "CPU. In order of first use.",
          kSupportFields.table()};
}

std::string support_report_json(const Report& report) {
  return document_text("support_report", kSupportFields, support_report(report));
}

std::string support_report_text(const Report& report) {
  Page page;
  std::string by;
  const std::string joint = are_all_of(report.lists) ? " and " : " or ";
  for (const SupportList& list : report.lists) by += (by.empty() ? "" : joint) + list.name;
  page.line(fitted(model_name(report.model), 40) + ": " +
            coverage_text(cover(report.graph, report.split.support.supported),
                          "accepted by " + escaped(by)));
  const PatternMatches& patterns = report.split.support.patterns;
  if (patterns.count() > 0) {
    page.line(count_text(patterns.first_of_node.size()) + " of the nodes by patterns: " +
                  pattern_counts_text(reason_context(report), patterns),
              2);
  }
  add_ops(page, "supported", ops_with(report, ReasonCode::none));
  add_ops(page, "no rule", ops_with(report, ReasonCode::no_rule));
  add_ops(page, "no pattern fits", ops_with(report, ReasonCode::pattern_failed));
  add_ops(page, "refused", ops_with(report, ReasonCode::rule_failed));
  add_ops(page, "denied", ops_with(report, ReasonCode::denied));
  return page.take();
}

}  // namespace cleave
