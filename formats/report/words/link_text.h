// The link between host and accelerator in words.
#pragma once

#include <string>

#include "core/base/link.h"

namespace cleave {

// "gen4x16 (31.5 GB/s)"
std::string link_text(const Link& link);

}  // namespace cleave
