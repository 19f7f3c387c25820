// Option groups that commands share, bound straight to the options of core and formats.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/link.h"
#include "core/split/options.h"
#include "formats/model_file.h"

namespace CLI {
class App;
}

namespace cleave {

// MODEL, --dim, --input-shape, --infer, --limit
struct ModelArgs {
  std::string path;
  ShapeBindings bindings;
  ModelLimits limits;
  void add_to(CLI::App& app);
  // Without MODEL, for commands that take several models.
  void add_bindings_to(CLI::App& app);

 private:
  void add_dim(const std::string& text);
  void add_input_shape(const std::string& text);
  void add_limit(const std::string& text);
};

// -s/--support, repeatable
struct SupportArgs {
  std::vector<std::string> paths;
  void add_to(CLI::App& app, bool required);

 private:
  void take(const std::vector<std::string>& given);
};

// The options of the split and the link.
struct SplitArgs {
  SplitOptions options;
  std::optional<Link> link;  // --pcie-bw
  void add_to(CLI::App& app);

 private:
  void set_target(const std::string& text);
  void set_link(const std::string& text);
};

}  // namespace cleave
