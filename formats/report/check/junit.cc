#include "formats/report/check/junit.h"

#include <algorithm>
#include <string_view>

#include "core/base/decimal.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/markup_text.h"
#include "formats/report/check/check_words.h"
#include "formats/report/check/move_text.h"

namespace cleave {
namespace {

struct Counts {
  std::size_t tests = 0;
  std::size_t failures = 0;
  std::size_t skipped = 0;

  // Totals of all suites; Jenkins's schema has no `skipped` there.
  std::string of_all() const {
    return xml_attribute("tests", std::to_string(tests)) +
           xml_attribute("failures", std::to_string(failures)) + xml_attribute("errors", "0");
  }
  std::string of_suite() const {
    return of_all() + xml_attribute("skipped", std::to_string(skipped));
  }
};

void count(const CheckRun& run, Counts& counts) {
  for (const CheckedGate& checked : run.gates) {
    ++counts.tests;
    if (!checked.gate.passed()) ++counts.failures;
    if (checked.gate.verdict == GateVerdict::not_applicable) ++counts.skipped;
  }
}

std::string property(std::string_view name, const std::string& value) {
  return "      <property" + xml_attribute("name", name) + xml_attribute("value", value) + "/>\n";
}

std::string properties(const CheckRun& run) {
  const Measures& now = run.now;
  std::string text = "    <properties>\n";
  text += property("coverage.nodes", shortest_text(now.nodes.ratio()));
  text += property("coverage.flops", shortest_text(now.flops.ratio()));
  text += property("coverage.flops.unknown_nodes", std::to_string(now.unknown_flops));
  text += property("coverage.params", shortest_text(now.parameter_bytes.ratio()));
  text += property("acc_subgraphs", std::to_string(now.acc_subgraphs));
  text += property("cpu_nodes", std::to_string(now.cpu_nodes));
  text += property("boundary_bytes", std::to_string(now.boundary_bytes));
  if (now.qps) text += property("qps", shortest_text(*now.qps));
  return text + "    </properties>\n";
}

// The nodes that broke the gate and why, one per line.
std::string broken_by(const CheckRun& run, const CheckedGate& checked) {
  std::string text = checked.detail.empty() ? "" : escaped(checked.detail) + "\n";
  if (checked.gate.kind != GateKind::max_new_cpu_nodes) return text;
  text.clear();
  for (const CheckedMove& move : run.regressions) {
    text += escaped(move.node.name) + ": " + change_text(move.change, run.settings) + ": " +
            escaped(move.node.detail) + "\n";
  }
  return text;
}

std::string test_case(const CheckRun& run, const CheckedGate& checked) {
  const Gate& gate = checked.gate;
  std::string text = "    <testcase" + xml_attribute("name", gate_name(gate)) +
                     xml_attribute("classname", run.model + " with " + run.list);
  if (gate.verdict == GateVerdict::not_applicable) {
    return text + ">\n      <skipped" + xml_attribute("message", gate_actual(run, gate)) +
           "/>\n    </testcase>\n";
  }
  if (gate.passed()) return text + "/>\n";
  const std::string limit = gate_limit(gate);
  const std::string message = gate_title(gate) + ": " + gate_actual(run, gate) +
                              (limit.empty() ? "" : ", must be " + limit);
  return text + ">\n      <failure" + xml_attribute("message", message) +
         xml_attribute("type", gate_kind_name(gate.kind)) + ">" +
         xml_lines(broken_by(run, checked)) + "</failure>\n    </testcase>\n";
}

}  // namespace

std::string check_junit(const Check& check) {
  Counts all;
  for (const CheckRun& run : check.runs) count(run, all);
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" +
                     xml_attribute("name", "cleave check") + all.of_all() + ">\n";
  for (const CheckRun& run : check.runs) {
    Counts counts;
    count(run, counts);
    text += "  <testsuite" + xml_attribute("name", run.model + " with " + run.list) +
            counts.of_suite() + ">\n" + properties(run);
    for (const CheckedGate& checked : run.gates) text += test_case(run, checked);
    text += "  </testsuite>\n";
  }
  return text + "</testsuites>\n";
}

}  // namespace cleave
