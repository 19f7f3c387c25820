// A support list: what one accelerator can run, as rules that allow nodes and rules that deny them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/link.h"
#include "core/support/rule.h"

namespace cleave {

struct SupportList {
  std::string name;
  std::string path;
  std::string text;  // as it was read; reports keep it, so that a later run can read it again
  std::optional<Link> link;
  std::vector<Rule> allow;
  std::vector<Rule> deny;
};

}  // namespace cleave
