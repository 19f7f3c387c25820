// Files that a report is written to, besides standard output: one option each.
#pragma once

#include <string>
#include <vector>

#include "cli/options/layout_args.h"
#include "cli/terminal/exit_code.h"
#include "formats/base/io/output_folder.h"
#include "formats/report/drawings/html_report.h"
#include "formats/report/words/report.h"

namespace CLI {
class App;
}

namespace cleave {

// --html of a report that is no single split, and --force.
class PageFile {
 public:
  void add_to(CLI::App& app);
  // With --layout-timeout, for a page with drawings.
  void add_with_drawings(CLI::App& app);
  bool is_asked() const { return !path_.empty(); }
  bool is_forced() const { return force_; }
  const LayoutLimits& limits() const { return layout_.limits(); }
  // Checks, before the work, that it can be written.
  Status<Diagnostics> check() const;
  // Prints what is wrong, and warns of drawings that could not be laid out.
  ExitCode write(const HtmlPage& page) const;
  // Paths of the files asked for.
  std::vector<std::string> written() const;

 private:
  std::string path_;
  bool force_ = false;
  LayoutArgs layout_;
};

// --html, --netron, --model-explorer, and --force.
class ReportFiles {
 public:
  void add_to(CLI::App& app);
  bool is_forced() const { return force_; }
  // Checks, before the work, that the files asked for can be written. `made` is a folder that the
  // command makes first; empty: none.
  Status<Diagnostics> check(const std::string& made = {}) const;
  // Writes the files inside the folder that the command makes, before it is committed, so that its
  // manifest lists them, too. Prints errors.
  ExitCode write_inside(const Report& report, const OutputFolder& folder) const;
  // Writes the other files, with `made` as for check(). Prints errors.
  ExitCode write(const Report& report, const std::string& made = {}) const;
  // Paths of the files asked for.
  std::vector<std::string> written() const;

 private:
  // The HTML page; warns of drawings that could not be laid out.
  std::string page_of(const Report& report) const;
  ExitCode write_model_explorer(const Report& report) const;

  std::string html_;
  LayoutArgs layout_;
  std::string netron_;
  std::string model_explorer_;  // a folder
  bool force_ = false;
};

}  // namespace cleave
