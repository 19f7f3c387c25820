// The reference prints its previews. This prints cleave's numbers in the same way.
#include <algorithm>
#include <charconv>
#include <system_error>

#include "core/measures/measures.h"
#include "formats/report/words/report.h"
#include "tests/cases/checks.h"

namespace cleave::cases {
namespace {

// As Python prints a float: the fewest digits that identify it, always with a point.
std::string python_float(double number) {
  char digits[64];
  const auto [end, error] =
      std::to_chars(digits, digits + sizeof digits, number, std::chars_format::fixed);
  if (error != std::errc()) return "?";
  std::string text(digits, end);
  if (text.find('.') == std::string::npos) text += ".0";
  return text;
}

class PreviewText {
 public:
  PreviewText(const Graph& graph, const Split& split, const Preview& preview)
      : graph_(graph), split_(split), preview_(preview) {}

  std::string write() && {
    count_subgraphs("Before", split_.found.subgraphs.devices);
    count_subgraphs("After", split_.partition.devices);
    for (const PartId part : split_.partition.parts()) {
      text_ += split_.partition.name(part) + ": " +
               std::to_string(split_.partition.nodes(part).size()) + " node(s)\n";
    }
    for (const PartId part : split_.partition.parts()) {
      if (split_.partition.is_acc(part)) write_part(part);
    }
    text_ += "\nTheoretical max qps (bounds by PCIe bandwidth) for this model is " + max_qps() +
             ", bottleneck is submodule " + bottleneck() + ".";
    return std::move(text_);
  }

  // The reference starts from the bandwidth as a whole number and lowers it.
  std::string max_qps() const {
    if (!is_lowered()) return "107374182400";
    return python_float(preview_.bound->max_qps);
  }
  std::string bottleneck() const {
    return is_lowered() ? split_.partition.name(preview_.bound->bottleneck) : "";
  }

 private:
  bool is_lowered() const {
    return preview_.bound && preview_.bound->max_qps < preview_.link.bytes_per_second;
  }

  void count_subgraphs(const std::string& when, const std::vector<Device>& devices) {
    const auto acc = std::count(devices.begin(), devices.end(), Device::acc);
    const auto total = static_cast<std::ptrdiff_t>(devices.size());
    text_ += when + " removing small acc subgraphs, total " + std::to_string(total) +
             " subgraphs are created: " + std::to_string(acc) + " acc subgraphs and " +
             std::to_string(total - acc) + " cpu subgraphs.\n";
  }

  void write_hazards(PartId part, Hazard::Kind kind, const std::string& side) {
    for (const Hazard& hazard : preview_.parts[part].hazards) {
      if (hazard.kind != kind) continue;
      text_ += side + " " + std::string(graph_.value(hazard.value).name) +
               " is not a tensor, this might cause problems during lowering!\n";
    }
  }

  void write_part(PartId part) {
    const PartNumbers& numbers = preview_.parts[part];
    text_ += "\nProcessing acc submodule " + split_.partition.name(part) + "\nChecking inputs...\n";
    write_hazards(part, Hazard::Kind::non_tensor_input, "Input");
    text_ += "Checking outputs...\n";
    write_hazards(part, Hazard::Kind::non_tensor_output, "Output");
    text_ += "Total input size in bytes is " + std::to_string(numbers.input_bytes) +
             ", total output size in bytes is " + std::to_string(numbers.output_bytes) +
             ", theoretical max qps (bounds by PCIe bandwidth) for this submodule is " +
             (numbers.qps ? python_float(*numbers.qps) : "none") +
             ".\nLowering and running succeed!\n";
  }

  const Graph& graph_;
  const Split& split_;
  const Preview& preview_;
  std::string text_;
};

// ---- node support ----

std::string python_dtype(const Json& dtype) {
  return dtype.is_null() ? "None" : "torch." + dtype.get<std::string>();
}

std::string signature_text(const nlohmann::ordered_json& signature) {
  const auto& args = signature["args"];
  std::string text = "((";
  for (std::size_t i = 0; i < args.size(); ++i) {
    text += (i == 0 ? "" : ", ") + python_dtype(args[i]);
  }
  text += args.size() == 1 ? ",), {" : "), {";
  bool is_first = true;
  for (const auto& [name, dtype] : signature["kwargs"].items()) {
    text += (is_first ? "'" : ", '") + name + "': " + python_dtype(dtype);
    is_first = false;
  }
  return text + "})";
}

// Ops in order of first use; the signatures of one are sorted in the record.
std::string ops_text(const nlohmann::ordered_json& ops) {
  std::string text;
  for (const auto& op : ops) {
    std::vector<std::string> lines;
    for (const auto& signature : op["signatures"]) {
      lines.push_back(op["op"].get<std::string>() + ": " + signature_text(signature) + '\n');
    }
    std::sort(lines.begin(), lines.end());
    for (const std::string& line : lines) text += line;
  }
  return text;
}

std::string support_text(const Report& report) {
  const auto json = nlohmann::ordered_json::parse(support_report_json(report));
  return "\nSupported node types in the model:\n" + ops_text(json["supported"]) +
         "\nUnsupported node types in the model:\n" + ops_text(json["unsupported"]);
}

// ---- numbers ----

void check_part_stats(const Json& stats, const Partition& partition, const Preview& preview,
                      Tally& tally) {
  for (const PartId part : partition.parts()) {
    // The reference takes a CPU part for an accelerator's when its name holds "acc".
    if (!partition.is_acc(part) || !stats.contains(partition.name(part))) continue;
    const Json& recorded = stats[partition.name(part)];
    const PartNumbers& numbers = preview.parts[part];
    tally.compare("acc_stats: bytes", {recorded["input_bytes"], recorded["output_bytes"]},
                  {numbers.input_bytes, numbers.output_bytes});
    tally.compare("acc_stats: qps", recorded["qps"],
                  numbers.qps ? Json(python_float(*numbers.qps)) : Json());
  }
}

bool mistakes_cpu_parts(const Json& stats, const Partition& partition) {
  return std::any_of(partition.parts().begin(), partition.parts().end(), [&](PartId part) {
    return !partition.is_acc(part) && stats.contains(partition.name(part));
  });
}

}  // namespace

void check_node_support(const Json& expected, const Report& report, Tally& tally) {
  if (!expected.contains("node_support_preview")) return;
  tally.compare("node_support_preview", expected["node_support_preview"], support_text(report));
}

void check_preview(const Json& expected, const Graph& graph, const Split& split,
                   const Preview& preview, Tally& tally) {
  const PreviewText text(graph, split, preview);
  if (expected.contains("preview_error")) {  // division by zero: no part with bytes of its own
    bool is_unbound = false;
    for (const PartId part : split.partition.parts()) {
      is_unbound |= split.partition.is_acc(part) && !preview.parts[part].qps;
    }
    tally.compare("a part without bytes is not bound", true, is_unbound);
    return;
  }
  if (!expected.contains("acc_stats")) return;
  check_part_stats(expected["acc_stats"], split.partition, preview, tally);
  if (mistakes_cpu_parts(expected["acc_stats"], split.partition)) return;
  tally.compare(
      "acc_stats: parts", expected["acc_stats"].size(),
      std::count(split.partition.devices.begin(), split.partition.devices.end(), Device::acc));
  tally.compare("max_qps", expected["max_qps"], text.max_qps());
  tally.compare("bottleneck", expected["bottleneck"], text.bottleneck());
  if (expected.contains("split_preview")) {
    tally.compare("split_preview", expected["split_preview"], PreviewText(text).write());
  }
}

}  // namespace cleave::cases
