// How long Graphviz may take to lay drawings out.
#pragma once

#include "formats/report/drawings/layout.h"

namespace CLI {
class App;
}

namespace cleave {

class LayoutArgs {
 public:
  void add_to(CLI::App& app);
  const LayoutLimits& limits() const { return limits_; }

 private:
  LayoutLimits limits_;
};

}  // namespace cleave
