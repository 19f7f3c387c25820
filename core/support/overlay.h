// Overlays: lists with deny rules alone. Such a list allows nothing by itself; given beside others,
// it denies for all of them.
#pragma once

#include <vector>

#include "core/support/support_list.h"

namespace cleave {

// True when the list has deny rules and no allow rule.
bool is_overlay(const SupportList& list);

// True when there are lists and each is an overlay, so that none of them accepts a node.
bool all_are_overlays(const std::vector<SupportList>& lists);

}  // namespace cleave
