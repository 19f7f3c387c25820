// cleave probe: asks a compiler about each node, and writes what it accepts as a support list.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cli/commands/compiler_commands.h"
#include "cli/jobs/jobs.h"
#include "cli/jobs/lower_run.h"
#include "cli/options/backend_args.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "formats/base/files.h"
#include "formats/report/lowering/lowering_report.h"

namespace cleave {
namespace {

class ProbeCommand : public Command {
 public:
  explicit ProbeCommand(const Given& given)
      : given_(given),
        paths_(given.texts("MODEL")),
        backend_(given, CulpritSearch::node, kProbeSearchRuns),
        output_(given.text("--output")),
        force_(given.flag("--force")) {}

  ExitCode run() override {
    if (backend_.names.size() != 1) {
      print_error("probe takes one backend: each has a list of its own");
      return ExitCode::usage;
    }
    if (!load_models()) return ExitCode::bad_input;
    const auto backends = backend_.load(models_.front().format());
    if (!backends) return ExitCode::bad_input;
    // Now that all inputs are known, and before compilers run for long.
    for (const std::string& path : outputs()) {
      if (const auto unwritable = refuse_unwritable(path, force_)) return *unwritable;
    }
    if (!output_.empty() && !may_be_evidence(evidence_path())) {
      print_error(evidence_path() +
                  ": is not the evidence of a probe, which would be written here: move it, or "
                  "write elsewhere");
      return ExitCode::cannot_write;
    }
    for (const LoadedModel& model : models_) {
      std::vector<NodeId> nodes;
      for (const NodeId node : model.graph.nodes()) nodes.push_back(node);
      backend_.use_default_reference(model, nodes);
    }
    const auto work = open_work_folder();
    if (!work) return ExitCode::cannot_write;
    backend_.set_up(work->path());
    return probe({models_, facts_, *backends, backend_.search.most_runs});
  }

 private:
  std::vector<std::string> outputs() const {
    if (output_.empty()) return {};
    return {output_, evidence_path()};
  }

  std::string evidence_path() const { return output_ + ".evidence.jsonl"; }

  // False for a file of another kind: its name is made up by cleave, so it may be the user's.
  static bool may_be_evidence(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string begin(kEvidenceBegin.size(), '\0');
    file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    begin.resize(static_cast<std::size_t>(file.gcount()));
    return begin.empty() || begin == kEvidenceBegin;
  }

  bool load_models() {
    bool is_good = true;
    BoundModels bound(given_, paths_.size() > 1);
    for (const std::string& path : paths_) {
      auto model = bound.load(path);
      is_good = is_good && model && is_for_compilers(*model, path);
      if (model) models_.push_back(*std::move(model));
    }
    for (const LoadedModel& model : models_) facts_.push_back(op_facts(model));
    return is_good && bound.are_all_bound() && is_one_if_tflite();
  }

  // Rules learned of operators name their versions, which are known of one model at a time.
  bool is_one_if_tflite() const {
    const auto is_tflite = [](const LoadedModel& model) {
      return model.format() == ModelFormat::tflite;
    };
    if (models_.size() == 1 || std::ranges::none_of(models_, is_tflite)) return true;
    print_error("TensorFlow Lite models are probed one at a time",
                {"give each a list of its own: -s takes several lists"});
    return false;
  }

  ExitCode probe(const ProbeInput& input) {
    const auto outcome = [&] {
      ProgressBar bar(paths_.front(), InLog::lines);
      backend_.pool.progress = bar.observer();
      return probe_models(input, backend_.pool);
    }();
    if (!outcome) return cleave::refuse(outcome.error());
    const ProbeReport report{input, *outcome, output_};
    if (const auto written = write(report); !written) {
      return refuse(written.error(), ExitCode::cannot_write);
    }
    write_stdout(probe_text(report), outputs());
    return ExitCode::done;
  }

  // The list and its evidence, or neither; what is no file, as a link or a device, is written to.
  Status<Diagnostics> write(const ProbeReport& report) const {
    if (output_.empty()) return Done{};
    const std::filesystem::path list = output_, evidence = evidence_path();
    std::error_code error;
    const auto kind = std::filesystem::symlink_status(list, error).type();
    if (kind != std::filesystem::file_type::not_found &&
        kind != std::filesystem::file_type::regular) {
      const auto written = write_file(evidence, probe_evidence(report), force_);
      return written ? write_file(list, probed_list_json(report), force_) : written;
    }
    auto folder = OutputFolder::beside(list, force_);
    if (!folder) return std::move(folder).error();
    auto written = folder->write(list.filename().string(), probed_list_json(report));
    if (written) written = folder->write(evidence.filename().string(), probe_evidence(report));
    return written ? folder->commit() : written;
  }

  const Given& given_;
  std::vector<std::string> paths_;
  BackendArgs backend_;
  std::string output_;
  bool force_;
  std::vector<LoadedModel> models_;
  std::vector<OpFacts> facts_;
};

}  // namespace

std::unique_ptr<Command> make_probe_command(const Given& given) {
  return std::make_unique<ProbeCommand>(given);
}

}  // namespace cleave
