// Options of pipeline stages, however they are cut: parameters, skip connections, devices.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/stages/stage_boundary.h"

namespace CLI {
class App;
}

namespace cleave {

// --shared-params, --relay, --device-map, --loss-output, --stage
class StageArgs {
 public:
  void add_to(CLI::App& app);

  const StageBoundaryOptions& boundary_options() const { return boundary_; }
  // The stage to print, if only one is.
  std::optional<std::size_t> only() const { return only_; }
  // The argument of --loss-output: nullopt when not given, else a spec, "" when it has no value.
  const std::optional<std::string>& loss() const { return loss_; }
  // The devices by stage, "" for none; empty when none were given. Refuses a stage that does not
  // exist.
  Result<std::vector<std::string>> devices(std::size_t stage_count) const;

 private:
  void add_sharing(const std::string& text);
  void add_devices(const std::string& text);
  void add_device(std::size_t stage, std::string device);

  StageBoundaryOptions boundary_;
  std::vector<std::pair<std::size_t, std::string>> devices_;
  std::optional<std::size_t> only_;
  std::optional<std::string> loss_;
};

}  // namespace cleave
