#include "cli/jobs/lower_run.h"

#include <filesystem>

#include "cli/jobs/jobs.h"
#include "cli/terminal/terminal.h"
#include "core/base/words.h"
#include "formats/run/lowering/lowering_job.h"

namespace cleave {

std::optional<WorkFolder> open_work_folder() {
  auto folder = WorkFolder::make_in(std::filesystem::temp_directory_path().string());
  if (folder) return folder;
  print_error("the folder for temporary files cannot be written", {"set TMPDIR to another"});
  return std::nullopt;
}

bool is_for_compilers(const LoadedModel& model, const std::string& path) {
  if (PieceCutter::can_cut(model.format())) return true;
  refuse({diagnostic_of(
      path,
      "is native JSON: compilers take pieces of ONNX, torch.export and TensorFlow Lite models")});
  return false;
}

void say_folded(std::size_t nodes) {
  print_info(counted(nodes, "node only computes", "nodes only compute") +
             " known integers: compiled as constants, as with --fold write, which "
             "cleave split then needs, too");
}

Result<LowerOutcome, ExitCode> lower_with_progress(const SplitJob& split,
                                                   const std::vector<Backend>& backends,
                                                   LowerOptions& options) {
  auto outcome = [&] {
    ProgressBar bar(split.model().source.path(), InLog::lines);
    options.pool.progress = bar.observer();
    options.pool.warn = [&bar](const std::string& warning) {
      bar.erase();
      print_warning(warning);
    };
    return lower_model(split, backends, options);
  }();
  if (!outcome) return refuse(outcome.error());
  return *std::move(outcome);
}

}  // namespace cleave
