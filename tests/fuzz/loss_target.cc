// Which output is the loss; and other short texts from users: links, sizes, globs.
#include <cmath>
#include <string>

#include "core/base/quantity.h"
#include "core/lists/support.h"
#include "formats/lists/stage_tables.h"
#include "tests/fuzz/demands.h"
#include "tests/fuzz/fixture.h"
#include "tests/fuzz/targets.h"

namespace cleave::fuzz {

void read_loss(std::string_view bytes) {
  const auto loss = find_loss(fixture(), std::string(bytes));
  if (loss) {
    demand(fixture().graph.is_graph_output(*loss), "the loss is an output");
  } else {
    demand(!loss.error().message.empty(), "a refusal has words");
  }
  if (const auto link = parse_link(bytes)) {
    demand(link->bytes_per_second > 0 && std::isfinite(link->bytes_per_second),
           "a link has a bandwidth");
  }
  parse_bytes(bytes);
  const std::size_t middle = bytes.find('\n');
  if (middle == bytes.npos || bytes.size() > 1000) return;
  const std::string_view pattern = bytes.substr(0, middle), text = bytes.substr(middle + 1);
  demand(glob_match("*", text), "a star matches anything");
  demand(is_glob(pattern) || glob_match(pattern, text) == (pattern == text),
         "a pattern without stars matches itself");
}

}  // namespace cleave::fuzz
