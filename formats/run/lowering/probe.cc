// Probes and reductions, and the folders of findings.

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <unordered_map>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/base/words.h"
#include "core/graph/graph.h"
#include "core/lists/support.h"
#include "core/lowering/lowering.h"
#include "formats/base/faults.h"
#include "formats/base/text.h"
#include "formats/models/models.h"
#include "formats/run/backend/backend.h"
#include "formats/run/lowering/lowering_job.h"

namespace cleave {

// ---- finding folder ----

// Steps of writing what repeats a failure:
// 1. copy the scripts that the backend file names below {here} or {cleave}, so that the folder can be moved;
// 2. write backend.json with their new places; other files of the backend get absolute paths;
// 3. write repeat.py and command.sh, which lists these other files.

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kHere = "{here}", kCleave = "{cleave}";
// Modules that the workers in scripts/backends import.
constexpr std::array<std::string_view, 2> kWorkerModules = {"worker.py", "torch_programs.py"};

Status<Error> write_text(const fs::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file) return Done{};
  return Error{path.string() + ": cannot be written"};
}

bool is_script(const fs::path& path) {
  return path.extension() == ".py" || path.extension() == ".sh";
}

std::string number_text(double number) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%g", number);
  return buffer;
}

class RepeatWriter {
 public:
  explicit RepeatWriter(const RepeatFiles& files)
      : files_(files), folder_(files.folder), scripts_(folder_ / "backend") {}

  Status<Error> write() {
    Json json = backend_json();
    for (const char* const part : {"identity", "check", "compile", "run", "serve"}) {
      const auto found = json.find(part);
      if (found == json.end()) continue;
      Json& words = found->is_object() ? (*found)["argv"] : *found;
      for (Json& word : words) {
        if (word.is_string()) word = moved(word.get<std::string>());
      }
    }
    if (error_) return Error{scripts_.string() + ": cannot be written: " + error_.message()};
    auto done = write_text(folder_ / "backend.json",
                           json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
    if (done) done = write_text(folder_ / "repeat.py", kRepeatScript);
    if (done) done = write_text(folder_ / "command.sh", command_text());
    return done;
  }

 private:
  Json backend_json() const {
    const Backend& backend = files_.backend;
    if (!backend.path.empty()) return Json::parse(backend.text);
    Json argv = Json::array();
    for (const std::string& word : backend.compile->argv) argv.push_back(word);
    Json json = {{"format", "cleave.backend"}, {"version", 1}, {"name", backend.name}};
    json["compile"]["argv"] = std::move(argv);
    return json;
  }

  static void fill(std::string& word, std::string_view placeholder, const std::string& folder) {
    for (std::size_t at = word.find(placeholder); at != word.npos;
         at = word.find(placeholder, at)) {
      word.replace(at, placeholder.size(), folder);
      at += folder.size();
    }
  }

  // The word of a command, for this folder.
  std::string moved(std::string word) {
    const bool is_below = word.rfind(kHere, 0) == 0 || word.rfind(kCleave, 0) == 0;
    fill(word, kHere, files_.backend.folder);
    if (const std::string own = cleave_folder(files_.backend.folder); !own.empty())
      fill(word, kCleave, own);
    const fs::path path(word);
    std::error_code ignored;
    if (!path.is_absolute() || !fs::is_regular_file(path, ignored)) return word;
    if (!is_below || !is_script(path)) {
      needed_.insert(word);
      return word;
    }
    copy(path);
    for (const std::string_view name : kWorkerModules) {
      const fs::path module = path.parent_path() / name;
      if (path.extension() == ".py" && fs::is_regular_file(module, ignored)) copy(module);
    }
    return std::string(kHere) + "/backend/" + path.filename().string();
  }

  void copy(const fs::path& path) {
    std::error_code error;
    fs::create_directories(scripts_, error);
    if (!error) {
      fs::copy_file(path, scripts_ / path.filename(), fs::copy_options::overwrite_existing, error);
    }
    if (error && !error_) error_ = error;
  }

  std::string command_text() const {
    std::string text =
        "#!/bin/sh\n# Passes the model to " + escaped(files_.title) +
        " again, and says what comes of it.\n"
        "# Exit status: 0 it passes, 1 it fails, 2 it cannot be tried here.\n"
        "# Needs: Python 3 with the compiler's package (PYTHON=... names another than "
        "python3)";
    if (files_.has_data) text += ", onnx and numpy";
    text += ".\n";
    for (const std::string& path : needed_) {
      text +=
          "# Needs, and it is not in this folder: " + escaped(path) + " (named in backend.json)\n";
    }
    text += "cd \"$(dirname \"$0\")\" || exit 2\nexec \"${PYTHON:-python3}\" repeat.py";
    if (files_.has_data && !files_.compares_values) text += " --run";
    if (files_.pins) text += " --pin";
    if (files_.compares_values) {
      const CompareTolerance& tolerance = files_.backend.tolerance;
      text += " --compare --rtol " + number_text(tolerance.rtol) + " --atol " +
              number_text(tolerance.atol) + " --rounding " + number_text(tolerance.rounding) +
              " --integers " + std::to_string(tolerance.integers);
    }
    return text + "\n";
  }

  const RepeatFiles& files_;
  fs::path folder_, scripts_;
  std::set<std::string> needed_;  // files outside of the folder
  std::error_code error_;
};

}  // namespace

Status<Error> write_repeat_files(const RepeatFiles& files) { return RepeatWriter(files).write(); }

namespace {

constexpr std::size_t kMostNames = 20;

std::string op_of(const Graph& graph, NodeId node) {
  return markdown_text(op_text(graph.domain(node), graph.op(node)));
}

std::string node_lines(const Graph& graph, const std::vector<NodeId>& nodes) {
  const auto line = [&](NodeId node) {
    return "- " + markdown_code(graph.node(node).name) + " (" + op_of(graph, node) + ")\n";
  };
  return capped_list(nodes, kMostNames, line, "- and # more\n", "");
}

bool is_of_values(const LowerFinding& finding) { return finding.values.has_value(); }

std::string_view values_text(ValueVerdict verdict) {
  switch (verdict) {
    case ValueVerdict::culprit:
      return "This node computes wrong values on right inputs:";
    case ValueVerdict::lower_precision:
      return "These nodes are computed in lower precision than the reference's:";
    case ValueVerdict::tie_order:
      return "Equal values come in another order here:";
    case ValueVerdict::one_step:
      return "A few values are one quantisation step off here, which is rounding:";
    case ValueVerdict::rounding_decides:
      return "Rounding decides an order in these nodes:";
    case ValueVerdict::errors_add_up:
      return "Errors add up in these nodes; none of them is wrong by itself:";
    case ValueVerdict::together:
      return "These nodes compute wrong values together, and not without the first or the last of "
             "them:";
    case ValueVerdict::not_finite:
      return "The reference has NaN or infinity at these nodes, where right computations differ:";
    case ValueVerdict::unresolved:
      return "These nodes compute wrong values; smaller pieces could not be run:";
  }
  return {};
}

std::string_view kind_text(FindingKind kind) {
  switch (kind) {
    case FindingKind::culprit:
      return "This node fails alone:";
    case FindingKind::together:
      return "These nodes fail only together with others of the model:";
    case FindingKind::remedy:
      return "These nodes fail as they are, and pass when cleave changes what is around them:";
    case FindingKind::flaky:
      return "The model failed, and did not fail when it was tried again.";
    case FindingKind::unexplained:
      return "The model fails as a whole; no part of it was found to blame.";
    case FindingKind::left_out:
      return "The compiler leaves each of these nodes out:";
    case FindingKind::size:
      return "The model is too large for the compiler: what is beyond the limit was refused in "
             "these words, and what is within it was taken.";
  }
  return {};
}

// True when the reference has all that the piece reads and gives: then it can be run.
bool has_data(const FindingFolder& folder, const CutPiece& piece) {
  if (folder.samples.empty()) return false;
  const auto is_known = [&](ValueId value) {
    return folder.samples.front().find(folder.model.graph.value(value).name) != nullptr;
  };
  return std::ranges::all_of(piece.inputs, is_known) &&
         std::ranges::all_of(piece.outputs, is_known);
}

std::string readme_text(const FindingFolder& folder, bool has_data) {
  const Finding& finding = folder.finding.finding;
  const Graph& graph = folder.model.graph;
  std::string text = "# " + markdown_text(folder.backend.title(folder.identity)) + ": ";
  const std::string message = first_line(finding.message, 200);
  text += markdown_text(finding.how) + (finding.how.empty() || message.empty() ? "" : ": ") +
          markdown_text(message);
  text += "\n\n";
  const std::string model = fs::path(folder.model.source.path()).filename().string();
  text += "Found by `cleave " + std::string(folder.command) + "` in " + markdown_code(model) +
          ", partition " + markdown_code(folder.finding.part) + ". `model" +
          std::string(piece_ending(folder.model)) + "` is ";
  text +=
      finding.kind == FindingKind::left_out
          ? "the first of the nodes alone"
          : "the smallest piece that was seen to fail: " + std::to_string(finding.within.size()) +
                (finding.within.size() == 1 ? " node" : " nodes");
  text += ".\n\n";
  const bool speaks_of_values = is_of_values(folder.finding) && finding.kind != FindingKind::size;
  text +=
      std::string(speaks_of_values ? values_text(*folder.finding.values) : kind_text(finding.kind));
  text += "\n\n" + node_lines(graph, finding.nodes) + "\n";
  text +=
      "`sh command.sh` repeats it with the backend that `backend.json` describes: exit status 1, ";
  text += is_of_values(folder.finding) ? "and which outputs differ, as long as they do. "
                                       : "and the compiler's words, as long as it fails. ";
  text += "cleave is not needed for that. `stderr.txt` is all that was said.\n";
  if (has_data) {
    text +=
        "`test_data_set_0` holds inputs of the piece, and its outputs as the reference computes "
        "them.\n";
  }
  return text;
}

// Writes the values of the first sample as ONNX's test data.
Status<Error> write_data(const FindingFolder& folder, const CutPiece& piece) {
  const fs::path data = fs::path(folder.path) / "test_data_set_0";
  std::error_code error;
  fs::create_directories(data, error);
  const auto copy = [&](const std::vector<ValueId>& values, const std::string& prefix) {
    for (std::size_t i = 0; i < values.size() && !error; ++i) {
      const std::string_view name = folder.model.graph.value(values[i]).name;
      fs::copy_file(folder.samples.front().find(name)->file,
                    data / (prefix + std::to_string(i) + ".pb"), error);
    }
  };
  copy(piece.inputs, "input_");
  copy(piece.outputs, "output_");
  if (error) return Error{data.string() + ": cannot be written: " + error.message()};
  return Done{};
}

}  // namespace

Status<Error> write_finding(const FindingFolder& folder, PieceLowerer& lowerer) {
  std::error_code error;
  fs::create_directories(folder.path, error);
  if (error) return Error{folder.path + ": cannot be made: " + error.message()};
  const Finding& finding = folder.finding.finding;
  const auto& nodes = finding.within.empty() ? finding.nodes : finding.within;
  const bool is_remedy = finding.kind == FindingKind::remedy;
  auto written =
      lowerer.write({.nodes = nodes, .remedies = is_remedy ? Remedies{} : finding.remedies},
                    folder.path + "/model" + std::string(piece_ending(folder.model)));
  if (!written) return written.error();
  const bool can_run = has_data(folder, *written);
  Status<Error> done = can_run ? write_data(folder, *written) : Status<Error>(Done{});
  if (done) done = write_text(folder.path + "/stderr.txt", finding.message + "\n");
  if (done) done = write_text(folder.path + "/README.md", readme_text(folder, can_run));
  const bool compares = can_run && is_of_values(folder.finding);
  if (done) {
    done = write_repeat_files(
        {folder.path, folder.backend, folder.backend.title(folder.identity), can_run, compares,
         finding.remedies.pin_shapes && !is_remedy && folder.model.format() == ModelFormat::pt2});
  }
  return done;
}

// ---- probe around ----

namespace {

// The nodes of a graph by the name of their first output, which folding keeps.
std::unordered_map<std::string_view, NodeId> nodes_by_output(const Graph& graph) {
  std::unordered_map<std::string_view, NodeId> nodes;
  for (const NodeId node : graph.nodes()) {
    const auto outputs = graph.outputs(node);
    if (outputs.size() > 0) nodes.emplace(graph.value(outputs[0]).name, node);
  }
  return nodes;
}

// The inputs, by position, that are parameters of `folded` and not of `open`.
std::vector<std::uint32_t> new_constants(const Graph& open, NodeId node, const Graph& folded,
                                         NodeId same) {
  std::vector<std::uint32_t> constants;
  for (const Operand& operand : folded.operands(same)) {
    if (!operand.slot.is_positional() || operand.slot.is_inside_list()) continue;
    if (!folded.is_parameter(operand.value)) continue;
    const std::uint32_t position = operand.slot.position();
    const auto before = open.operands(node);
    const bool was_open = std::ranges::any_of(before, [&](const Operand& one) {
      return one.slot.is_positional() && !one.slot.is_inside_list() &&
             one.slot.position() == position && !open.is_parameter(one.value);
    });
    if (was_open) constants.push_back(position);
  }
  return constants;
}

// The answer about the nodes, with known sizes if the case was asked with them.
Result<Attempt, Error> ask_piece(PieceLowerer& lowerer, const std::vector<NodeId>& nodes,
                                 bool is_pinned) {
  auto result = lowerer.lower_changed({.nodes = nodes, .remedies = {.pin_shapes = is_pinned}});
  if (!result) return result.error();
  return result->attempt;
}

bool is_taken(const Attempt& attempt) {
  return attempt.verdict == LowerVerdict::lowered ||
         attempt.verdict == LowerVerdict::lower_precision;
}

}  // namespace

std::optional<Fault> KnownValues::ask(std::size_t model, std::span<ProbedCase* const> cases,
                                      ProbeOutcome& outcome) {
  const LoadedModel& open = input_.models[model];
  ShapeBindings bindings = open.bindings;
  const bool can_fold = open.format() == ModelFormat::onnx && bindings.folding != Folding::write;
  if (!can_fold || cases.empty()) return std::nullopt;
  bindings.folding = Folding::write;
  auto again = read_again(open, bindings);
  if (!again) return std::nullopt;
  folded_.push_back(std::make_unique<Folded>(Folded{*std::move(again), {}}));
  Folded& folded = *folded_.back();
  folded.facts = op_facts(folded.model);
  const auto by_output = nodes_by_output(folded.model.graph);
  struct Question {
    ProbedCase* probed;
    NodeId node;
    std::optional<Result<Attempt, Error>> answer = {};
  };
  std::vector<Question> questions;
  for (ProbedCase* const probed : cases) {
    const auto outputs = open.graph.outputs(probed->node);
    if (outputs.size() == 0) continue;
    const auto same = by_output.find(open.graph.value(outputs[0]).name);
    if (same == by_output.end()) {
      probed->help = CaseHelp::known;
      continue;
    }
    probed->constants = new_constants(open.graph, probed->node, folded.model.graph, same->second);
    const bool is_other = node_case(folded.model.graph, same->second) != probed->text ||
                          !folded.model.graph.body_nodes(same->second).empty();
    if (is_other) questions.push_back({probed, same->second});
  }
  if (questions.empty()) return std::nullopt;
  PoolOptions options = options_;
  options.journal.clear();  // it is open already
  options.work_folder += "/folded_" + std::to_string(model);
  std::error_code ignored;
  std::filesystem::create_directories(options.work_folder, ignored);
  auto pool = LoweringPool::start(folded.model, input_.backends, options);
  if (!pool) return pool.error();
  std::vector<Lanes::Job> jobs;
  for (Question& question : questions) {
    jobs.emplace_back([&](std::size_t lane) {
      question.answer.emplace(
          ask_piece((*pool)->lowerer(lane, 0), {question.node}, question.probed->is_pinned));
    });
  }
  (*pool)->lanes().do_all(std::move(jobs));
  outcome.compiler_runs += (*pool)->compiler_runs();
  outcome.cache_hits += (*pool)->cache_hits();
  for (const Question& question : questions) {
    if (!*question.answer) {
      return fault_of(FaultCause::output, question.answer->error().message);
    }
    if (is_success((*question.answer)->verdict)) {
      question.probed->help = CaseHelp::known;
      taken_.push_back({folded.model, folded.facts, question.node});
    } else {
      question.probed->constants.clear();
    }
  }
  return std::nullopt;
}

void NeighborProbe::ask(LoweringPool& pool, std::size_t model, std::span<ProbedCase* const> cases,
                        const std::vector<const ProbedCase*>& case_of) {
  const Graph& graph = input_.models[model].graph;
  for (auto& [op, of] : ops_) of.cases.clear();
  for (ProbedCase* const probed : cases) {
    const OpName op(plain_domain(graph.domain(probed->node)), graph.op(probed->node));
    ops_[op].cases.push_back(probed);
  }
  std::vector<Lanes::Job> jobs;
  for (auto& [op, of] : ops_) {
    if (of.cases.empty()) continue;
    jobs.emplace_back([this, &pool, model, of = &of, &case_of](std::size_t lane) {
      ask_op(pool.lowerer(lane, 0), model, *of, case_of);
    });
  }
  pool.lanes().do_all(std::move(jobs));
  for (auto& [op, of] : ops_) {
    for (const NodeId node : of.refused_at) refused_at_.emplace(model, node);
    of.refused_at.clear();
    if (of.error && !error_) error_ = of.error;
  }
}

void NeighborProbe::ask_op(PieceLowerer& lowerer, std::size_t model, OfOp& of,
                           const std::vector<const ProbedCase*>& case_of) const {
  const Graph& graph = input_.models[model].graph;
  const OpFacts& facts = input_.facts[model];
  const auto takes = [&](const std::vector<NodeId>& nodes, bool is_pinned) {
    if (of.error) return false;
    const auto answer = ask_piece(lowerer, nodes, is_pinned);
    if (!answer) of.error = answer.error();
    return answer && is_taken(*answer);
  };
  // Whether a known pattern matches around the node and was not refused there.
  const auto try_known = [&](NodeId node, bool is_pinned, std::size_t most_asked) {
    std::size_t asked = 0;
    for (LearnedPattern& pattern : of.patterns) {
      const std::vector<NodeId> nodes = pattern.around(graph, node);
      if (nodes.empty()) continue;
      if (asked == most_asked) break;
      ++asked;
      std::vector<NodeId> sorted = nodes;
      std::ranges::sort(sorted);
      const bool taken = takes(sorted, is_pinned);
      pattern.add(graph, facts, nodes, taken);
      if (taken) return sorted;
      of.refused_at.insert(node);
    }
    return std::vector<NodeId>();
  };
  for (ProbedCase* const probed : of.cases) {
    probed->together = try_known(probed->node, probed->is_pinned, input_.most_search_runs);
    if (!probed->together.empty()) {
      probed->help = CaseHelp::neighbors;
      of.refused_at.erase(probed->node);
      continue;
    }
    const GrownPiece grown = grow_piece(
        graph, probed->node, input_.most_search_runs,
        [&](const std::vector<NodeId>& nodes) { return takes(nodes, probed->is_pinned); });
    if (grown.nodes.empty()) continue;
    auto pattern = LearnedPattern::of(graph, facts, grown.nodes, probed->node);
    if (!pattern) continue;
    probed->help = CaseHelp::neighbors;
    probed->together = grown.nodes;
    of.refused_at.erase(probed->node);
    of.patterns.push_back(*std::move(pattern));
  }
  // The other nodes of these cases: each that a pattern matches with values that were not asked about.
  for (const NodeId node : graph.nodes()) {
    const ProbedCase* const probed = case_of[index(node)];
    if (!contains(of.cases, probed)) continue;
    if (probed->node == node) continue;
    const bool is_new = std::ranges::any_of(of.patterns, [&](const LearnedPattern& pattern) {
      const auto nodes = pattern.around(graph, node);
      return !nodes.empty() && !pattern.is_known(graph, facts, nodes);
    });
    if (is_new) try_known(node, probed->is_pinned, 1);
  }
}

bool NeighborProbe::has_pattern(const OpName& op) const {
  const auto found = ops_.find(op);
  return found != ops_.end() && !found->second.patterns.empty();
}

std::vector<Pattern> NeighborProbe::patterns(
    const std::function<std::string(const OpName&)>& reason) const {
  std::vector<Pattern> all;
  std::map<std::string, std::size_t> names;
  for (const auto& [op, of] : ops_) {
    for (const LearnedPattern& learned : of.patterns) {
      for (Pattern& pattern : learned.patterns()) {
        pattern.name = op.second + " in " + std::to_string(pattern.ops.size());
        const std::size_t number = ++names[pattern.name];
        if (number > 1) pattern.name += ", " + std::to_string(number);
        pattern.why = reason(op) + ", taken together with " +
                      counted(pattern.ops.size() - 1, "node") + " around it";
        all.push_back(std::move(pattern));
      }
    }
  }
  std::ranges::stable_sort(all, [](const Pattern& one, const Pattern& other) {
    return one.ops.size() > other.ops.size();
  });
  return all;
}

// ---- probe job ----
//
// Steps:
// 1. give the backend the first node of each case, model by model; or a program of torch as a whole,
//    where the backend takes it, or says itself which nodes it leaves out. A node with open shapes that
//    is refused is tried once more, with those of the reference: what a compiler says of open shapes it
//    does not say of the op;
// 2. try refused nodes with known values, then with their neighbours;
// 3. allow the ops of accepted cases, in their opsets and with their dtypes; learn the shortest
//    deny rules for refused cases, but for ops of which a pattern was learned;
// 4. check the rules on all nodes: deny a refused node that they still support by name.

namespace {

using Clock = std::chrono::steady_clock;

class ProbeJob {
 public:
  ProbeJob(const ProbeInput& input, const PoolOptions& options)
      : input_(input), options_(options), known_(input, options), neighbors_(input) {}

  Result<ProbeOutcome, Fault> run() {
    const Clock::time_point begin = Clock::now();
    for (std::size_t i = 0; i < input_.models.size(); ++i) {
      if (auto fault = probe_model(i)) return *std::move(fault);
    }
    if (auto fault = fault_of_silence()) return *std::move(fault);
    make_rules();
    deny_the_rest();
    outcome_.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return std::move(outcome_);
  }

 private:
  const Graph& graph_of(const ProbedCase& probed) const {
    return input_.models[probed.model].graph;
  }

  std::optional<Fault> probe_model(std::size_t model) {
    const std::size_t first = outcome_.cases.size();
    collect_cases(model);
    if (outcome_.cases.size() == first) return std::nullopt;
    PoolOptions options = options_;
    options.work_folder += "/model_" + std::to_string(model);
    std::error_code ignored;
    std::filesystem::create_directories(options.work_folder, ignored);
    auto pool = LoweringPool::start(input_.models[model], input_.backends, options);
    if (!pool) return pool.error();
    outcome_.identity = (*pool)->identities().front();
    outcome_.reference = (*pool)->reference();
    outcome_.is_compared = options.compares && !outcome_.reference.empty() &&
                           input_.backends.front().has(LowerStage::run);
    const bool is_whole = probe_whole(**pool, model, first);
    if (!is_whole) probe_cases(**pool, first);
    take_sizes(**pool, first);
    if (!is_whole && !error_) {
      if (auto fault = help_refused(**pool, model, first)) return fault;
    }
    outcome_.compiler_runs += (*pool)->compiler_runs();
    outcome_.cache_hits += (*pool)->cache_hits();
    if (error_) return fault_of(FaultCause::output, error_->message);
    return std::nullopt;
  }

  void collect_cases(std::size_t model) {
    const Graph& graph = input_.models[model].graph;
    for (const NodeId node : graph.nodes()) {
      std::string text = node_case(graph, node);
      const auto [known, is_new] = index_.emplace(text, outcome_.cases.size());
      if (is_new) {
        outcome_.cases.push_back({.text = std::move(text), .model = model, .node = node});
      }
      ++outcome_.cases[known->second].nodes;
      ++outcome_.nodes;
    }
  }

  // One compile tells all of a program of torch when the backend takes it, or names what it leaves
  // out: a case is refused when a node of it is left out. Returns false when it tells nothing.
  bool probe_whole(LoweringPool& pool, std::size_t model, std::size_t first) {
    if (input_.models[model].format() != ModelFormat::pt2) return false;
    const Graph& graph = input_.models[model].graph;
    std::vector<NodeId> nodes;
    for (const NodeId node : graph.nodes()) nodes.push_back(node);
    std::optional<Result<PieceResult, Error>> result;
    pool.lanes().do_all(
        {[&](std::size_t lane) { result.emplace(pool.lowerer(lane, 0).lower({.nodes = nodes})); }});
    if (!*result) {
      error_ = result->error();
      return true;
    }
    const Attempt& attempt = (*result)->attempt;
    if (!is_success(attempt.verdict) && attempt.verdict != LowerVerdict::partly) return false;
    std::map<std::string_view, const LeftOut*> left;
    for (const LeftOut& one : attempt.left) left.emplace(one.node, &one);
    for (std::size_t i = first; i < outcome_.cases.size(); ++i) {
      outcome_.cases[i].attempt.verdict = LowerVerdict::lowered;
      outcome_.cases[i].attempt.seconds = attempt.seconds / static_cast<double>(nodes.size());
    }
    for (const NodeId node : nodes) {
      const auto found = left.find(graph.node(node).name);
      if (found == left.end()) continue;
      ProbedCase& probed = outcome_.cases[index_.at(node_case(graph, node))];
      if (!probed.is_taken()) continue;
      const LeftOut& one = *found->second;
      probed.attempt.verdict = LowerVerdict::partly;
      probed.attempt.message = one.op + ": " + (one.why.empty() ? "no reason given" : one.why);
      probed.model = model;
      probed.node = node;
    }
    return true;
  }

  void probe_cases(LoweringPool& pool, std::size_t first) {
    std::vector<Lanes::Job> jobs;
    std::size_t done = 0;
    const std::size_t total = outcome_.cases.size() - first;
    for (std::size_t i = first; i < outcome_.cases.size(); ++i) {
      jobs.emplace_back([&, i](std::size_t lane) {
        ProbedCase& probed = outcome_.cases[i];
        const auto error = probe_case(pool, lane, probed);
        const std::lock_guard lock(mutex_);
        tell(options_.progress, {"probe", "cases", ++done, total});
        if (error && !error_) error_ = *error;
      });
    }
    pool.lanes().do_all(std::move(jobs));
  }

  std::optional<Error> probe_case(LoweringPool& pool, std::size_t lane, ProbedCase& probed) const {
    PieceLowerer& lowerer = pool.lowerer(lane, 0);
    const auto plain = lowerer.lower({.nodes = {probed.node}});
    if (!plain) return plain.error();
    probed.attempt = plain->attempt;
    const bool is_open = has_open_shapes(graph_of(probed), {&probed.node, 1});
    const bool is_onnx = input_.models[probed.model].format() == ModelFormat::onnx;
    if (!probed.is_refused() || !is_open || !is_onnx) return std::nullopt;
    if (pool.samples().empty() && !pool.assumed()) return std::nullopt;
    const auto pinned = lowerer.lower({.nodes = {probed.node}, .remedies = {.pin_shapes = true}});
    if (!pinned) return pinned.error();
    // An assumed size may itself be what is refused, and then says nothing.
    const bool is_said = !pool.samples().empty() || is_success(pinned->attempt.verdict);
    if (pinned->attempt.verdict == LowerVerdict::not_run || !is_said) return std::nullopt;
    probed.attempt = pinned->attempt;
    probed.is_pinned = true;
    return std::nullopt;
  }

  // Only what the backend says is asked about again: a crash or a timeout may be slow to come.
  std::optional<Fault> help_refused(LoweringPool& pool, std::size_t model, std::size_t first) {
    const auto refused = [&] {
      std::vector<ProbedCase*> cases;
      for (std::size_t i = first; i < outcome_.cases.size(); ++i) {
        ProbedCase& probed = outcome_.cases[i];
        const bool is_open = probed.attempt.verdict == LowerVerdict::refused;
        if (is_open && probed.help == CaseHelp::none) cases.push_back(&probed);
      }
      return cases;
    };
    if (auto fault = known_.ask(model, refused(), outcome_)) return fault;
    const std::vector<ProbedCase*> left = refused();
    if (left.empty()) return std::nullopt;
    const Graph& graph = input_.models[model].graph;
    std::vector<const ProbedCase*> case_of;
    for (const NodeId node : graph.nodes()) {
      case_of.push_back(&outcome_.cases[index_.at(node_case(graph, node))]);
    }
    neighbors_.ask(pool, model, left, case_of);
    if (!error_) error_ = neighbors_.error();
    return std::nullopt;
  }

  void take_sizes(LoweringPool& pool, std::size_t first) {
    const auto begin = outcome_.cases.begin() + static_cast<std::ptrdiff_t>(first);
    outcome_.sizes.resize(input_.models.size());
    if (std::none_of(begin, outcome_.cases.end(), [](const auto& one) { return one.is_pinned; })) {
      return;
    }
    outcome_.sizes[begin->model] = pool.pinned_sizes();
  }

  // A backend that answers no case is treated as one that does not start.
  std::optional<Fault> fault_of_silence() const {
    if (outcome_.cases.empty() || outcome_.count_unanswered() < outcome_.cases.size()) {
      return std::nullopt;
    }
    return fault_of(FaultCause::program,
                    "backend \"" + input_.backends.front().name + "\" answers none of the " +
                        std::to_string(outcome_.cases.size()) +
                        " cases: " + outcome_.cases.front().attempt.message,
                    {"cleave backend check tests a backend by itself"});
  }

  // ---- rules ----

  OpName op_of(const ProbedCase& probed) const {
    const Graph& graph = graph_of(probed);
    return {std::string(plain_domain(graph.domain(probed.node))),
            std::string(graph.op(probed.node))};
  }

  void make_rules() {
    Evidence evidence;
    std::map<OpName, AllowedOp> allowed;
    std::map<OpName, const ProbedCase*> refused;  // the first refused case
    for (const ProbedCase& probed : outcome_.cases) {
      if (!probed.is_taken()) continue;
      evidence.add_passed(graph_of(probed), {&probed.node, 1});
      if (!is_only_folded(probed)) {
        allow(allowed, graph_of(probed), probed.node, input_.facts[probed.model]);
      }
    }
    allow_known(evidence, allowed);
    for (const ProbedCase& probed : outcome_.cases) {
      if (!probed.is_refused()) continue;
      const OpName op = op_of(probed);
      refused.emplace(op, &probed);
      const bool is_parted = !probed.constants.empty() && !allowed.contains(op);
      if (is_parted || neighbors_.has_pattern(op)) continue;
      const Attempt& attempt = probed.attempt;
      evidence.add_failed(graph_of(probed), probed.node,
                          failure_signature({.stage = std::string(lower_stage_name(attempt.stage)),
                                             .message = attempt.message},
                                            MessageNames(graph_of(probed), {probed.node})));
    }
    for (const auto& [op, one] : allowed) outcome_.allow.push_back(one.rule());
    for (const auto& [op, one] : with_known_) outcome_.allow.push_back(known_rule(one));
    for (const auto& [op, one] : folded_) outcome_.allow.push_back(folded_rule(one));
    std::ranges::sort(outcome_.allow, [](const Rule& one, const Rule& other) {
      return std::tie(one.domain, one.op) < std::tie(other.domain, other.op);
    });
    outcome_.patterns = neighbors_.patterns(
        [&](const OpName& op) { return reason_of(*refused.at(op)) + " alone"; });
    if (refused.empty()) return;
    const ProbedCase& any = *refused.begin()->second;
    for (LearnedRule& learned : learn_rules(evidence, {graph_of(any), input_.facts[any.model]})) {
      const auto of_op = refused.find({learned.rule.domain, learned.rule.op});
      const ProbedCase& first = of_op == refused.end() ? any : *of_op->second;
      learned.rule.why = reason_of(first) + " (" + std::to_string(learned.failed) + " of " +
                         std::to_string(learned.failed + learned.passed) + " cases refused" +
                         (learned.is_weak() ? ", weak evidence)" : ")");
      if (first.help == CaseHelp::known) learned.rule.why += "; known with --fold write";
      outcome_.deny.push_back(std::move(learned.rule));
    }
  }

  // A case of which nothing is left says what becomes of known sizes, and nothing of the op: unless others
  // of the op were compiled, the op is allowed where all sizes are known. Returns true for such a case.
  bool is_only_folded(const ProbedCase& probed) {
    const bool is_onnx = input_.models[probed.model].format() == ModelFormat::onnx;
    if (!is_onnx || !probed.is_folded()) return false;
    const OpName op = op_of(probed);
    const bool is_compiled = std::ranges::any_of(outcome_.cases, [&](const ProbedCase& other) {
      return other.is_taken() && !other.is_folded() && op_of(other) == op;
    });
    if (is_compiled) return false;
    folded_[op].add(graph_of(probed), probed.node, input_.facts[probed.model]);
    return true;
  }

  static Rule folded_rule(const AllowedOp& op) {
    Rule rule = op.rule();
    rule.add(of_inputs(Property::known));
    return rule;
  }

  struct WithKnown {
    AllowedOp op;
    std::set<std::uint32_t> constants;  // inputs
  };

  static Rule known_rule(const WithKnown& known) {
    Rule rule = known.op.rule();
    for (const std::uint32_t input : known.constants) {
      rule.add(of_input(Property::constant, {input}));
    }
    return rule;
  }

  // The ops of cases that are taken with constants: if all that was taken of an op has these constants,
  // they become a condition of it.
  void allow_known(Evidence& evidence, std::map<OpName, AllowedOp>& allowed) {
    std::map<OpName, std::set<std::uint32_t>> constants;
    for (const ProbedCase& probed : outcome_.cases) {
      if (probed.constants.empty()) continue;
      constants[op_of(probed)].insert(probed.constants.begin(), probed.constants.end());
    }
    for (const auto& [op, inputs] : constants) {
      WithKnown known{{}, inputs};
      bool is_parted = true;
      for (const ProbedCase& probed : outcome_.cases) {
        if (!probed.is_taken() || op_of(probed) != op) continue;
        is_parted = is_parted && has_constants(graph_of(probed), probed.node, inputs);
        known.op.add(graph_of(probed), probed.node, input_.facts[probed.model]);
      }
      for (const KnownValues::Taken& taken : known_.taken()) {
        const Graph& graph = taken.model.graph;
        if (OpName(plain_domain(graph.domain(taken.node)), graph.op(taken.node)) != op) continue;
        evidence.add_passed(graph, {&taken.node, 1});
        if (!is_parted) allow(allowed, graph, taken.node, taken.facts);
        known.op.add(graph, taken.node, taken.facts);
      }
      if (!is_parted) continue;
      allowed.erase(op);
      folded_.erase(op);
      with_known_.emplace(op, std::move(known));
    }
  }

  static bool has_constants(const Graph& graph, NodeId node,
                            const std::set<std::uint32_t>& inputs) {
    std::set<std::uint32_t> are;
    for (const Operand& operand : graph.operands(node)) {
      const bool is_plain = operand.slot.is_positional() && !operand.slot.is_inside_list();
      if (is_plain && graph.is_parameter(operand.value)) are.insert(operand.slot.position());
    }
    return std::includes(are.begin(), are.end(), inputs.begin(), inputs.end());
  }

  // Allows the node, and all nodes of its bodies, since lists judge these too.
  static void allow(std::map<OpName, AllowedOp>& allowed, const Graph& graph, NodeId node,
                    const OpFacts& facts) {
    std::vector<NodeId> left = {node};
    while (!left.empty()) {
      const NodeId next = left.back();
      left.pop_back();
      const OpName op(plain_domain(graph.domain(next)), graph.op(next));
      allowed[op].add(graph, next, facts);
      for (const NodeId inner : graph.body_nodes(next)) left.push_back(inner);
    }
  }

  std::string reason_of(const ProbedCase& probed) const {
    const std::string title = input_.backends.front().title(outcome_.identity) + ": ";
    if (probed.attempt.verdict == LowerVerdict::wrong_values) {
      return title + verdict_words(probed.attempt);
    }
    const std::vector<NodeId> nodes = {probed.node};
    PieceResult result;
    result.attempt = probed.attempt;
    return title + failure_signature(answer_of(result), MessageNames(graph_of(probed), nodes));
  }

  // Denies the nodes of refused cases that the rules still support, by name.
  void deny_the_rest() {
    SupportList list;
    list.allow = outcome_.allow;
    list.deny = outcome_.deny;
    list.patterns = outcome_.patterns;
    const std::vector<SupportList> lists = {list};
    for (std::size_t model = 0; model < input_.models.size(); ++model) {
      const Graph& graph = input_.models[model].graph;
      const Support support = match_support(graph, lists, input_.facts[model]);
      for (const NodeId node : graph.nodes()) {
        const ProbedCase& probed = outcome_.cases[index_.at(node_case(graph, node))];
        if (!probed.is_refused() || !support.supported.contains(node)) continue;
        if (support.patterns.match_of(node) && !neighbors_.is_refused_at(model, node)) continue;
        Rule rule = rules_by_name(graph, {&node, 1}).front();
        rule.why = reason_of(probed) + " (no condition parts it from what is taken)";
        outcome_.deny.push_back(std::move(rule));
      }
    }
  }

  const ProbeInput& input_;
  const PoolOptions& options_;
  KnownValues known_;
  NeighborProbe neighbors_;
  ProbeOutcome outcome_;
  std::map<std::string, std::size_t> index_;  // of cases, by text
  std::map<OpName, WithKnown> with_known_;
  std::map<OpName, AllowedOp> folded_;
  std::mutex mutex_;
  std::optional<Error> error_;
};

}  // namespace

bool ProbedCase::is_taken() const { return is_success(attempt.verdict); }

std::size_t ProbeOutcome::count_unanswered() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      cases, [](const auto& probed) { return probed.attempt.verdict == LowerVerdict::driver; }));
}

Result<ProbeOutcome, Fault> probe_models(const ProbeInput& input, const PoolOptions& options) {
  return ProbeJob(input, options).run();
}

// ---- reduce job ----

namespace {

class ReduceJob {
 public:
  ReduceJob(const ReduceInput& input, const ReduceOptions& options, LoweringPool& pool)
      : input_(input), options_(options), pool_(pool) {}

  Result<ReduceOutcome, Fault> run() {
    outcome_.identity = pool_.identities().front();
    outcome_.part.name = input_.name;
    outcome_.part.nodes = input_.nodes;
    std::optional<Fault> fault;
    pool_.lanes().do_all({[&](std::size_t lane) { fault = run_in(lane); }});
    if (!fault && is_refusal(outcome_.part.attempt.verdict)) fault = pool_.fault_of_backend(0);
    if (!fault && outcome_.finding) {
      pool_.lanes().do_all({[&](std::size_t lane) { fault = write(pool_.lowerer(lane, 0)); }});
    }
    if (fault) return *std::move(fault);
    outcome_.compiler_runs = pool_.compiler_runs();
    return std::move(outcome_);
  }

 private:
  std::optional<Fault> run_in(std::size_t lane) {
    PieceLowerer& lowerer = pool_.lowerer(lane, 0);
    const auto result = lowerer.lower({.nodes = input_.nodes});
    if (!result) return fault_of(FaultCause::output, result.error().message);
    LoweredPart& part = outcome_.part;
    part.attempt = result->attempt;
    part.hash = result->hash;
    part.is_lowered = is_success(result->attempt.verdict);
    if (!is_refusal(result->attempt.verdict)) return std::nullopt;
    const PartSearch search(input_.model.graph, pool_, options_.search);
    const auto asked = [&](std::size_t runs) {
      tell(options_.pool.progress, {"search", "runs", runs, options_.search.most_runs});
    };
    auto found = search.search({part, *result}, lane, asked);
    if (lowerer.error()) return fault_of(FaultCause::output, lowerer.error()->message);
    if (found.findings.empty()) return std::nullopt;
    outcome_.finding = std::move(found.findings.front());
    return std::nullopt;
  }

  std::optional<Fault> write(PieceLowerer& lowerer) const {
    if (options_.folder.empty()) return std::nullopt;
    const FindingFolder folder{.path = options_.folder,
                               .finding = *outcome_.finding,
                               .model = input_.model,
                               .backend = input_.backends.front(),
                               .identity = outcome_.identity,
                               .samples = pool_.samples(),
                               .command = "reduce"};
    const auto written = write_finding(folder, lowerer);
    if (written) return std::nullopt;
    return fault_of(FaultCause::output, written.error().message);
  }

  const ReduceInput& input_;
  const ReduceOptions& options_;
  LoweringPool& pool_;
  ReduceOutcome outcome_;
};

}  // namespace

Result<ReduceOutcome, Fault> reduce_piece(const ReduceInput& input, const ReduceOptions& options) {
  const Clock::time_point begin = Clock::now();
  auto pool = LoweringPool::start(input.model, input.backends, options.pool);
  if (!pool) return pool.error();
  auto outcome = ReduceJob(input, options, **pool).run();
  if (outcome) outcome->seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return outcome;
}

}  // namespace cleave
