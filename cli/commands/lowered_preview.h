// `preview --lower`: the report of a split, and what real compilers say of its partitions.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cli/terminal/terminal.h"
#include "core/base/base.h"
#include "formats/report/words/report.h"
#include "formats/run/jobs/jobs.h"

namespace CLI {
class App;
}

namespace cleave {

// An interface, so that `preview` is built with or without compilers.
class LoweredPreview {
 public:
  struct Verdicts {
    std::string text;  // JSON: the report with the verdicts, one object; else what follows its text
    ExitCode code;
  };

  virtual ~LoweredPreview() = default;
  // --lower, --reference, --inputs, --seed
  virtual void add_to(CLI::App& app) = 0;
  virtual bool is_asked() const = 0;
  // The exit code, after printing why, when there are several targets or the backends cannot be had for
  // this model; else nullopt.
  virtual std::optional<ExitCode> check(const ListsRequest& lists) const = 0;
  virtual std::optional<ExitCode> load(const LoadedModel& model, const std::string& path) = 0;
  // Compiles each accelerator partition. Error: the exit code, after printing why.
  virtual Result<Verdicts, ExitCode> run(const SplitJob& job, const Report& report,
                                         bool is_json) = 0;
};

// Null in a program without compilers.
std::unique_ptr<LoweredPreview> make_lowered_preview();

}  // namespace cleave
