// Files that a report is written to, beside what is printed: an option each.
#pragma once

#include <string>
#include <vector>

#include "cli/options/layout_args.h"
#include "cli/terminal/exit_code.h"
#include "formats/io/output_folder.h"
#include "formats/report/words/report.h"

namespace CLI {
class App;
}

namespace cleave {

class ReportFiles {
 public:
  void add_to(CLI::App& app);
  // Whether those that were asked for can be written, before the work is done. `made`: a folder
  // that the command makes first; empty: none.
  Status<Diagnostics> check(const std::string& made = {}) const;
  // Writes those that are to be in the folder that the command makes, before it is committed, so
  // that its manifest lists them, too. Prints what went wrong.
  ExitCode write_inside(const Report& report, const OutputFolder& folder) const;
  // Writes the others that were asked for, `made` as for check(); prints what went wrong.
  ExitCode write(const Report& report, const std::string& made = {}) const;
  // Paths of those that were asked for.
  std::vector<std::string> written() const;

 private:
  // The HTML page; warns of what could not be laid out.
  std::string page_of(const Report& report) const;
  ExitCode write_model_explorer(const Report& report) const;

  std::string html_;
  LayoutArgs layout_;
  std::string netron_;
  std::string model_explorer_;  // a folder
};

}  // namespace cleave
