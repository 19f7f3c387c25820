// The options of `check` that set gates.
#pragma once

#include <string>
#include <vector>

#include "formats/report/check/check.h"
#include "formats/run/jobs/jobs.h"

namespace CLI {
class App;
}

namespace cleave {

struct GateArgs {
  CheckRequest request;
  std::string baseline;  // path; empty: none
  bool update_baseline = false;

  // `lists` are those of an option that was added before: they name the targets.
  void add_to(CLI::App& app, const ListsRequest& lists);
  // True when a gate is given that can fail, or a baseline is to be written.
  bool asks_anything() const;
  // The request with the default gate of a baseline without other limits: no new CPU nodes.
  CheckRequest effective_request() const;

 private:
  void add_coverage(const std::string& text, const std::vector<std::string>& targets);
};

}  // namespace cleave
