// A support list: what one accelerator can run, as rules that allow nodes and rules that deny them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/link.h"
#include "core/support/part_limits.h"
#include "core/support/pattern.h"
#include "core/support/rule.h"

namespace cleave {

// How a list takes part beside others.
enum class ListRole : std::uint8_t {
  any_of,    // a node is accepted when one such list accepts it
  all_of,    // a node is accepted only when every such list accepts it
  verdicts,  // settles the nodes that its rules name, above all rules of other lists
};

struct SupportList {
  std::string name;
  std::string path;
  std::string text;  // as it was read; reports keep it, so that a later run can read it again
  std::optional<Link> link;
  std::vector<Rule> allow;
  std::vector<Rule> deny;
  ListRole role = ListRole::any_of;
  PartLimits limits = {};              // of a whole accelerator partition
  std::vector<Pattern> patterns = {};  // sub-graphs that are accepted as a whole
};

}  // namespace cleave
