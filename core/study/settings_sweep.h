// Settings sweep: the same support lists under other settings. Larger minimum sizes of accelerator
// subgraphs mean fewer subgraphs and fewer bytes over the link, and less work on the accelerator;
// the *knee* is where giving up more of the work stops paying.
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

// Splits the models under every start side and under the minimum sizes at which something changes:
// 1, and one more than each size that an accelerator subgraph has; 12 of them at most, spread
// evenly over the sizes there are. The knee is the setting farthest above the straight line from no
// subgraphs and no coverage to the most of both (Satopaa et al. 2011), coverage by FLOPs, or by
// nodes where no FLOPs are known; of equals the first. Refuses what split_graph refuses.
Result<SettingsSweep> sweep_settings(std::span<const ModelToSplit> models,
                                     const std::vector<SupportList>& lists,
                                     const SplitOptions& split, const Link& link,
                                     const Progress& progress = {});

}  // namespace cleave
