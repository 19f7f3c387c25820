// cleave draw: the model coloured by support, or its parts, as a Graphviz file or laid out as SVG.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/commands/command.h"
#include "cli/jobs/split_run.h"
#include "cli/options/whole_number.h"
#include "cli/terminal/terminal.h"
#include "formats/io/output_folder.h"
#include "formats/report/drawings/dot.h"

namespace cleave {
namespace {

constexpr std::size_t kCollapseDot = 2000;
constexpr std::size_t kCollapseSvg = 500;  // Graphviz takes minutes beyond

class DrawCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    model_.add_to(app);
    model_.add_costs_to(app);
    support_.add_to(app, true);
    split_.add_to(app);
    app.add_option("-o,--output", output_, "file to write; standard output when not given")
        ->type_name("FILE");
    app.add_flag("--svg", svg_, "lay the drawing out and write SVG");
    app.add_option("--what", what_,
                   "support: the whole model; preview: partitions and what flows between them; or "
                   "a partition's name")
        ->capture_default_str();
    app.add_option("--collapse-above", collapse_above_,
                   "draw partitions instead of nodes above so many nodes [2000, with --svg 500]")
        ->check(whole_number())
        ->type_name("NODES");
  }

  ExitCode run() override {
    if (!output_.empty()) {
      const auto fault = check_may_write(output_);
      if (!fault) return refuse(fault.error(), ExitCode::cannot_write);
    }
    ExitCode code;
    const auto run = SplitRun::make(model_, support_, split_, code);
    if (!run) return code;
    const Report report = run->report();
    const std::size_t limit = collapse_above_.value_or(svg_ ? kCollapseSvg : kCollapseDot);
    std::string drawing;
    if (what_ == "support") {
      drawing = draw_support(report, limit);
    } else if (what_ == "preview") {
      drawing = draw_preview(report);
    } else {
      const auto& names = run->split().partition.names;
      const auto found = std::find(names.begin(), names.end(), what_);
      if (found == names.end()) return no_such_part(names);
      drawing =
          draw_part(report, id_at<PartId>(static_cast<std::size_t>(found - names.begin())), limit);
    }
    if (svg_) {
      auto laid_out = layout_svg(drawing);
      if (!laid_out) return refuse(laid_out.error(), ExitCode::external_failed);
      drawing = *std::move(laid_out);
    }
    return deliver(drawing);
  }

 private:
  ExitCode no_such_part(const std::vector<std::string>& names) const {
    const std::string near =
        nearest_name(what_, std::vector<std::string_view>(names.begin(), names.end()));
    std::string hint = "--what takes support, preview or a partition's name";
    if (!near.empty()) hint += "; did you mean " + cleave::quoted(near) + "?";
    print_error("there is no partition " + cleave::quoted(what_), {hint});
    return ExitCode::usage;
  }

  ExitCode deliver(const std::string& drawing) const {
    if (output_.empty()) {
      write_stdout(drawing);
      return ExitCode::done;
    }
    const auto written = write_file(output_, drawing);
    return written ? ExitCode::done : refuse(written.error(), ExitCode::cannot_write);
  }

  ModelArgs model_;
  SupportArgs support_;
  SplitArgs split_;
  std::string output_;
  std::string what_ = "support";
  bool svg_ = false;
  std::optional<std::size_t> collapse_above_;
};

}  // namespace

std::unique_ptr<Command> make_draw_command() { return std::make_unique<DrawCommand>(); }

}  // namespace cleave
