// cleave.check: the fields of the format's description; each entry also has its model and list.
#include <algorithm>

#include "formats/base/json/text.h"
#include "formats/report/check/check.h"
#include "formats/report/check/check_words.h"
#include "formats/report/check/move_json.h"

namespace cleave {
namespace {

class CheckWriter {
 public:
  explicit CheckWriter(const Check& check) : check_(check) {}

  std::string write() {
    json_.begin_object();
    json_.text("format", "cleave.check");
    json_.number("version", 1);
    json_.flag("passed", check_.passed());
    json_.begin_list("runs");
    for (const CheckRun& run : check_.runs) write_run(run);
    json_.end_list();
    json_.begin_list("gates");
    for (const CheckRun& run : check_.runs) {
      for (const CheckedGate& checked : run.gates) write_gate(run, checked);
    }
    json_.end_list();
    json_.begin_list("errors");
    for (const CheckError& error : check_.errors) {
      json_.begin_object(JsonText::Layout::one_line);
      json_.text("model", error.model);
      json_.text("message", error.message);
      json_.end_object();
    }
    json_.end_list();
    write_moves("regressions", &CheckRun::regressions);
    write_moves("improvements", &CheckRun::improvements);
    const bool has_targets = std::any_of(check_.runs.begin(), check_.runs.end(),
                                         [](const auto& run) { return !run.now.targets.empty(); });
    if (has_targets) write_moves("moved", &CheckRun::moved);
    json_.end_object();
    return std::move(json_).finish();
  }

 private:
  void write_whose(const CheckRun& run) {
    json_.text("model", run.model);
    json_.text("list", run.list);
  }

  void write_run(const CheckRun& run) {
    json_.begin_object();
    write_whose(run);
    json_.flag("passed", run.passed());
    write_measures(json_, run.now);
    json_.flag("baseline", run.before.has_value());
    json_.begin_list("settings_changed");
    for (const std::string& setting : run.settings) json_.text(setting);
    json_.end_list();
    json_.number("removed_nodes", run.removed);
    json_.end_object();
  }

  void write_gate(const CheckRun& run, const CheckedGate& checked) {
    const Gate& gate = checked.gate;
    json_.begin_object();
    json_.text("name", gate_name(gate));
    write_whose(run);
    json_.number("limit", limit_of(gate));
    json_.number("actual", gate.actual);
    json_.number("baseline", gate.baseline);
    json_.flag("passed", gate.passed());
    json_.text("verdict", gate_verdict_name(gate.verdict));
    json_.text("detail", checked.detail);
    json_.end_object();
  }

  // If the baseline had no rate, there is no limit.
  static std::optional<double> limit_of(const Gate& gate) {
    if (gate.kind == GateKind::qps_regression && !gate.baseline) return std::nullopt;
    return gate.limit;
  }

  void write_moves(std::string_view key, std::vector<CheckedMove> CheckRun::*moves) {
    json_.begin_list(key);
    for (const CheckRun& run : check_.runs) {
      for (const CheckedMove& move : run.*moves) {
        json_.begin_object();
        write_whose(run);
        write_move(json_, move, run.targets);
        json_.end_object();
      }
    }
    json_.end_list();
  }

  const Check& check_;
  JsonText json_;
};

}  // namespace

std::string check_json(const Check& check) { return CheckWriter(check).write(); }

}  // namespace cleave
