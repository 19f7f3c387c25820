// The TOML of `check --config`, through the options of the commands themselves.
#include <CLI/CLI.hpp>
#include <sstream>
#include <string>

#include "cli/options/config_file.h"
#include "cli/options/gate_args.h"
#include "cli/options/options.h"
#include "tests/fuzz/demands.h"
#include "tests/fuzz/targets.h"

namespace cleave::fuzz {
namespace {

void demand_good_gates(const GateArgs& gates) {
  const GateLimits& limits = gates.request.limits;
  for (const auto& share : {limits.node_coverage, limits.flops_coverage, limits.parameter_coverage,
                            limits.regression}) {
    demand(!share || (*share >= 0 && *share <= 1), "a share is from 0 to 1");
  }
}

}  // namespace

void read_config(std::string_view bytes) {
  CLI::App app("cleave");
  app.allow_config_extras(CLI::config_extras_mode::error);
  app.config_formatter(std::make_shared<ConfigFile>());
  CLI::App* const check = app.add_subcommand("check", "");
  GateArgs gates;
  SplitRequest request;
  gates.add_to(*check, request.lists);
  add_setting_options(*check, request);
  add_binding_options(*check, request.model);
  if (const auto config = parse_config(bytes)) {
    for (const auto& [key, place] : config->places)
      demand(place < bytes.size(), "a key stands in the file");
  }
  std::istringstream text{std::string(bytes)};
  try {
    app.parse_from_stream(text);
  } catch (const CLI::ParseError& error) {
    demand(error.get_exit_code() != 0, "a refusal is one");
    return;
  }
  demand_good_gates(gates);
}

}  // namespace cleave::fuzz
