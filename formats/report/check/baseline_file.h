// Baselines: earlier results that `check` holds the present one against. A file holds one for each
// model and list, `cleave.baseline`; or it is one report, as `preview --json` prints it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/measures/measures.h"
#include "core/split/options.h"
#include "core/study/comparison.h"
#include "formats/model/loaded_model.h"
#include "formats/text/diagnostic.h"

namespace cleave {

// What is left of a result in its report.
struct EarlierResult {
  NamedPlaces places;
  Measures measures;
  SplitOptions options;
  std::optional<double> link_bandwidth;  // bytes a second; nothing: the link bounded nothing
  ShapeBindings bindings;
  std::vector<std::string> other_settings;   // names of settings that this version does not know
  std::optional<std::uint64_t> fingerprint;  // of the model; reports of other makers have none
  std::optional<std::vector<std::string>> lists;  // texts of the support lists; likewise
};

struct Baseline {
  std::string path;
  // By model and list, as the command line of that time named them.
  std::map<std::pair<std::string, std::string>, EarlierResult> results;
  bool is_single = false;  // one report: it serves for any one model and list

  // Null when it has none for them.
  const EarlierResult* find(const std::string& model, const std::string& list) const;
};

// Errors name the field at fault: `reports / "m.onnx" / "npu.json": "node_map" is missing`.
Loaded<Baseline> read_baseline_file(const std::string& path);
Loaded<Baseline> parse_baseline(const std::string& path, std::string_view bytes);

struct BaselineItem {
  std::string model, list;
  std::string report;  // as report_json makes it
};

// cleave.baseline version 1. Items of one model stand together, in the order in which models first
// appear.
std::string baseline_json(const std::vector<BaselineItem>& items);

}  // namespace cleave
