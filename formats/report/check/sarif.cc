#include "formats/report/check/sarif.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "core/graph/fingerprint.h"
#include "formats/base/json/text.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/markup_text.h"
#include "formats/base/text/number_text.h"
#include "formats/report/check/check_words.h"
#include "formats/report/check/sarif_words.h"

namespace cleave {
namespace {

using Layout = JsonText::Layout;

// By reason code; the first is for gates.
constexpr std::array<SarifRule, kReasonCodeCount> kRules = {{
    {"gate", "GateFails", "A gate of cleave check does not hold.",
     "Change the gate's limit, or fix what breaks it."},
    {"no_rule", "NoRule", "No rule of the support list names the operator.",
     "Add an allow rule for it once the accelerator can run it."},
    {"rule_failed", "RuleFailed", "A rule names the operator, but its conditions do not hold.",
     "Widen the rule's conditions, or change the model to meet them."},
    {"denied", "Denied", "A deny rule takes the node off the accelerator.",
     "Narrow or remove the deny rule once it is not needed."},
    {"non_tensor_input", "NonTensorInput", "The node reads non-tensor data from a node on the CPU.",
     "Support the node that makes the data, or allow such data to cross: --allow-non-tensor."},
    {"non_tensor_output", "NonTensorOutput",
     "The node makes non-tensor data for a node on the CPU, or for the caller.",
     "Support the node that reads the data, or allow such data to cross: --allow-non-tensor."},
    {"fusion_group", "FusionGroup", "The node is tied to a CPU node by non-tensor data.",
     "Support every node of the group, or form no groups: --skip-fusion."},
    {"small_subgraph", "SmallSubgraph",
     "The node's accelerator subgraph was below the minimum size.",
     "Support its neighbours, or lower --min-acc-module-size."},
    {"host_shape", "HostShape", "The node computes shapes, which stays on the host.",
     "Run without --host-shapes to place it on its own."},
    {"qdq_group", "QdqGroup", "The node's quantize/dequantize group holds a CPU node.",
     "Support every node of the group, or run without --keep-qdq."},
    {"over_cap", "OverCap", "The node's accelerator subgraph was beyond the number to keep.",
     "Keep more accelerator subgraphs."},
    {"costs_more", "CostsMore", "An inference is faster with the node on the CPU.",
     "Run with --place priority to place it by the lists alone."},
    {"shared_memory", "SharedMemory",
     "The node and a CPU node use memory that is written in place, so one partition has both.",
     "Support every node that uses the memory, or decompose the program before it is saved."},
    {"part_limit", "PartLimit",
     "The node, or its group, is by itself beyond the list's limit on a whole partition.",
     "Raise the list's limit, or split the node."},
    {"pattern_failed", "PatternFailed",
     "Only a pattern names the operator, and the pattern does not match around the node.",
     "Change the pattern to what the model has, or add a rule for the operator."},
    {"pattern_group", "PatternGroup", "A pattern keeps the node together with a CPU node.",
     "Support every node of the match."},
}};

class SarifWriter {
 public:
  explicit SarifWriter(const Check& check) : check_(check) {}

  std::string write() {
    begin_sarif(json_, kRules);
    write_gates();
    for (const bool is_breaking : {true, false}) write_nodes(is_breaking);
    return end_sarif(std::move(json_), left_out());
  }

 private:
  static constexpr std::size_t kMostResults = 5000;

  struct Result {
    std::size_t rule;
    bool is_error;
    std::string message;
    RulePlace place;
    const CheckRun& run;
    std::string node;  // empty: for a gate
  };

  void write_result(const Result& result) {
    if (written_++ >= kMostResults) return;
    json_.begin_object();
    json_.text("ruleId", kRules[result.rule].id);
    json_.number("ruleIndex", result.rule);
    json_.text("level", result.is_error ? "error" : "note");
    write_sarif_text(json_, "message", result.message);
    json_.begin_list("locations");
    json_.begin_object();
    write_place(result.place);
    if (!result.node.empty()) write_logical_place(result);
    json_.end_object();
    json_.end_list();
    json_.begin_object("partialFingerprints", Layout::one_line);
    json_.text("primaryLocationLineHash", hash_of(result));
    json_.end_object();
    json_.end_object();
  }

  void write_place(const RulePlace& place) {
    json_.begin_object("physicalLocation");
    json_.begin_object("artifactLocation", Layout::one_line);
    json_.text("uri", uri_text(place.file));
    json_.end_object();
    json_.begin_object("region", Layout::one_line);
    json_.number("startLine", std::max(place.line, 1U));
    if (place.column > 0) json_.number("startColumn", place.column);
    json_.end_object();
    json_.end_object();
  }

  void write_logical_place(const Result& result) {
    json_.begin_list("logicalLocations");
    json_.begin_object(Layout::one_line);
    json_.text("name", result.node);
    json_.text("fullyQualifiedName", result.run.model + "/" + result.node);
    json_.text("kind", "element");
    json_.end_object();
    json_.end_list();
  }

  // Identifies a result across runs: depends on model, list, node and rule only.
  static std::string hash_of(const Result& result) {
    const std::string key = result.run.model + '\n' + result.run.list + '\n' + result.node + '\n' +
                            std::string(kRules[result.rule].id) +
                            (result.node.empty() ? '\n' + result.message : std::string());
    return fingerprint_text(fingerprint(key));
  }

  void write_gates() {
    for (const CheckRun& run : check_.runs) {
      for (const CheckedGate& checked : run.gates) {
        if (checked.gate.passed()) continue;
        write_result({0,
                      true,
                      run_title(run) + ": " + gate_sentence(run, checked),
                      run.list_place,
                      run,
                      {}});
      }
    }
  }

  void write_nodes(bool is_breaking) {
    for (const CheckRun& run : check_.runs) {
      for (const CheckedNode& node : run.cpu_nodes) {
        if (node.breaks_gate != is_breaking) continue;
        write_result({static_cast<std::size_t>(node.code), is_breaking,
                      escaped_in_quotes(node.name) + " (" + escaped(node.op) + ") of " +
                          escaped(run.model) + " runs on the CPU: " + node.detail,
                      node.place, run, node.name});
      }
    }
  }

  // Results not written, and nodes that were not even listed.
  std::size_t left_out() const {
    std::size_t count = written_ > kMostResults ? written_ - kMostResults : 0;
    for (const CheckRun& run : check_.runs) count += run.now.cpu_nodes - run.cpu_nodes.size();
    return count;
  }

  const Check& check_;
  std::size_t written_ = 0;
  JsonText json_;
};

}  // namespace

std::string check_sarif(const Check& check) { return SarifWriter(check).write(); }

}  // namespace cleave
