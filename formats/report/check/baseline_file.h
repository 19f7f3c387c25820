// Baselines: earlier results that `check` compares the present one with. A file has one for each
// model and list, `cleave.baseline`; or it is one report, as `preview --json` prints it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/check/comparison.h"
#include "core/measures/measures.h"
#include "core/split/options.h"
#include "formats/base/text/diagnostic.h"
#include "formats/models/bind/loaded_model.h"

namespace cleave {

// The parts of a result that its report has.
struct EarlierResult {
  NamedPlaces places;
  Measures measures;
  SplitOptions options;
  std::optional<double> link_bandwidth;  // bytes per second; nullopt: the link set no bound
  ShapeBindings bindings;
  std::vector<std::string> other_settings;   // names of settings that this version does not have
  std::optional<std::uint64_t> fingerprint;  // of the model; missing in reports of other programs
  // texts of the support lists; may be missing as well
  std::optional<std::vector<std::string>> lists;
  bool all_of = false;               // each of them had to accept a node
  std::optional<GraphView> as = {};  // the graph that they were about, where the user said so
  // The targets with their lists, in the order of `places` and `options`. Empty: there was only one.
  std::vector<Target> targets = {};

  // `places` with those of `others` instead of its own; empty: all are Place::acc.
  NamedPlaces places_as(const TargetPlaces& others) const;
};

struct Baseline {
  std::string path;
  // By model and list, with the names used on the command line at that time.
  std::map<std::pair<std::string, std::string>, EarlierResult> results;
  bool is_single = false;  // one report: used for any one model and list

  // Null when it has no result for them.
  const EarlierResult* find(const std::string& model, const std::string& list) const;
};

// Also of a file that gzip compressed, within the same limit. Errors name the field at fault: `reports / "m.onnx" / "npu.json":
// "node_map" is missing`.
Loaded<Baseline> read_baseline_file(const std::string& path);
Loaded<Baseline> parse_baseline(const std::string& path, std::string_view bytes);

struct BaselineItem {
  std::string model, list;
  std::string report;  // as report_json makes it
};

// cleave.baseline version 1. Items of one model are grouped, in the order in which models first
// appear.
std::string baseline_json(const std::vector<BaselineItem>& items);
// The same as the file of that name has it: compressed where it ends in .gz.
std::string baseline_bytes(const std::string& path, const std::vector<BaselineItem>& items);

}  // namespace cleave
