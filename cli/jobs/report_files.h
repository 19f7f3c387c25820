// Files that a report is written to, beside what is printed: an option each.
#pragma once

#include <string>

#include "cli/terminal/exit_code.h"
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
  // Writes those that were asked for; prints what went wrong.
  ExitCode write(const Report& report) const;

 private:
  ExitCode write_html(const Report& report) const;
  ExitCode write_netron(const Report& report) const;
  ExitCode write_model_explorer(const Report& report) const;

  std::string html_;
  std::string netron_;
  std::string model_explorer_;  // a folder
};

}  // namespace cleave
