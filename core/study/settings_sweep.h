// Settings sweep: the same support lists under other settings. A larger minimum size of accelerator
// subgraphs means fewer subgraphs and fewer bytes over the link, but less work on the accelerator.
// The *knee* is the point beyond which giving up more of the work no longer pays.
#pragma once

#include <span>
#include <vector>

#include "core/base/progress.h"
#include "core/study/outcome.h"

namespace cleave {

struct Setting {
  std::size_t min_acc_size = 1;
  StartSide start = StartSide::reference;
  Outcome outcome;
};

struct SettingsSweep {
  std::vector<Setting> settings;  // by minimum size, ascending, then by side
  std::size_t knee = 0;           // index in `settings`
};

// Splits the models with every start side and with every minimum size at which something changes:
// 1, and one more than each size of an accelerator subgraph; at most 12, spread evenly over the
// sizes. The knee is the setting farthest above the straight line from no subgraphs and no coverage
// to the most of both (Satopaa et al. 2011); of equals the first. Coverage is by FLOPs, or by nodes
// when no FLOPs are known. Refuses what split_graph refuses.
Result<SettingsSweep> sweep_settings(std::span<const ModelToSplit> models,
                                     const std::vector<SupportList>& lists,
                                     const SplitOptions& split, const Link& link,
                                     const Progress& progress = {});

}  // namespace cleave
