// The data that every report is made from: the model, the settings, the split and its numbers.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/measures/inference_time.h"
#include "core/measures/open_sizes.h"
#include "core/measures/preview.h"
#include "core/measures/same_shape.h"
#include "core/split/split.h"
#include "core/support/support.h"
#include "formats/base/text/take_text.h"
#include "formats/lists/costs/cost_set.h"
#include "formats/models/bind/loaded_model.h"

namespace cleave {

struct Report {
  const LoadedModel& model;
  const Graph& graph;  // the model's, with the shapes that profiles saw
  const std::vector<SupportList>& lists;
  const OpFacts& facts;
  const SplitOptions& options;
  const Split& split;
  const Preview& preview;
  std::vector<std::string>
      notes;  // from the model's reader, the writer and the command; set by the caller
  std::vector<std::string> part_files =
      {};                                 // by part, "" for one that was not written; empty: none
  const CostSet* costs = nullptr;         // of --costs; null: none
  const InferenceTime* time = nullptr;    // null: it was not asked for
  std::span<const Target> targets = {};   // of several; empty: there is one accelerator
  const OpenSizes* open_sizes = nullptr;  // null: no dim is open, or they were not sought
  std::string chain = {};  // JSON: how parts that hold state are called; empty: as they are listed
  // Filled by same_shapes(); copies of a report share it.
  std::shared_ptr<std::optional<SameShapes>> shapes = std::make_shared<std::optional<SameShapes>>();

  // find_same_shapes() of the split, found once for all texts that say it. Not for several threads at a time.
  const SameShapes& same_shapes() const {
    if (!*shapes) *shapes = find_same_shapes(graph, split.partition, split.boundaries);
    return **shapes;
  }
};

// cleave.report version 1, as `preview --json` prints it and `split` writes manifest.json. Indented
// by one space a level, ends in a newline; text that is not UTF-8 is escaped.
std::string report_json(const Report& report);
// The same piece by piece, for a file: a million nodes make hundreds of megabytes.
void report_json(const Report& report, const TakeText& take);

// The report for people, at most 100 columns, conclusion first. No colour.
std::string report_text(const Report& report);

// `support`: op types with their dtypes, supported and not, and coverage.
std::string support_report_json(const Report& report);
std::string support_report_text(const Report& report);

}  // namespace cleave
