#include "formats/run/jobs/deploy.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "core/base/capped_list.h"
#include "core/graph/op_name.h"
#include "core/graph/random_ops.h"
#include "formats/base/io/source_file.h"
#include "formats/base/text/diagnostic.h"
#include "formats/models/onnx/index/model.h"
#include "formats/models/onnx/view/function_bodies.h"
#include "formats/models/onnx/write/writer.h"
#include "formats/models/open_shapes.h"
#include "formats/run/backend/session.h"

namespace cleave {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostPartitions = 6;  // that a message names
constexpr std::size_t kMostColumns = 200;   // of what a backend said

// Whether a session of ONNX Runtime has operators of the domain.
bool is_runtime_domain(std::string_view domain) {
  constexpr std::array<std::string_view, 6> kDomains = {"",
                                                        "ai.onnx.ml",
                                                        "ai.onnx.training",
                                                        "ai.onnx.preview.training",
                                                        "com.microsoft",
                                                        "com.microsoft.nchwc"};
  return std::find(kDomains.begin(), kDomains.end(), plain_domain(domain)) != kDomains.end();
}

class Deployment {
 public:
  // `backends` are indices; each compiled partition is by one of them.
  Deployment(const DeployInput& input, const Split& split, std::vector<std::size_t> backends)
      : input_(input),
        graph_(input.split.model().graph),
        split_(split),
        backends_(std::move(backends)) {
    const bool is_of_all = backends_.size() == input.backends.size();
    deployed_.file =
        is_of_all ? "root_ep.onnx" : "root_ep." + input.backends[backends_.front()].name + ".onnx";
    contexts_.resize(split.partition.count());
  }

  Result<Deployed, Fault> write() {
    for (const PartId part : split_.partition.parts()) {
      if (split_.partition.is_acc(part)) read_context(part);
    }
    if (deployed_.compiled == 0) return none_compiled();
    for (const auto check : {&Deployment::check_folded, &Deployment::check_custom,
                             &Deployment::check_expanded, &Deployment::check_sizes}) {
      if (auto fault = (this->*check)()) return *std::move(fault);
    }
    const std::vector<std::string> no_devices;
    const auto written = write_onnx_deployed(
        input_.split.model(), {split_.partition, split_.boundaries, split_.boundaries, no_devices},
        contexts_, input_.folder, deployed_.file);
    if (!written) return fault_of(FaultCause::output, written.error().faults.front().message);
    if (auto fault = try_it()) {
      std::error_code ignored;
      std::filesystem::remove(path(), ignored);
      return *std::move(fault);
    }
    return std::move(deployed_);
  }

 private:
  bool is_own(std::size_t backend) const {
    return std::find(backends_.begin(), backends_.end(), backend) != backends_.end();
  }

  // Why the partition stays on the CPU; "" when it is compiled.
  std::string why_not(PartId part, OnnxContext& context) {
    const std::string& name = split_.partition.name(part);
    for (const LoweredPart& lowered : input_.outcome.rounds.back().parts) {
      if (lowered.name != name || !is_own(lowered.backend)) continue;
      if (!lowered.is_lowered) {
        const std::string words = first_line(lowered.attempt.message, kMostColumns);
        return verdict_words(lowered.attempt) + (words.empty() ? "" : ": " + words);
      }
      if (!lowered.artefacts) return "its backend keeps nothing";
      for (const Artefact& artefact : lowered.artefacts->files) {
        if (artefact.role != "main") continue;
        const auto file = std::filesystem::path(artefact.file).filename();
        const auto source = SourceFile::open(
            (std::filesystem::path(input_.options.artefacts_folder) / file).string());
        if (!source) return source.error().front().message;
        ContextPlace place{.part = name, .folder = "artefacts/"};
        if (input_.embeds) place.content = [&](std::string_view data) { return content_of(data); };
        auto read = read_context_model(source->bytes(), place);
        if (!read) return read.error();
        context = *std::move(read);
        compilers_.insert(lowered.backend);
        return {};
      }
      return lowered.artefacts->why;
    }
    return "it was not lowered";
  }

  std::optional<std::string> content_of(std::string_view file) const {
    const auto source =
        SourceFile::open((std::filesystem::path(input_.options.artefacts_folder) / file).string());
    return source ? std::optional<std::string>(source->bytes()) : std::nullopt;
  }

  std::string path() const {
    return std::filesystem::absolute(input_.folder.path_of(deployed_.file)).string();
  }

  // Loads and runs the file once, where the backend's worker can: in a process of its own, as a session may
  // end the process that it is in. What several backends compiled is not tried: no worker has the others' provider.
  std::optional<Fault> try_it() {
    if (compilers_.size() != 1) return std::nullopt;
    const Backend& backend = input_.backends[*compilers_.begin()];
    if (!backend.serve || !backend.serve->does("load")) return std::nullopt;
    const std::string folder = input_.options.pool.work_folder + "/deployed";
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
    BackendSession session(backend, {.launcher = input_.options.pool.launcher, .folder = folder});
    const LoadedModel& model = input_.split.model();
    Json values = Json::object();
    for (const auto& [name, text] : model.bindings.values) values[name] = text;
    const std::string original = std::filesystem::absolute(model.source.path_again()).string();
    const Json request = {{"model", path()},         {"original", original},
                          {"values", values},        {"compiled", deployed_.compiled},
                          {"out", folder + "/made"}, {"seed", input_.options.pool.seed}};
    const WorkerAnswer answer =
        session.request("load", request.dump(-1, ' ', false, Json::error_handler_t::replace));
    const Json json =
        answer.kind == WorkerAnswer::Kind::line ? Json::parse(answer.text, nullptr, false) : Json();
    const auto text_at = [&](const char* key) {
      const Json field = json.is_object() ? json.value(key, Json()) : Json();
      return field.is_string() ? field.get<std::string>() : std::string();
    };
    if (json.is_object() && json.value("ok", Json()) == true) {
      deployed_.tried = text_at("note");
      return std::nullopt;
    }
    const std::string said = json.is_object() ? text_at("error") : answer.text;
    const std::string stage = text_at("stage");
    const bool is_of_file =
        answer.kind == WorkerAnswer::Kind::died || stage == "load" || stage == "run";
    if (!is_of_file) {  // the time was up, or the worker itself is at fault
      const bool is_late = answer.kind == WorkerAnswer::Kind::timed_out;
      deployed_.tried = "not tried: " + (is_late ? "it took longer than the backend's timeout"
                                                 : first_line(said, kMostColumns));
      return std::nullopt;
    }
    const std::string verb = stage == "run" ? "run" : "load";
    return fault_of(
        FaultCause::input,
        deployed_.file + " does not " + verb +
            " in ONNX Runtime, so it is not written: " + first_line(said, kMostColumns),
        {"the compiled partitions are kept, and `cleave split` with the same lists gives the "
         "others: a program can run them one after the other"});
  }

  void read_context(PartId part) {
    const std::string why = why_not(part, contexts_[index(part)]);
    if (why.empty()) {
      ++deployed_.compiled;
    } else {
      deployed_.not_compiled.push_back(split_.partition.name(part) + ": " + why);
    }
  }

  Fault none_compiled() const {
    std::string names;
    for (const std::size_t backend : backends_) {
      names += (names.empty() ? "" : " or ") + input_.backends[backend].name;
    }
    return fault_of(FaultCause::input,
                    "no partition was compiled into an EPContext model by " + names +
                        ": there is nothing to deploy",
                    first_of(deployed_.not_compiled));
  }

  static std::vector<std::string> first_of(std::vector<std::string> all) {
    CappedList list(kMostPartitions);
    std::vector<std::string> shown;
    for (std::string& one : all) {
      if (list.shows_next()) shown.push_back(std::move(one));
    }
    if (list.left_out() > 0) shown.push_back(list.rest("and # more (lowering.json has all)"));
    return shown;
  }

  bool is_compiled(PartId part) const { return !contexts_[index(part)].empty(); }

  // By value: whether it follows from parameters and known shapes, apart from what compiled
  // partitions make.
  ValueSet values_known_before() const {
    ValueSet known(graph_.value_count());
    for (const NodeId node : graph_.nodes()) {
      if (is_compiled(split_.partition.part_of[node]) || graph_.body_nodes(node).size() > 0)
        continue;
      const std::string_view op = graph_.op(node);
      const auto operands = graph_.operands(node);
      const bool is_of_shape = op == "Shape" || op == "Size";
      const bool is_known =
          !is_random_op(op) && !operands.empty() &&
          std::all_of(operands.begin(), operands.end(), [&](const Operand& operand) {
            return known.contains(operand.value) || graph_.is_parameter(operand.value) ||
                   (is_of_shape && graph_.has_rank(operand.value) &&
                    !is_open(graph_, operand.value));
          });
      for (const ValueId output : graph_.outputs(node)) {
        if (is_known) known.insert(output);
      }
    }
    return known;
  }

  std::optional<Fault> check_folded() const {
    const ValueSet known = values_known_before();
    for (const PartId part : split_.partition.parts()) {
      if (!is_compiled(part)) continue;
      const auto& own = contexts_[index(part)].inputs;
      for (const ValueId value : split_.boundaries.inputs[part]) {
        const std::string_view name = graph_.value(value).name;
        if (!known.contains(value) || std::find(own.begin(), own.end(), name) == own.end())
          continue;
        return fault_of(FaultCause::input,
                        "compiled partition " + escaped_in_quotes(split_.partition.name(part)) +
                            " reads " + escaped_in_quotes(name) +
                            ", which is known before the model runs: ONNX Runtime would fold it "
                            "away, and refuse "
                            "the partition",
                        {"add --fold write, which writes such values into the model"});
      }
    }
    return std::nullopt;
  }

  // Whether the model itself defines the operator.
  bool is_function(NodeId node) const {
    const auto& functions = input_.split.model().onnx()->functions;
    return std::any_of(functions.begin(), functions.end(), [&](const OnnxFunction& function) {
      return function.name == graph_.op(node) &&
             plain_domain(function.domain) == plain_domain(graph_.domain(node));
    });
  }

  std::optional<Fault> check_custom() const {
    for (const NodeId node : graph_.nodes()) {
      const bool is_known = is_runtime_domain(graph_.domain(node)) || is_function(node);
      if (is_compiled(split_.partition.part_of[node]) || is_known) continue;
      return fault_of(
          FaultCause::input,
          "node " + escaped_in_quotes(graph_.node(node).name) + " (" +
              escaped(op_text(graph_.domain(node), graph_.op(node))) +
              ") is on the CPU, and a stock session of ONNX Runtime has no operator of this "
              "domain: "
              "it would not load the file",
          {"replace it in the model, or run the partitions one after the other, and this one by "
           "the "
           "program that has the operator"});
    }
    return std::nullopt;
  }

  std::optional<Fault> check_expanded() const {
    for (const NodeId node : graph_.nodes()) {
      if (is_compiled(split_.partition.part_of[node]) || !is_expanded_op(graph_, node)) continue;
      return fault_of(
          FaultCause::input,
          "node " + escaped_in_quotes(graph_.node(node).name) + " (" +
              std::string(graph_.op(node)) +
              ") is on the CPU, and ONNX Runtime has no kernel for it: it would ask the provider "
              "again "
              "for its definition, and the session would fail",
          {"allow it on the accelerator, or replace it in the model by the nodes that define it"});
    }
    return std::nullopt;
  }

  std::optional<Fault> check_sizes() const {
    for (const PartId part : split_.partition.parts()) {
      if (!is_compiled(part)) continue;
      for (const ValueId value : split_.boundaries.inputs[part]) {
        if (graph_.value(value).kind != ValueKind::input || !is_open(graph_, value)) continue;
        return fault_of(FaultCause::input,
                        "compiled partition " + escaped_in_quotes(split_.partition.name(part)) +
                            " reads the input " + escaped_in_quotes(graph_.value(value).name) +
                            ", whose sizes are not known",
                        {"give them: --dim NAME=SIZE, or --input-shape"});
      }
    }
    return std::nullopt;
  }

  const DeployInput& input_;
  const Graph& graph_;
  const Split& split_;
  const std::vector<std::size_t> backends_;
  std::set<std::size_t> compilers_;    // the backends of compiled partitions
  std::vector<OnnxContext> contexts_;  // by part
  Deployed deployed_;
};

}  // namespace

Result<std::vector<Deployed>, Fault> deploy(const DeployInput& input) {
  const auto split = split_without(input.split, input.outcome.denied);
  if (!split) return split.error();
  std::vector<std::vector<std::size_t>> files;
  for (std::size_t i = 0; i < input.backends.size(); ++i) files.push_back({i});
  if (input.split.targets().size() > 1) {
    files = {std::vector<std::size_t>(input.backends.size())};
    std::iota(files.front().begin(), files.front().end(), std::size_t{0});
  }
  std::vector<Deployed> all;
  for (auto& backends : files) {
    auto written = Deployment(input, split->split(), std::move(backends)).write();
    if (!written) return written.error();
    all.push_back(*std::move(written));
  }
  return all;
}

}  // namespace cleave
