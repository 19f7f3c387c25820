// Overlays: lists with deny rules only. An overlay accepts no node by itself; used with other
// lists, it denies for all of them.
#pragma once

#include <vector>

#include "core/support/support_list.h"

namespace cleave {

// True when the list has deny rules and no allow rule.
bool is_overlay(const SupportList& list);

// True when some list is one of those that must all accept a node.
bool are_all_of(const std::vector<SupportList>& lists);

// True when there are lists and all are overlays, so that no node is accepted.
bool all_are_overlays(const std::vector<SupportList>& lists);

}  // namespace cleave
