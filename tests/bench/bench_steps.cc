#include "tests/bench/bench_steps.h"

#include <simdjson.h>
#include <time.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <utility>

#include "core/measures/measures.h"
#include "core/split/split.h"
#include "formats/lists/support_file.h"
#include "formats/models/graph_json.h"
#include "formats/models/models.h"
#include "formats/report/drawings/drawings.h"
#include "formats/report/words/report.h"
#include "tests/bench/bench_memory.h"

namespace cleave::bench {
namespace {

// The process's own time, which other work on the machine disturbs less than the clock; all steps
// use one thread.
double cpu_seconds() {
  timespec time = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

template <class T, class E>
T must(Result<T, E> result, const char* what) {
  if (!result) throw std::runtime_error(std::string(what) + " was refused");
  return std::move(result).value();
}

// Fills the processor's caches with other data, so that a small graph is not timed inside them and
// a large one outside: growth then measures the work.
void empty_caches() {
  static std::vector<std::uint64_t> other(std::size_t{16} << 20U);  // 128 MiB
  for (std::size_t i = 0; i < other.size(); i += 8) ++other[i];
}

class Stopwatch {
 public:
  Stopwatch(Measured& measured, int repeats) : measured_(measured), repeats_(repeats) {}

  // The median over the repetitions, and the result of the last one. Freeing results is not timed.
  template <class Run>
  auto time(const char* name, StepKind kind, Run run) {
    std::vector<double> seconds;
    decltype(std::optional(run())) result;
    for (int i = 0; i < repeats_; ++i) {
      result.reset();
      empty_caches();
      const double begin = cpu_seconds();
      result.emplace(run());
      seconds.push_back(cpu_seconds() - begin);
    }
    std::nth_element(seconds.begin(), seconds.begin() + repeats_ / 2, seconds.end());
    measured_.steps.push_back({name, kind, seconds[static_cast<std::size_t>(repeats_) / 2]});
    return *std::move(result);
  }

 private:
  Measured& measured_;
  int repeats_;
};

std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::string bytes(static_cast<std::size_t>(file.tellg()), '\0');
  file.seekg(0);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

// Bytes of all strings, so that each of them is read.
std::size_t walk(simdjson::ondemand::value value) {
  switch (value.type()) {
    case simdjson::ondemand::json_type::array: {
      std::size_t sum = 0;
      for (auto item : value.get_array()) sum += walk(item.value());
      return sum;
    }
    case simdjson::ondemand::json_type::object: {
      std::size_t sum = 0;
      for (auto field : value.get_object()) sum += walk(field.value());
      return sum;
    }
    case simdjson::ondemand::json_type::string:
      return std::string_view(value.get_string()).size();
    default:
      return value.raw_json_token().size();
  }
}

std::size_t walk_json(const std::string& padded) {
  simdjson::ondemand::parser parser;
  auto document =
      parser.iterate(padded.data(), padded.size() - SourceFile::kPadding, padded.size());
  std::size_t sum = 0;
  for (auto field : document.get_object()) sum += walk(field.value());
  return sum;
}

// Results of the steps before a pass.
struct State {
  LoadedModel model;
  std::vector<SupportList> lists;
  OpFacts facts;
  SplitOptions options;
};

LoadedModel load(const std::string& path) { return must(read_model(path, {}), "the model"); }

void measure_input(Stopwatch& watch, const std::string& path) {
  std::string bytes =
      watch.time("read the bytes", StepKind::input, [&] { return file_bytes(path); });
  bytes.append(SourceFile::kPadding, '\0');
  watch.time("simdjson alone", StepKind::input, [&] { return walk_json(bytes); });
  watch.time("read_model", StepKind::input, [&] { return load(path); });
}

// In the order of split_graph(); freeing a pass's input is not timed.
void measure_passes(Stopwatch& watch, const State& state, const Split& whole) {
  const Graph& graph = state.model.graph;
  const SplitOptions& options = state.options;
  constexpr StepKind kPass = StepKind::pass;
  watch.time("match_support", kPass,
             [&] { return match_support(graph, state.lists, state.facts); });
  const AccNodes acc = watch.time("find_acc_nodes", kPass,
                                  [&] { return find_acc_nodes(graph, whole.support, options); });
  const Fusions fusions =
      watch.time("find_fusions", kPass, [&] { return find_fusions(graph, acc, options); });
  watch.time("split_subgraphs", kPass, [&] { return split_subgraphs(graph, fusions, options); });
  const MergedSubgraphs merged = watch.time("merge_small_subgraphs", kPass, [&] {
    return merge_small_subgraphs(graph, whole.found.subgraphs, fusions.acc.reasons, options);
  });
  watch.time("make_partition", kPass, [&] { return make_partition(merged.subgraphs, options); });
  watch.time("check_partition", kPass, [&] {
    return check_partition(graph, whole.partition, &whole.fusions.acc.nodes).has_value();
  });
  watch.time("find_boundaries", kPass, [&] { return find_boundaries(graph, whole.partition); });
  watch.time("preview_split", kPass, [&] {
    return preview_split(graph, whole.partition, whole.boundaries, default_link());
  });
}

std::size_t write_models(const State& state, const Split& split) {
  std::size_t bytes = write_root_json(state.model, split.partition, split.boundaries).size();
  for (const PartId part : split.partition.parts()) {
    bytes += write_part_json(state.model, split.partition, split.boundaries, part).size();
  }
  return bytes;
}

std::size_t draw_all(const Report& report) {
  constexpr std::size_t kCollapseAbove = 2000;
  std::size_t bytes = draw_support(report, kCollapseAbove).size() + draw_preview(report).size();
  for (const PartId part : report.split.partition.parts()) {
    bytes += draw_part(report, part, kCollapseAbove).size();
  }
  return bytes;
}

void measure_output(Stopwatch& watch, const State& state, const Split& split) {
  const Preview preview =
      preview_split(state.model.graph, split.partition, split.boundaries, default_link());
  const Report report{state.model, state.model.graph, state.lists, state.facts, state.options,
                      split,       preview,           {}};
  watch.time("write root and parts", StepKind::output, [&] { return write_models(state, split); });
  watch.time("report as JSON", StepKind::output, [&] { return report_json(report).size(); });
  watch.time("report as text", StepKind::output, [&] { return report_text(report).size(); });
  watch.time("all drawings", StepKind::output, [&] { return draw_all(report); });
}

double difference(std::uint64_t more, std::uint64_t less) {
  return more > less ? static_cast<double>(more - less) : 0;
}

}  // namespace

double Measured::seconds(std::string_view step) const {
  for (const Step& each : steps) {
    if (each.name == step) return each.seconds;
  }
  return 0;
}

double Measured::seconds_of_passes() const {
  double sum = 0;
  for (const Step& each : steps) sum += each.kind == StepKind::pass ? each.seconds : 0;
  return sum;
}

Measured measure_steps(const std::string& path, std::string_view list_text,
                       const MeasureOptions& options) {
  Measured measured;
  release_freed_memory();
  restart_peak();
  const std::uint64_t before = resident_bytes();
  State state{load(path), {}, {}, {}};
  const auto nodes = static_cast<double>(state.model.graph.node_count());
  measured.peak_bytes_a_node = difference(peak_resident_bytes(), before) / nodes;
  release_freed_memory();
  measured.graph_bytes_a_node = difference(resident_bytes(), before) / nodes;
  state.lists.push_back(must(parse_support("bench", list_text), "the support list").list);
  state.facts = op_facts(state.model);
  const Split split =
      must(split_graph({state.model.graph, state.lists, state.facts}, state.options), "the split");
  measured.peak_split_bytes_a_node = difference(peak_resident_bytes(), before) / nodes;
  measured.nodes = state.model.graph.node_count();
  measured.parts = split.partition.count();
  measured.file_bytes = state.model.source.size();

  Stopwatch watch(measured, options.repeats);
  measure_input(watch, path);
  measure_passes(watch, state, split);
  if (options.outputs) measure_output(watch, state, split);
  return measured;
}

}  // namespace cleave::bench
