#include "formats/report/words/split_settings.h"

namespace cleave {

std::string_view start_side_name(StartSide side) {
  switch (side) {
    case StartSide::reference:
      return "reference";
    case StartSide::cpu:
      return "cpu";
    case StartSide::acc:
      return "acc";
    case StartSide::fewest:
      return "fewest";
  }
  return {};
}

std::string_view keep_by_name(KeepBy by) {
  switch (by) {
    case KeepBy::flops:
      return "flops";
    case KeepBy::time:
      return "time";
    case KeepBy::nodes:
      return "nodes";
    case KeepBy::latency:
      return "latency";
  }
  return {};
}

std::string extend_text(const ExtendOptions& options) {
  switch (options.which) {
    case ExtendOptions::Which::none:
      return "none";
    case ExtendOptions::Which::one:
      return std::to_string(options.subgraph);
    case ExtendOptions::Which::all:
      return "all";
    case ExtendOptions::Which::automatic:
      return "auto";
  }
  return {};
}

std::vector<std::string> changed_settings(const SplitOptions& before, const SplitOptions& now) {
  std::vector<std::string> changes;
  const auto compare = [&](std::string_view name, std::string_view old_text,
                           std::string_view new_text) {
    if (old_text == new_text) return;
    changes.push_back(std::string(name) + ": " + std::string(new_text) + ", was " +
                      std::string(old_text));
  };
  const auto yes_no = [](bool flag) { return flag ? "yes" : "no"; };
  compare("min-acc-module-size", std::to_string(before.subgraphs.min_acc_size),
          std::to_string(now.subgraphs.min_acc_size));
  compare("skip-fusion", yes_no(before.fusion.skip), yes_no(now.fusion.skip));
  compare("allow-non-tensor", yes_no(before.acc_finder.allow_non_tensor),
          yes_no(now.acc_finder.allow_non_tensor));
  compare("keep-qdq", yes_no(before.qdq.keep), yes_no(now.qdq.keep));
  compare("host-shapes", yes_no(before.host_shapes.follow), yes_no(now.host_shapes.follow));
  compare("start", start_side_name(before.subgraphs.start), start_side_name(now.subgraphs.start));
  compare("extend", extend_text(before.extend), extend_text(now.extend));
  const auto kept = [](const KeepOptions& keep) {
    if (keep.most == KeepOptions::kUnlimited) return std::string("unlimited");
    return std::to_string(keep.most) + " by " + std::string(keep_by_name(keep.by));
  };
  compare("keep-acc-subgraphs", kept(before.keep), kept(now.keep));
  return changes;
}

}  // namespace cleave
