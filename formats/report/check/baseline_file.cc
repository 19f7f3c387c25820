#include "formats/report/check/baseline_file.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "formats/io/source_file.h"
#include "formats/json/text.h"
#include "formats/report/words/split_settings.h"
#include "formats/support/support_file.h"

namespace cleave {
namespace {

using Json = nlohmann::json;

// What is wrong with the file, thrown from wherever it is met; caught in parse_baseline.
struct BadBaseline {
  std::string message;
};

// A value and the way to it, for messages. Asked for what is not there, it refuses.
class Field {
 public:
  Field(const Json& json, std::string place) : json_(json), place_(std::move(place)) {}

  const Json& json() const { return json_; }
  bool has(const char* name) const { return json_.is_object() && json_.contains(name); }

  Field operator[](const char* name) const {
    if (!json_.is_object()) refuse("is no object");
    const auto found = json_.find(name);
    if (found == json_.end()) refuse("has no " + cleave::quoted(name));
    return {*found, place_.empty() ? cleave::quoted(name) : place_ + " / " + cleave::quoted(name)};
  }
  Field at(const std::string& key) const { return (*this)[key.c_str()]; }

  double number() const {
    if (!json_.is_number()) refuse("is no number");
    return json_.get<double>();
  }
  std::uint64_t count() const {
    if (!json_.is_number_unsigned()) refuse("is no whole number of 0 or more");
    return json_.get<std::uint64_t>();
  }
  bool flag() const {
    if (!json_.is_boolean()) refuse("is neither true nor false");
    return json_.get<bool>();
  }
  const std::string& text() const {
    if (!json_.is_string()) refuse("is no text");
    return json_.get_ref<const std::string&>();
  }
  const Json& list() const {
    if (!json_.is_array()) refuse("is no list");
    return json_;
  }
  const Json& object() const {
    if (!json_.is_object()) refuse("is no object");
    return json_;
  }
  template <class Take>
  void each(Take take) const {
    for (std::size_t i = 0; i < list().size(); ++i) {
      take(Field(json_[i], place_ + " / " + std::to_string(i)));
    }
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw BadBaseline{(place_.empty() ? "the baseline" : place_) + " " + why};
  }

 private:
  const Json& json_;
  std::string place_;
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

// Adds the tensors of a boundary; null bytes of a tensor are not known.
void add_boundary(const Field& values, Measures& measures) {
  values.each([&](const Field& value) {
    if (value["type"].text() == "tensor" && value["bytes"].json().is_null()) {
      measures.is_boundary_known = false;
    }
  });
}

NamedPlaces take_places(const Field& report, Measures& measures) {
  std::unordered_map<std::string, Place> parts;
  report["partitions"].each([&](const Field& part) {
    const bool is_acc = part["is_acc"].flag();
    parts[part["name"].text()] = is_acc ? Place::acc : Place::cpu;
    if (!is_acc) return;
    ++measures.acc_subgraphs;
    measures.boundary_bytes += part["input_bytes"].count() + part["output_bytes"].count();
    add_boundary(part["inputs"], measures);
    add_boundary(part["outputs"], measures);
  });
  NamedPlaces places;
  const Field map = report["node_map"];
  for (const auto& [node, part] : map.object().items()) {
    const auto found = parts.find(Field(part, "node_map of " + cleave::quoted(node)).text());
    if (found == parts.end()) map.refuse("puts " + cleave::quoted(node) + " into no partition");
    if (found->second == Place::cpu) ++measures.cpu_nodes;
    places.emplace(node, found->second);
  }
  return places;
}

// ---- settings ----

void take_start(const Field& value, EarlierResult& result) {
  for (const StartSide side :
       {StartSide::reference, StartSide::cpu, StartSide::acc, StartSide::fewest}) {
    if (start_side_name(side) != value.text()) continue;
    result.options.subgraphs.start = side;
    return;
  }
  value.refuse("is " + cleave::quoted(value.text()) + ", not reference, cpu, acc or fewest");
}

void take_extend(const Field& value, EarlierResult& result) {
  using Which = ExtendOptions::Which;
  ExtendOptions& extend = result.options.extend;
  const std::string& text = value.text();
  if (text == "none") return;
  if (text == "all" || text == "auto") {
    extend.which = text == "all" ? Which::all : Which::automatic;
    return;
  }
  extend.which = Which::one;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, extend.subgraph);
  if (parsed.ec != std::errc{} || parsed.ptr != end) {
    value.refuse("is " + cleave::quoted(text) + ", not none, all, auto or a number");
  }
}

void take_infer(const Field& value, EarlierResult& result) {
  for (const ShapeInference inference :
       {ShapeInference::off, ShapeInference::file, ShapeInference::full}) {
    if (shape_inference_name(inference) != value.text()) continue;
    result.bindings.inference = inference;
    return;
  }
  value.refuse("is " + cleave::quoted(value.text()) + ", not off, file or full");
}

std::int64_t take_size(const Field& value) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (value.count() > kMost) value.refuse("is no size");
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

void take_keep(const Field& value, EarlierResult& result) {
  if (!value.json().is_null()) result.options.keep.most = value.count();
}

void take_keep_by(const Field& value, EarlierResult& result) {
  for (const KeepBy by : {KeepBy::flops, KeepBy::time, KeepBy::nodes, KeepBy::latency}) {
    if (keep_by_name(by) != value.text()) continue;
    result.options.keep.by = by;
    return;
  }
  value.refuse("is " + cleave::quoted(value.text()) + ", not flops, time, nodes or latency");
}

struct Setting {
  std::string_view name;
  void (*take)(const Field&, EarlierResult&);
};

// A setting that is true or false.
template <auto Group, auto Flag>
void take_flag(const Field& value, EarlierResult& result) {
  result.options.*Group.*Flag = value.flag();
}

// As report_json writes them. Names of parts move no node, and are passed.
constexpr Setting kSettings[] = {
    {"min_acc_module_size",
     [](const Field& value, EarlierResult& to) {
       to.options.subgraphs.min_acc_size = value.count();
     }},
    {"skip_fusion", take_flag<&SplitOptions::fusion, &FusionOptions::skip>},
    {"allow_non_tensor", take_flag<&SplitOptions::acc_finder, &AccFinderOptions::allow_non_tensor>},
    {"keep_qdq", take_flag<&SplitOptions::qdq, &QdqOptions::keep>},
    {"host_shapes", take_flag<&SplitOptions::host_shapes, &HostShapeOptions::follow>},
    {"infer", take_infer},
    {"dims", take_dims},
    {"input_shapes", take_input_shapes},
    {"start", take_start},
    {"extend", take_extend},
    {"keep_acc_subgraphs", take_keep},
    {"keep_by", take_keep_by},
    {"acc_prefix", [](const Field&, EarlierResult&) {}},
    {"non_acc_prefix", [](const Field&, EarlierResult&) {}},
};

void take_settings(const Field& settings, EarlierResult& result) {
  for (const auto& [name, value] : settings.object().items()) {
    const auto* const known =
        std::find_if(std::begin(kSettings), std::end(kSettings),
                     [&, &key = name](const Setting& setting) { return setting.name == key; });
    if (known == std::end(kSettings)) {
      result.other_settings.push_back(name);
    } else {
      known->take(settings.at(name), result);
    }
  }
}

// ---- reports ----

void take_fingerprint(const Field& model, EarlierResult& result) {
  if (!model.has("fingerprint")) return;
  const std::string& text = model["fingerprint"].text();
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number, 16);
  if (text.size() != 16 || parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) {
    model["fingerprint"].refuse("is no number of 16 hexadecimal digits");
  }
  result.fingerprint = number;
}

void take_lists(const Field& support, EarlierResult& result) {
  if (!support.has("contents")) return;
  if (support["contents"].list().size() > kMostSupportLists) {
    support["contents"].refuse("has more support lists than can be read at once");
  }
  result.lists.emplace();
  support["contents"].each([&](const Field& text) { result.lists->push_back(text.text()); });
}

EarlierResult take_report(const Field& report) {
  if (report["format"].text() != "cleave.report")
    report["format"].refuse("is no \"cleave.report\"");
  require_version(report, "cleave.report");
  EarlierResult result;
  const Field coverage = report["coverage"];
  Measures& measures = result.measures;
  measures.nodes = take_coverage(coverage["nodes"]);
  measures.flops = take_coverage(coverage["flops"]);
  measures.parameter_bytes = take_coverage(coverage["parameter_bytes"]);
  if (coverage["flops"].has("unknown_nodes")) {
    measures.unknown_flops = coverage["flops"]["unknown_nodes"].count();
  }
  if (!report["link"].json().is_null()) {
    measures.qps = report["link"]["max_qps"].number();
    result.link_bandwidth = report["link"]["bandwidth"].number();
  }
  result.places = take_places(report, measures);
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
    document["format"].refuse("is " + cleave::quoted(format) +
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

const EarlierResult* Baseline::find(const std::string& model, const std::string& list) const {
  if (is_single) return &results.begin()->second;
  const auto found = results.find({model, list});
  return found == results.end() ? nullptr : &found->second;
}

Loaded<Baseline> parse_baseline(const std::string& path, std::string_view bytes) {
  try {
    const Json json = Json::parse(bytes);
    Baseline baseline = take_baseline(Field(json, ""));
    baseline.path = path;
    return baseline;
  } catch (const Json::parse_error& error) {
    return Diagnostics{diagnostic_at(path, bytes, error.byte == 0 ? 0 : error.byte - 1,
                                     "the baseline is no JSON: " + without_prefix(error.what()))};
  } catch (const Json::out_of_range& error) {  // "[...] number overflow parsing '1e999'"
    const std::string_view what = error.what();
    const std::size_t quote = std::min(what.find('\''), what.size());
    return Diagnostics{diagnostic_of(path, "the baseline has a number beyond all that can be: " +
                                               std::string(what.substr(quote)))};
  } catch (const BadBaseline& bad) {
    return Diagnostics{diagnostic_of(path, bad.message)};
  }
}

Loaded<Baseline> read_baseline_file(const std::string& path) {
  const auto source = SourceFile::open(path);
  if (!source) return source.error();
  return parse_baseline(source->path(), source->bytes());
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
