// Backends: what describes a compiler, as a file and as the short form of --backend.
#include <cmath>
#include <string>

#include "formats/run/backend/backend.h"
#include "tests/fuzz/demands.h"
#include "tests/fuzz/targets.h"

namespace cleave::fuzz {
namespace {

void demand_good(const BackendCommand& command) {
  demand(!command.argv.empty(), "a command has words");
  demand(command.timeout_seconds > 0 && std::isfinite(command.timeout_seconds),
         "a command has a time limit");
}

void demand_good(const Backend& backend) {
  demand(!backend.name.empty(), "a backend has a name");
  for (const auto* const command : {&backend.check, &backend.compile, &backend.run}) {
    if (*command) demand_good(**command);
  }
}

}  // namespace

void read_backend(std::string_view bytes) {
  const auto loaded = parse_backend("backend.json", bytes);
  if (loaded) {
    demand_good_warnings(loaded->warnings);
    demand_good(loaded->backend);
  } else {
    demand_good_errors(loaded.error());
  }
  if (const auto words = shell_words(bytes); !words) return;
  const auto brief = parse_short_backend(bytes);
  if (brief) {
    demand_good(*brief);
  } else {
    demand(!brief.error().empty(), "a refusal has words");
  }
}

}  // namespace cleave::fuzz
