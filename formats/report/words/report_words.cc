#include "formats/report/words/report_words.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "formats/report/words/value_text.h"
#include "formats/text/diagnostic.h"
#include "formats/text/number_text.h"

namespace cleave {
namespace {

void write_ratio(JsonText& json, const Coverage& coverage) {
  json.number("acc", coverage.acc);
  json.number("total", coverage.total);
}

void write_known_ratio(JsonText& json, const Coverage& coverage) {
  write_ratio(json, coverage);
  json.number("ratio", coverage.ratio());
}

}  // namespace

std::string fingerprint_text(std::uint64_t fingerprint) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text(16, '0');
  for (auto digit = text.rbegin(); digit != text.rend(); ++digit, fingerprint >>= 4U) {
    *digit = kDigits[fingerprint & 15U];
  }
  return text;
}

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

std::vector<std::string> changed_bindings(const ShapeBindings& before, const ShapeBindings& now) {
  std::vector<std::string> changes;
  // Names in order, to what they were given before and now; empty: not given.
  std::map<std::string, std::pair<std::string, std::string>> given;
  const auto note = [&](const ShapeBindings& bindings, bool is_now) {
    const auto place = [&](const std::string& name) -> std::string& {
      return is_now ? given[name].second : given[name].first;
    };
    for (const auto& dim : bindings.dims) place("dim " + dim.first) = std::to_string(dim.second);
    for (const auto& input : bindings.inputs) {
      std::string& text = place("input-shape " + input.first);
      for (const std::int64_t size : input.second) {
        text += (text.empty() ? "" : ",") + (size < 0 ? "?" : std::to_string(size));
      }
      if (text.empty()) text = "()";
    }
    place("infer") = shape_inference_name(bindings.inference);
  };
  note(before, false);
  note(now, true);
  for (const auto& [name, texts] : given) {
    if (texts.first == texts.second) continue;
    changes.push_back(escaped(name) + ": " + (texts.second.empty() ? "not given" : texts.second) +
                      ", was " + (texts.first.empty() ? "not given" : texts.first));
  }
  return changes;
}

std::string support_name(const std::vector<SupportList>& lists) {
  std::string name;
  for (const SupportList& list : lists) name += (name.empty() ? "" : " + ") + list.name;
  return name;
}

std::string size_mend(const Graph& graph, ValueId value) {
  if (!graph.has_rank(value)) return "its rank is not known";
  std::string options;
  for (const Dim dim : graph.shape(value)) {
    if (!dim.is_symbol()) continue;
    const std::string option = "--dim " + escaped(graph.text(dim.name())) + "=SIZE";
    if (options.find(option) == std::string::npos) options += (options.empty() ? "" : " ") + option;
  }
  if (!options.empty()) return "give " + options;
  return dtype_bits(graph.value(value).dtype) == 0 ? "its elements have no fixed size"
                                                   : "a dim without a name is not known";
}

std::string hazard_text(const Graph& graph, const Hazard& hazard) {
  const std::string name = quoted(graph.value(hazard.value).name);
  const std::string type = type_text(graph, hazard.value);
  switch (hazard.kind) {
    case Hazard::Kind::non_tensor_input:
      return "input " + name + " (" + type + ") is no tensor: lowering may stumble over it";
    case Hazard::Kind::non_tensor_output:
      return "output " + name + " (" + type + ") is no tensor: lowering may stumble over it";
    case Hazard::Kind::unknown_bytes:
      return "the bytes of " + name + " " + type +
             " are not known: " + size_mend(graph, hazard.value);
  }
  return {};
}

std::string dim_options(const Graph& graph) {
  constexpr std::size_t kMost = 5;
  std::vector<NameId> names;
  for (const ValueId input : graph.inputs()) {
    for (const Dim dim : graph.shape(input)) {
      if (!dim.is_symbol() || names.size() == kMost) continue;
      if (std::find(names.begin(), names.end(), dim.name()) == names.end()) {
        names.push_back(dim.name());
      }
    }
  }
  std::string options;
  for (const NameId name : names) {
    options += (options.empty() ? "--dim " : " --dim ") + escaped(graph.text(name)) + "=SIZE";
  }
  return options;
}

std::string model_name(const LoadedModel& model) {
  std::string_view name = model.source.path();
  if (name == "<stdin>" && !model.graph.name().empty()) return escaped(model.graph.name());
  name.remove_prefix(std::min(name.rfind('/') + 1, name.size()));
  for (const std::string_view extension : {".json", ".onnx", ".pt2"}) {
    if (name.size() > extension.size() && name.ends_with(extension)) {
      name.remove_suffix(extension.size());
    }
  }
  return escaped(name);
}

std::string coverage_text(const Coverages& coverage, std::string_view where) {
  const auto count = [](double number) { return count_text(static_cast<std::uint64_t>(number)); };
  const std::string at(where);
  if (coverage.nodes.total == 0) return "no nodes";
  std::string text = count(coverage.nodes.acc) + " of " +
                     counted(static_cast<std::uint64_t>(coverage.nodes.total), "node", "nodes") +
                     " (" + percent_text(coverage.nodes.ratio()) + ")";
  if (coverage.flops.total > 0 && is_mostly_known(coverage)) {
    text += " and " + percent_text(coverage.flops.ratio()) + " of " +
            (coverage.unknown_flops > 0 ? "the known " : "") + flops_text(coverage.flops.total);
  }
  return text + " " + at;
}

bool is_mostly_known(const Coverages& coverage) {
  return static_cast<double>(coverage.unknown_flops) * 2 <= coverage.nodes.total;
}

std::string percent_text(double ratio) {
  double percent = ratio * 100;
  if (ratio < 1) percent = std::min(percent, 99.9);
  if (ratio > 0 && percent < 0.1) return "<0.1%";
  std::array<char, 32> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), percent, std::chars_format::fixed, 1)
          .ptr;
  std::string digits(text.data(), end);
  if (digits.ends_with(".0")) digits.erase(digits.size() - 2);
  return digits + "%";
}

std::string rate_text(double rate) {
  if (rate >= 100 && rate < 1e15) return count_text(static_cast<std::uint64_t>(std::llround(rate)));
  std::array<char, 32> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), rate, std::chars_format::general, 3)
          .ptr;
  return {text.data(), end};
}

std::string link_text(const Link& link) {
  std::string name = escaped(link.name);
  if (!name.starts_with("gen") && !name.starts_with("Gen")) return name;
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(),
                                 link.bytes_per_second / 1e9, std::chars_format::general, 3)
                       .ptr;
  return name + " (" + std::string(text.data(), end) + " GB/s)";
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  return count_text(count) + " " + std::string(count == 1 ? one : many);
}

std::string signature_text(const Signature& signature) {
  std::string text;
  const auto add = [&](const std::string& name, DType dtype) {
    text += (text.empty() ? "" : ", ") + name;
    text += dtype == DType::unknown ? "-" : dtype_name(dtype);
  };
  for (const DType dtype : signature.args) add("", dtype);
  for (const auto& [name, dtype] : signature.kwargs) add(escaped(name) + "=", dtype);
  return "(" + text + ")";
}

void write_coverage(JsonText& json, const Coverages& coverage) {
  constexpr auto kOneLine = JsonText::Layout::one_line;
  json.begin_object("coverage");
  json.begin_object("nodes", kOneLine);
  write_known_ratio(json, coverage.nodes);
  json.end_object();
  json.begin_object("flops", kOneLine);
  write_ratio(json, coverage.flops);
  json.key("ratio");
  is_mostly_known(coverage) ? json.number(coverage.flops.ratio()) : json.null();
  json.number("unknown_ops", coverage.unknown_flops_ops.size());
  json.number("unknown_nodes", coverage.unknown_flops);
  json.end_object();
  json.begin_object("parameter_bytes", kOneLine);
  write_known_ratio(json, coverage.parameter_bytes);
  json.end_object();
  json.end_object();
}

}  // namespace cleave
