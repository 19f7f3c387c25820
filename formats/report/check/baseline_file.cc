#include "formats/report/check/baseline_file.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "core/base/number_text.h"
#include "core/split/targets.h"
#include "formats/base/io/side_file.h"
#include "formats/base/json/text.h"
#include "formats/base/text/gzip_text.h"
#include "formats/lists/settings/split_settings.h"
#include "formats/lists/support/support_file.h"

namespace cleave {
namespace {

using Json = nlohmann::json;

// The first fault of the file; empty while there is none. After a fault, reading continues with
// zeros and empty lists, and its result is not used.
class FirstFault {
 public:
  void note(std::string text) {
    if (text_.empty()) text_ = std::move(text);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

// A value and its path in the file, for messages. Reading a missing or wrong value notes a fault.
class Field {
 public:
  Field(const Json& json, std::string place, FirstFault& fault)
      : json_(json), place_(std::move(place)), fault_(fault) {}

  const Json& json() const { return json_; }
  bool has(const char* name) const { return json_.is_object() && json_.contains(name); }

  Field operator[](const char* name) const {
    if (!json_.is_object()) return missing("is not an object");
    const auto found = json_.find(name);
    if (found == json_.end()) return missing("has no " + escaped_in_quotes(name));
    return {*found,
            place_.empty() ? escaped_in_quotes(name) : place_ + " / " + escaped_in_quotes(name),
            fault_};
  }
  Field at(const std::string& key) const { return (*this)[key.c_str()]; }

  double number() const {
    if (!json_.is_number()) return refused("is not a number", 0.0);
    return json_.get<double>();
  }
  std::uint64_t count() const {
    if (!json_.is_number_unsigned())
      return refused("is not a whole number of 0 or more", std::uint64_t{0});
    return json_.get<std::uint64_t>();
  }
  bool flag() const {
    if (!json_.is_boolean()) return refused("is neither true nor false", false);
    return json_.get<bool>();
  }
  const std::string& text() const {
    static const std::string kNone;
    if (!json_.is_string()) refuse("is not a string");
    return json_.is_string() ? json_.get_ref<const std::string&>() : kNone;
  }
  const Json& list() const {
    if (!json_.is_array()) refuse("is not a list");
    return json_.is_array() ? json_ : nothing();
  }
  const Json& object() const {
    if (!json_.is_object()) refuse("is not an object");
    return json_.is_object() ? json_ : nothing();
  }
  template <class Take>
  void each(Take take) const {
    for (std::size_t i = 0; i < list().size(); ++i) {
      take(Field(json_[i], place_ + " / " + std::to_string(i), fault_));
    }
  }

  void refuse(const std::string& why) const {
    fault_.note((place_.empty() ? "the baseline" : place_) + " " + why);
  }
  FirstFault& fault() const { return fault_; }

 private:
  template <class T>
  T refused(const char* why, T instead) const {
    refuse(why);
    return instead;
  }
  // Has no items, whether it is read as a list or as an object.
  static const Json& nothing() {
    static const Json kNull;
    return kNull;
  }
  Field missing(const std::string& why) const {
    refuse(why);
    return {nothing(), place_, fault_};
  }

  const Json& json_;
  std::string place_;
  FirstFault& fault_;
};

void require_version(const Field& document, std::string_view kind) {
  constexpr std::uint64_t kNewest = 1;
  if (document["version"].count() > kNewest) {
    document["version"].refuse("is " + std::to_string(document["version"].count()) +
                               ": this program reads " + std::string(kind) + " version 1");
  }
}

Coverage take_coverage(const Field& share) {
  const Coverage coverage{.acc = share["acc"].number(), .total = share["total"].number()};
  if (!(coverage.acc >= 0 && coverage.total >= 0)) share.refuse("is below 0");
  return coverage;
}

// A report does not state how many nodes have known FLOPs. It gives a ratio only where they are enough: then as many
// are taken as FlopsCoverage::are_known() asks for.
FlopsCoverage take_flops(const Field& share) {
  FlopsCoverage coverage{take_coverage(share)};
  if (!share.has("unknown_nodes")) return coverage;
  coverage.unknown = share["unknown_nodes"].count();
  const bool has_ratio = !share.has("ratio") || !share["ratio"].json().is_null();
  if (has_ratio && coverage.total > 0) coverage.computing = coverage.unknown;
  return coverage;
}

// Adds the tensors of a boundary; null as a tensor's bytes means unknown.
void add_boundary(const Field& values, Measures& measures) {
  values.each([&](const Field& value) {
    if (value["type"].text() == "tensor" && value["bytes"].json().is_null()) {
      measures.is_boundary_known = false;
    }
  });
}

std::optional<double> take_amount(const Field& value) {
  return value.json().is_null() ? std::nullopt : std::optional(value.number());
}

// Where a partition of a split for several targets runs.
Place take_place(const Field& part, const std::vector<Target>& targets) {
  const std::string& name = part["target"].text();
  const auto found = std::find_if(targets.begin(), targets.end(),
                                  [&](const Target& target) { return target.name == name; });
  if (found == targets.end()) part["target"].refuse("is none of the targets");
  return static_cast<Place>(static_cast<std::size_t>(Place::acc) +
                            static_cast<std::size_t>(found - targets.begin()));
}

NamedPlaces take_places(const Field& report, const std::vector<Target>& targets,
                        Measures& measures) {
  std::unordered_map<std::string, Place> parts;
  report["partitions"].each([&](const Field& part) {
    const bool is_acc = part["is_acc"].flag();
    parts[part["name"].text()] = !is_acc           ? Place::cpu
                                 : targets.empty() ? Place::acc
                                                   : take_place(part, targets);
    if (!is_acc) return;
    ++measures.acc_subgraphs;
    measures.boundary_bytes += part["input_bytes"].count() + part["output_bytes"].count();
    add_boundary(part["inputs"], measures);
    add_boundary(part["outputs"], measures);
  });
  NamedPlaces places;
  const Field map = report["node_map"];
  for (const auto& [node, part] : map.object().items()) {
    const Field name(part, "node_map of " + escaped_in_quotes(node), map.fault());
    const auto found = parts.find(name.text());
    if (found == parts.end()) {
      map.refuse("puts " + escaped_in_quotes(node) + " into no partition");
      continue;
    }
    if (found->second == Place::cpu) ++measures.cpu_nodes;
    places.emplace(node, found->second);
  }
  return places;
}

// ---- settings ----

void take_infer(const Field& value, EarlierResult& result) {
  for (const ShapeInference inference :
       {ShapeInference::off, ShapeInference::file, ShapeInference::full}) {
    if (shape_inference_name(inference) != value.text()) continue;
    result.bindings.inference = inference;
    return;
  }
  value.refuse("is " + escaped_in_quotes(value.text()) + ", not off, file or full");
}

void take_fold(const Field& value, EarlierResult& result) {
  for (const Folding folding : {Folding::off, Folding::report, Folding::write}) {
    if (folding_name(folding) != value.text()) continue;
    result.bindings.folding = folding;
    return;
  }
  value.refuse("is " + escaped_in_quotes(value.text()) + ", not off, report or write");
}

std::int64_t take_size(const Field& value) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (value.count() > kMost) value.refuse("is not a size");
  return static_cast<std::int64_t>(value.count());
}

void take_dims(const Field& value, EarlierResult& result) {
  for (const auto& [name, size] : value.object().items()) {
    result.bindings.dims.emplace_back(name, take_size(value.at(name)));
  }
}

void take_input_shapes(const Field& value, EarlierResult& result) {
  for (const auto& [name, shape] : value.object().items()) {
    std::vector<std::int64_t>& dims = result.bindings.inputs.emplace_back(name, 0).second;
    value.at(name).each(
        [&](const Field& size) { dims.push_back(size.json().is_null() ? -1 : take_size(size)); });
  }
}

void take_set_inputs(const Field& value, EarlierResult& result) {
  for (const auto& [name, text] : value.object().items()) {
    result.bindings.values.emplace_back(name, value.at(name).text());
  }
}

void take_signature(const Field& value, EarlierResult& result) {
  result.bindings.signature = value.text();
}

void take_device(const Field& value, DeviceNumbers& device) {
  device.flops_per_second = take_amount(value["flops"]);
  device.bytes_per_second = take_amount(value["bandwidth"]);
  device.node_us = value["node_us"].number();
}

void take_machine(const Field& value, Machine& machine) {
  take_device(value["cpu"], machine.cpu);
  if (value["cpu"].has("launch_us")) machine.cpu_launch_us = value["cpu"]["launch_us"].number();
  const Field acc = value["acc"];
  take_device(acc, machine.acc);
  machine.launch_us = take_amount(acc["launch_us"]);
  if (!acc["memory"].json().is_null()) machine.acc_memory = acc["memory"].count();
  if (!acc["max_subgraphs"].json().is_null()) machine.most_acc_parts = acc["max_subgraphs"].count();
  machine.duplex = acc["duplex"].text() == "full" ? Duplex::full : Duplex::half;
}

// The settings that are the model's: see ShapeBindings.
struct ModelSetting {
  std::string_view name;
  void (*take)(const Field&, EarlierResult&);
};
constexpr ModelSetting kModelSettings[] = {{"infer", take_infer},
                                           {"dims", take_dims},
                                           {"input_shapes", take_input_shapes},
                                           {"set_inputs", take_set_inputs},
                                           {"signature", take_signature},
                                           {"fold", take_fold}};

SettingValue setting_value(const Field& value) {
  if (value.json().is_null()) return nullptr;
  if (value.json().is_boolean()) return value.flag();
  if (value.json().is_string()) return value.text();
  return static_cast<std::int64_t>(value.count());
}

// Returns false for a setting that this version does not know.
bool take_setting(const std::string& name, const Field& value, EarlierResult& result) {
  for (const ModelSetting& setting : kModelSettings) {
    if (setting.name != name) continue;
    setting.take(value, result);
    return true;
  }
  const SplitSetting* const setting = find_split_setting(name);
  if (setting == nullptr) return false;
  if (!setting->set(result.options, setting_value(value))) value.refuse(refusal_of(*setting));
  return true;
}

void take_settings(const Field& settings, EarlierResult& result) {
  for (const auto& [name, value] : settings.object().items()) {
    if (!take_setting(name, settings.at(name), result)) result.other_settings.push_back(name);
  }
}

// ---- reports ----

void take_fingerprint(const Field& model, EarlierResult& result) {
  if (!model.has("fingerprint")) return;
  const std::string& text = model["fingerprint"].text();
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (text.size() != 16 || parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) {
    model["fingerprint"].refuse("is not a number of 16 hexadecimal digits");
  }
  result.fingerprint = number;
}

void take_lists(const Field& support, EarlierResult& result) {
  if (!support.has("contents")) return;
  if (support["contents"].list().size() > kMostSupportLists) {
    support["contents"].refuse("has more support lists than can be read at once");
  }
  result.lists.emplace();
  result.all_of = support.has("all_of") && support["all_of"].flag();
  if (support.has("as")) {
    result.as = parse_graph_view(support["as"].text());
    if (!result.as) support["as"].refuse("is not model or onnxruntime");
  }
  support["contents"].each([&](const Field& text) { result.lists->push_back(text.text()); });
}

// ---- several targets ----

double take_rate(const Field& value) {
  if (value.number() > 0) return value.number();
  value.refuse("is not above 0");
  return 1;
}

// Its lists, by their places among all, are one after the other.
void take_target_lists(const Field& lists, std::size_t count, Target& target) {
  target.first_list = target.end_list = 0;
  lists.each([&](const Field& list) {
    const std::uint64_t at = list.count();
    const bool is_first = target.first_list == target.end_list;
    if (is_first) target.first_list = target.end_list = static_cast<std::size_t>(at);
    if (at != target.end_list || at >= count) list.refuse("is not the next of the lists");
    ++target.end_list;
  });
}

void take_target(const Field& field, std::size_t lists, EarlierResult& result) {
  const bool is_first = result.targets.empty();
  Target& target = result.targets.emplace_back();
  target.name = field["name"].text();
  take_target_lists(field["lists"], lists, target);
  if (field.has("min_acc_module_size")) target.min_acc_size = field["min_acc_module_size"].count();
  if (field.has("keep_acc_subgraphs") && !field["keep_acc_subgraphs"].json().is_null()) {
    target.most_kept = field["keep_acc_subgraphs"].count();
  }
  Machine& machine = is_first ? result.options.machine : result.options.later.emplace_back();
  if (field.has("machine")) take_machine(field["machine"], machine);
  if (field.has("bandwidth")) {
    target.link.bytes_per_second = machine.link_bytes_per_second = take_rate(field["bandwidth"]);
  }
  TargetMeasures measures;
  measures.name = target.name;
  const Measures& all = result.measures;
  measures.nodes = {field["nodes"].number(), all.nodes.total};
  const bool is_known = !field["flops"].json().is_null();
  measures.flops = {is_known ? field["flops"].number() : 0, all.flops.total};
  measures.parameter_bytes = {field["parameter_bytes"].number(), all.parameter_bytes.total};
  measures.parts = field["partitions"].count();
  result.measures.targets.push_back(std::move(measures));
}

void take_direct_links(const Field& links, EarlierResult& result) {
  const auto index_of = [&](const Field& name) {
    const auto& targets = result.targets;
    const auto found = std::find_if(targets.begin(), targets.end(),
                                    [&](const auto& one) { return one.name == name.text(); });
    if (found == targets.end()) name.refuse("is none of the targets");
    return static_cast<DeviceIndex>(found - targets.begin());
  };
  links.each([&](const Field& link) {
    const bool is_shared = link["bandwidth"].json().is_null();
    result.options.links.push_back({index_of(link["from"]), index_of(link["to"]),
                                    is_shared ? 0 : 1e6 / take_rate(link["bandwidth"])});
  });
}

// The last is the CPU.
void take_targets(const Field& report, EarlierResult& result) {
  const Field targets = report["targets"];
  const Field support = report["support"];
  const std::size_t lists = support[support.has("contents") ? "contents" : "files"].list().size();
  const std::size_t count = targets.list().size();
  if (count < 3 || count > kMostTargets + 1) {
    return targets.refuse("are not several and the CPU");
  }
  std::size_t at = 0;
  targets.each([&](const Field& target) {
    if (++at < count) take_target(target, lists, result);
  });
  if (report.has("direct_links")) take_direct_links(report["direct_links"], result);
}

EarlierResult take_report(const Field& report) {
  if (report["format"].text() != "cleave.report")
    report["format"].refuse("is not a \"cleave.report\"");
  require_version(report, "cleave.report");
  EarlierResult result;
  const Field coverage = report["coverage"];
  Measures& measures = result.measures;
  measures.nodes = take_coverage(coverage["nodes"]);
  measures.flops = take_flops(coverage["flops"]);
  measures.parameter_bytes = take_coverage(coverage["parameter_bytes"]);
  if (!report["link"].json().is_null()) {
    measures.qps = report["link"]["shared_qps"].number();
    result.link_bandwidth = report["link"]["bandwidth"].number();
  }
  if (report.has("machine")) take_machine(report["machine"], result.options.machine);
  if (report.has("latency")) {
    measures.latency_us = take_amount(report["latency"]["total_us"]);
    measures.all_cpu_us = take_amount(report["latency"]["all_cpu_us"]);
  }
  if (report.has("targets")) {
    take_targets(report, result);
    report["targets"].each([&](const Field& target) {
      if (!target.has("qps")) return;  // the CPU
      const auto qps = take_amount(target["qps"]);
      if (qps) measures.qps = std::min(*qps, measures.qps.value_or(*qps));
    });
  }
  result.places = take_places(report, result.targets, measures);
  take_settings(report["settings"], result);
  take_fingerprint(report["model"], result);
  take_lists(report["support"], result);
  return result;
}

Baseline take_baseline(const Field& document) {
  Baseline baseline;
  const std::string& format = document["format"].text();
  if (format == "cleave.report") {
    baseline.is_single = true;
    baseline.results.emplace(std::pair<std::string, std::string>(), take_report(document));
    return baseline;
  }
  if (format != "cleave.baseline") {
    document["format"].refuse("is " + escaped_in_quotes(format) +
                              ": a baseline is \"cleave.baseline\" or \"cleave.report\"");
  }
  require_version(document, "cleave.baseline");
  const Field reports = document["reports"];
  for (const auto& [model, lists] : reports.object().items()) {
    const Field of_model = reports.at(model);
    for (const auto& [list, report] : of_model.object().items()) {
      baseline.results.emplace(std::pair(model, list), take_report(of_model.at(list)));
    }
  }
  return baseline;
}

// "[json.exception.parse_error.101] parse error at line 1, column 2: the message" -> the message
std::string without_prefix(std::string_view what) {
  const std::size_t at = what.find("column ");
  const std::size_t colon = at == what.npos ? what.npos : what.find(": ", at);
  return std::string(colon == what.npos ? what : what.substr(colon + 2));
}

}  // namespace

NamedPlaces EarlierResult::places_as(const TargetPlaces& others) const {
  NamedPlaces named = places;
  for (auto& [node, place] : named) {
    if (!is_on_acc(place)) continue;
    const auto own = static_cast<std::size_t>(place) - static_cast<std::size_t>(Place::acc);
    place = others.empty() ? Place::acc : others[own];
  }
  return named;
}

const EarlierResult* Baseline::find(const std::string& model, const std::string& list) const {
  if (is_single) return &results.begin()->second;
  const auto found = results.find({model, list});
  return found == results.end() ? nullptr : &found->second;
}

Loaded<Baseline> parse_baseline(const std::string& path, std::string_view bytes) {
  if (is_gzipped(bytes)) {
    const auto text = ungzipped(bytes, kMostSideBytes);
    if (text && !is_gzipped(*text)) return parse_baseline(path, *text);
    return Diagnostics{diagnostic_of(path, "the compressed baseline is damaged, or has more than " +
                                               bytes_text(kMostSideBytes))};
  }
  try {
    const Json json = Json::parse(bytes);
    FirstFault fault;
    Baseline baseline = take_baseline(Field(json, "", fault));
    if (!fault.text().empty()) return Diagnostics{diagnostic_of(path, fault.text())};
    baseline.path = path;
    return baseline;
  } catch (const Json::parse_error& error) {
    return Diagnostics{diagnostic_at(path, bytes, error.byte == 0 ? 0 : error.byte - 1,
                                     "the baseline is not JSON: " + without_prefix(error.what()))};
  } catch (const Json::out_of_range& error) {  // "[...] number overflow parsing '1e999'"
    const std::string_view what = error.what();
    const std::size_t quote = std::min(what.find('\''), what.size());
    return Diagnostics{diagnostic_of(
        path, "the baseline has a number that is too large: " + std::string(what.substr(quote)))};
  }
}

Loaded<Baseline> read_baseline_file(const std::string& path) {
  const auto source = open_side_file(path);
  if (!source) return source.error();
  return parse_baseline(source->path(), source->bytes());
}

std::string baseline_bytes(const std::string& path, const std::vector<BaselineItem>& items) {
  std::string text = baseline_json(items);
  return path.ends_with(".gz") ? gzipped(text) : text;
}

std::string baseline_json(const std::vector<BaselineItem>& items) {
  std::vector<std::string_view> models;
  for (const BaselineItem& item : items) {
    if (std::find(models.begin(), models.end(), item.model) == models.end()) {
      models.push_back(item.model);
    }
  }
  JsonText json;
  json.begin_object();
  json.text("format", "cleave.baseline");
  json.number("version", 1);
  json.begin_object("reports");
  for (const std::string_view model : models) {
    json.text_key(model);
    json.begin_object();
    for (const BaselineItem& item : items) {
      if (item.model != model) continue;
      json.text_key(item.list);
      json.document(item.report);
    }
    json.end_object();
  }
  json.end_object();
  json.end_object();
  return std::move(json).finish();
}

}  // namespace cleave
