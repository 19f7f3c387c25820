// Support lists: what is read judges a graph, its faults are found, and reports name its rules.
#include "core/lists/lint.h"
#include "formats/lists/support_file.h"
#include "formats/report/lint/lint.h"
#include "tests/fuzz/demands.h"
#include "tests/fuzz/fixture.h"
#include "tests/fuzz/rendering.h"
#include "tests/fuzz/targets.h"

namespace cleave::fuzz {

void read_support(std::string_view bytes) {
  const auto loaded = parse_support("list", bytes);
  if (!loaded) return demand_good_errors(loaded.error());
  demand_good_warnings(loaded->warnings);
  demand(bytes.ends_with(loaded->list.text), "a list keeps its text");
  const Lint lint = lint_support(loaded->list, nullptr, {});
  demand_printable(lint_text(lint), "what is found of a list");
  demand_json(lint_json(lint), "what is found of a list");
  demand_good_split(fixture(), {loaded->list});
}

}  // namespace cleave::fuzz
