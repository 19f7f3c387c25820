// cleave draw: draws the model coloured by support, or its partitions, as a Graphviz file or as
// SVG.
#include <algorithm>
#include <array>
#include <filesystem>

#include "cli/commands/command.h"
#include "cli/jobs/jobs.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "core/base/words.h"
#include "formats/base/files.h"
#include "formats/base/text.h"
#include "formats/report/drawings/drawings.h"
#include "formats/report/words/words.h"

namespace cleave {
namespace {

constexpr std::size_t kFewBoxes = 12;  // after Graphviz failed on more

class DrawCommand : public Command {
 public:
  explicit DrawCommand(const Given& given)
      : request_(given.split),
        layout_(layout_limits(given)),
        output_(given.file("--output")),
        force_(given.flag("--force")),
        what_(given.text("--show")),
        color_by_(given.word<ColorBy>("--color-by")),
        collapse_above_(static_cast<std::size_t>(given.limit("drawn-nodes").value_or(2000))) {}

  ExitCode run() override {
    if (const std::string kind = kind_of_picture(output_); kind == "svg") {
      svg_ = true;
    } else if (!kind.empty()) {
      return no_such_picture(kind);
    }
    if (const auto unwritable = refuse_unwritable(output_, force_)) return *unwritable;
    const auto run = split_with_progress(request_);
    if (!run) return run.error();
    const Report report = run->report();
    if (color_by_ == ColorBy::time && !has_times(*report.time)) return no_times(report);
    if (color_by_ != ColorBy::support) heat_ = make_heat(report, color_by_);
    const HeatMap* const heat = heat_ ? &*heat_ : nullptr;
    const DrawnEdges edges = svg_ ? DrawnEdges::shorter : DrawnEdges::all;
    std::string drawing;
    if (what_ == "support") {
      drawing = draw_support(report, collapse_above_, heat, edges);
    } else if (what_ == "preview") {
      drawing = draw_preview(report, heat, edges);
    } else {
      const auto& names = run->split().partition.names;
      const auto found = std::ranges::find(names, what_);
      if (found == names.end()) return no_such_part(names);
      drawing = draw_part(report, id_at<PartId>(static_cast<std::size_t>(found - names.begin())),
                          collapse_above_, heat, edges);
    }
    if (!svg_) return deliver(drawing);
    LaidOut svg = lay_out_with_progress(drawing);
    if (!svg && what_ != "preview") svg = lay_out_coarser(report, svg.error());
    if (svg) return deliver(*svg);
    print_error(
        "the drawing was not laid out: " + svg.error().message,
        {"-o FILE.dot writes the drawing for `dot`; --limit layout-time=60s gives more time"});
    return ExitCode::external_failed;
  }

 private:
  // The ending of a file's name, in lower case, if it is that of a picture; else "".
  static std::string kind_of_picture(const std::string& path) {
    constexpr std::array<std::string_view, 11> kPictures = {
        "svg", "png", "pdf", "jpg", "jpeg", "gif", "bmp", "webp", "tif", "tiff", "ps"};
    std::string kind = std::filesystem::path(path).extension().string();
    if (kind.empty()) return {};
    kind = lower_case(kind.substr(1));
    const bool is_picture = contains(kPictures, kind);
    return is_picture ? kind : "";
  }

  ExitCode no_such_picture(const std::string& kind) const {
    print_error(
        "-o " + escaped(output_) + ": drawings are written as DOT or SVG, not as " + kind,
        {"Graphviz makes it of DOT: cleave draw ... | dot -T" + kind + " -o " + shell_word(output_),
         "or name the file FILE.svg"});
    return ExitCode::usage;
  }

  static ExitCode no_times(const Report& report) {
    print_error("--color-by time: no node's time is known",
                {missing_number_text(report.graph, *report.time)});
    return ExitCode::usage;
  }

  ExitCode no_such_part(const std::vector<std::string>& names) const {
    const std::string near =
        nearest_name(what_, std::vector<std::string_view>(names.begin(), names.end()));
    std::string hint = "--show takes support, preview or a partition's name";
    if (!near.empty()) hint += "; did you mean " + escaped_in_quotes(near) + "?";
    print_error("there is no partition " + escaped_in_quotes(what_), {hint});
    return ExitCode::usage;
  }

  LaidOut lay_out_with_progress(const std::string& drawing) const {
    ProgressBar bar(request_.model.path);
    return lay_out(drawing, layout_, bar.observer());
  }

  // Lays out partitions instead of nodes; for one partition its op types.
  LaidOut lay_out_coarser(const Report& report, const Error& fault) const {
    const auto& names = report.split.partition.names;
    const auto part = std::ranges::find(names, what_);
    if (part == names.end()) {
      print_warning("drawn as partitions, not as nodes: " + fault.message);
      return lay_out_with_progress(
          draw_preview(report, heat_ ? &*heat_ : nullptr, DrawnEdges::shorter));
    }
    print_warning("drawn as op types, not as nodes: " + fault.message);
    const auto id = id_at<PartId>(static_cast<std::size_t>(part - names.begin()));
    return lay_out_with_progress(draw_part(report, id, kFewBoxes));
  }

  ExitCode deliver(const std::string& drawing) const {
    return write_text(output_, drawing, force_);
  }

  const SplitRequest& request_;
  LayoutLimits layout_;
  std::string output_;
  bool force_;
  std::string what_;
  ColorBy color_by_;
  std::optional<HeatMap> heat_;
  bool svg_ = false;
  std::size_t collapse_above_;
};

}  // namespace

std::unique_ptr<Command> make_draw_command(const Given& given) {
  return std::make_unique<DrawCommand>(given);
}

}  // namespace cleave
