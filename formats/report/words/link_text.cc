#include "formats/report/words/link_text.h"

#include "core/base/decimal.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {

std::string link_text(const Link& link) {
  std::string name = escaped(link.name);
  if (!name.starts_with("gen") && !name.starts_with("Gen")) return name;
  return name + " (" + rounded_text(link.bytes_per_second / 1e9, 3) + " GB/s)";
}

}  // namespace cleave
