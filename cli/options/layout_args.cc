#include "cli/options/layout_args.h"

#include <CLI/CLI.hpp>

#include "core/base/quantity.h"

namespace cleave {

void LayoutArgs::add_to(CLI::App& app) {
  app.add_option_function<std::string>(
         "--layout-timeout",
         [this](const std::string& text) {
           const auto seconds = parse_duration(text);
           if (!seconds || *seconds <= 0) {
             throw CLI::ValidationError(
                 "--layout-timeout", '"' + text + "\" is not a time above 0: write 20s or 500ms");
           }
           limits_.seconds = *seconds;
         },
         "how much processor time Graphviz may take to lay out the drawings [20s]; unfinished "
         "drawings are made coarser or left out, and the report says which")
      ->type_name("TIME");
}

}  // namespace cleave
