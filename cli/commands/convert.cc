// cleave convert: any readable model as native graph JSON.
#include <CLI/CLI.hpp>

#include "cli/commands/command.h"
#include "cli/jobs/jobs.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "formats/base/files.h"
#include "formats/models/graph_json.h"

namespace cleave {
namespace {

class ConvertCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    add_model_options(app, model_);
    add_report_option(app, "-o,--output", output_,
                      "file to write; - or not given: standard output");
    add_force_option(app, force_);
  }

  ExitCode run() override {
    if (output_ == "-") output_.clear();  // standard output
    if (!output_.empty()) {
      const auto fault = check_may_write(output_, force_);
      if (!fault) return refuse(fault.error(), ExitCode::cannot_write);
    }
    const auto model = load_model(model_);
    if (!model) return ExitCode::bad_input;
    const std::string text = write_graph_json(*model);
    if (output_.empty()) {
      write_stdout(text);
      return ExitCode::done;
    }
    const auto written = write_file(output_, text, force_);
    return written ? ExitCode::done : refuse(written.error(), ExitCode::cannot_write);
  }

 private:
  ModelRequest model_;
  std::string output_;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Command> make_convert_command() { return std::make_unique<ConvertCommand>(); }

}  // namespace cleave
