#include "core/support/overlay.h"

#include <algorithm>

namespace cleave {

bool is_overlay(const SupportList& list) {
  return list.role != ListRole::verdicts && list.allow.empty() && list.patterns.empty() &&
         !list.deny.empty();
}

bool are_all_of(const std::vector<SupportList>& lists) {
  return std::any_of(lists.begin(), lists.end(),
                     [](const SupportList& list) { return list.role == ListRole::all_of; });
}

bool all_are_overlays(const std::vector<SupportList>& lists) {
  return !lists.empty() && std::all_of(lists.begin(), lists.end(), is_overlay);
}

}  // namespace cleave
