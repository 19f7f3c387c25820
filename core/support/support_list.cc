#include "core/support/support_list.h"

#include <algorithm>

namespace cleave {

std::string_view part_limit_name(PartLimit limit) {
  static constexpr std::array<std::string_view, kPartLimitCount> kNames = {
      "max_nodes", "max_parameter_bytes", "max_inputs", "max_outputs", "max_activation_bytes"};
  return kNames[static_cast<std::size_t>(limit)];
}

bool is_of_bytes(PartLimit limit) {
  return limit == PartLimit::parameter_bytes || limit == PartLimit::activation_bytes;
}

std::optional<PartLimit> limit_exceeded(const LimitedCounts& counts, const PartLimits& limits) {
  for (std::size_t i = 0; i < kPartLimitCount; ++i) {
    const auto limit = static_cast<PartLimit>(i);
    if (limits[limit] && counts[limit] > *limits[limit]) return limit;
  }
  return std::nullopt;
}

namespace {

constexpr std::array<std::string_view, 2> kViews = {"model", "onnxruntime"};

}  // namespace

std::string_view graph_view_name(GraphView view) { return kViews[static_cast<std::size_t>(view)]; }

std::optional<GraphView> parse_graph_view(std::string_view name) {
  const auto* const found = std::find(kViews.begin(), kViews.end(), name);
  if (found == kViews.end()) return std::nullopt;
  return static_cast<GraphView>(found - kViews.begin());
}

bool is_overlay(const SupportList& list) {
  return list.role != ListRole::verdicts && list.allow.empty() && list.patterns.empty() &&
         !list.deny.empty();
}

bool are_all_of(const std::vector<SupportList>& lists) {
  return std::any_of(lists.begin(), lists.end(),
                     [](const SupportList& list) { return list.role == ListRole::all_of; });
}

std::optional<GraphView> given_view(const std::vector<SupportList>& lists) {
  const auto given = std::find_if(lists.begin(), lists.end(),
                                  [](const SupportList& list) { return list.is_view_given; });
  return given == lists.end() ? std::nullopt : std::optional(given->view);
}

bool all_are_overlays(std::span<const SupportList> lists) {
  return !lists.empty() && std::all_of(lists.begin(), lists.end(), is_overlay);
}

}  // namespace cleave
