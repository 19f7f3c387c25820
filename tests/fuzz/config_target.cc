// The TOML of `check --config`, through the options of the command itself.
#include <string>

#include "cli/options/config_file.h"
#include "cli/options/gate_args.h"
#include "cli/options/options.h"
#include "tests/fuzz/demands.h"
#include "tests/fuzz/targets.h"

namespace cleave::fuzz {
namespace {

void demand_good_gates(const GateLimits& limits) {
  for (const auto& share : {limits.node_coverage, limits.flops_coverage, limits.parameter_coverage,
                            limits.regression}) {
    demand(!share || (*share >= 0 && *share <= 1), "a share is from 0 to 1");
  }
}

}  // namespace

void read_config(std::string_view bytes) {
  const auto config = parse_config(bytes);
  if (!config) {
    demand(!config.error().empty(), "a refusal says why");
    return;
  }
  for (const auto& [key, place] : config->places)
    demand(place < bytes.size(), "a key stands in the file");
  Given given(of::check);
  try {
    for (const ConfigItem& item : config->items) {
      const Option* const option = find_option("--" + item.name, of::check);
      const bool is_file = option != nullptr && option->name() == "--op-schemas";
      if (option == nullptr || is_file) continue;
      given.take(*option, option->is_flag() ? std::vector<std::string>() : item.texts);
    }
    demand_good_gates(gates_of(given).limits);
  } catch (const OptionRefused& refused) {
    demand(!refused.why.empty(), "a refusal says why");
  }
}

}  // namespace cleave::fuzz
