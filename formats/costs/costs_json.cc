#include "formats/costs/costs_json.h"

#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "formats/json/walk.h"
#include "formats/text/faults.h"

namespace cleave {
namespace {

class CostsReader {
 public:
  explicit CostsReader(const SourceFile& source)
      : source_(source),
        faults_(source.path(), source.bytes()),
        walk_(source.bytes(), faults_),
        made_{.path = source.path(), .format = CostFormat::cleave, .entries = {}} {}

  Loaded<CostEntries> read() && {
    walk_.each_field("the file", "an object", [&](const std::string& key, std::size_t at) {
      if (key == "format") {
        is_costs_ = walk_.take_text("\"format\"") == "cleave.costs";
      } else if (key == "version") {
        read_version();
      } else if (key == "nodes") {
        walk_.each_item("\"nodes\"", "a list", [&] { read_node(); });
      } else {
        walk_.pass_unknown(at, key, "cleave.costs", {"format", "version", "nodes"});
      }
    });
    walk_.finish();
    if (faults_.errors().empty() && !is_costs_) {
      faults_.error(0, "\"format\" must be \"cleave.costs\"");
    }
    if (!faults_.errors().empty()) return std::move(faults_.errors());
    made_.warnings = std::move(faults_.warnings());
    return std::move(made_);
  }

 private:
  void read_version() {
    const std::size_t at = walk_.offset();
    const auto version = walk_.take_integer("\"version\"", 1);
    if (version && *version != 1) {
      faults_.error(at, "version " + std::to_string(*version) +
                            " of cleave.costs is not known: this program reads version 1");
    }
  }

  void read_node() {
    CostEntry entry;
    entry.offset = walk_.offset();
    std::optional<double> time;
    walk_.each_field("a node", "an object", [&](const std::string& key, std::size_t at) {
      if (key == "name") {
        entry.name = walk_.take_text("\"name\" of a node").value_or("");
      } else if (key == "time_us") {
        time = walk_.take_real("\"time_us\" of a node");
      } else {
        walk_.pass_unknown(at, key, "a node", {"name", "time_us"});
      }
    });
    if (walk_.is_over()) return;
    if (!time || !(*time >= 0 && *time <= 1e18)) {
      return faults_.error(entry.offset, "the time of " + quoted(entry.name) +
                                             " must be microseconds in \"time_us\", 0 or more");
    }
    entry.us = *time;
    if (!names_.insert(entry.name).second) {
      return faults_.error(entry.offset, quoted(entry.name) + " is given twice");
    }
    made_.entries.push_back(std::move(entry));
  }

  const SourceFile& source_;
  TextFaults faults_;
  JsonWalk walk_;
  CostEntries made_;
  std::unordered_set<std::string> names_;
  bool is_costs_ = false;
};

}  // namespace

Loaded<CostEntries> read_costs_json(const SourceFile& source) { return CostsReader(source).read(); }

}  // namespace cleave
