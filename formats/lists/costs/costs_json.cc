#include "formats/lists/costs/costs_json.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "core/graph/op_name.h"
#include "formats/base/json/text.h"
#include "formats/base/json/walk.h"
#include "formats/base/text/faults.h"

namespace cleave {
namespace {

class CostsReader {
 public:
  explicit CostsReader(const SourceFile& source)
      : faults_(source.path(), source.bytes()),
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
      } else if (key == "ops") {
        walk_.each_item("\"ops\"", "a list", [&] { read_op(); });
      } else {
        walk_.pass_unknown(at, key, "cleave.costs", {"format", "version", "nodes", "ops"});
      }
    });
    walk_.finish();
    if (faults_.errors().empty() && !is_costs_) {
      faults_.error(
          0,
          "not a file of times that cleave can read: a profile of ONNX Runtime or TensorRT "
          "is a JSON list, OpenVINO's counters have \"report_type\", and cleave.costs has "
          "\"format\": \"cleave.costs\"");
    }
    if (!faults_.errors().empty()) return std::move(faults_.errors());
    made_.warnings = std::move(faults_.warnings());
    std::sort(made_.op_times.begin(), made_.op_times.end(),
              [](const OpTime& a, const OpTime& b) { return a.op < b.op; });
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
    if (!time || !(*time >= 0 && *time <= 1e15)) {
      return faults_.error(entry.offset,
                           "the time of " + escaped_in_quotes(entry.name) +
                               " must be microseconds in \"time_us\", from 0 to 1e15");
    }
    entry.us = *time;
    if (!names_.insert(entry.name).second) {
      return faults_.error(entry.offset, escaped_in_quotes(entry.name) + " is given twice");
    }
    made_.entries.push_back(std::move(entry));
  }

  double read_number(const std::string& name) {
    const std::size_t at = walk_.offset();
    const auto number = walk_.take_real(name);
    if (!number || (*number >= 0 && *number <= 1e15)) return number.value_or(0);
    faults_.error(at, name + " must be from 0 to 1e15");
    return 0;
  }

  // The op's key; "" for the numbers that all others have.
  std::string read_key() {
    const std::size_t at = walk_.offset();
    const std::string text = walk_.take_text("\"op\"").value_or("");
    const ParsedOp name = parse_op(text);
    std::string key = op_key(name.op);
    // torch's overloads: aten::add.Tensor
    if (key.empty() && name.has_domain)
      key = op_key(std::string(name.domain) + '.' + std::string(name.op));
    if (key.empty() && !text.empty()) {
      faults_.error(
          at, escaped_in_quotes(text) +
                  " is no name of an operator that times go by: those of ONNX, TensorFlow Lite "
                  "and torch are, with or without a domain");
    }
    return key;
  }

  void read_op() {
    OpTime time;
    const std::size_t start = walk_.offset();
    walk_.each_field("an op", "an object", [&](const std::string& key, std::size_t at) {
      if (key == "op") {
        time.op = read_key();
      } else if (key == "us") {
        time.us = read_number("\"us\" of an op");
      } else if (key == "us_per_flop") {
        time.us_per_flop = read_number("\"us_per_flop\" of an op");
      } else if (key == "us_per_byte") {
        time.us_per_byte = read_number("\"us_per_byte\" of an op");
      } else {
        walk_.pass_unknown(at, key, "an op", {"op", "us", "us_per_flop", "us_per_byte"});
      }
    });
    if (walk_.is_over()) return;
    if (!ops_.insert(time.op).second) {
      return faults_.error(start, "the op " + escaped_in_quotes(time.op) + " is given twice");
    }
    made_.op_times.push_back(std::move(time));
  }

  TextFaults faults_;
  JsonWalk walk_;
  CostEntries made_;
  std::unordered_set<std::string> names_, ops_;
  bool is_costs_ = false;
};

}  // namespace

Loaded<CostEntries> read_costs_json(const SourceFile& source) { return CostsReader(source).read(); }

std::string costs_json(const std::vector<NamedTime>& nodes, const std::vector<OpTime>& ops) {
  JsonText json;
  json.begin_object();
  json.text("format", "cleave.costs");
  json.number("version", 1);
  json.begin_list("nodes");
  for (const NamedTime& node : nodes) {
    json.begin_object(JsonText::Layout::one_line);
    json.text("name", node.name);
    json.number("time_us", node.us);
    json.end_object();
  }
  json.end_list();
  json.begin_list("ops");
  for (const OpTime& time : ops) {
    json.begin_object(JsonText::Layout::one_line);
    json.text("op", time.op);
    json.number("us", time.us);
    json.number("us_per_flop", time.us_per_flop);
    json.number("us_per_byte", time.us_per_byte);
    json.end_object();
  }
  json.end_list();
  json.end_object();
  return std::move(json).finish();
}

}  // namespace cleave
