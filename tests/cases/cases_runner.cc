// Compares cleave's passes with recorded results of the reference systems, in this process.
//
// usage: cases_runner [--limit N] [--show N] [FILE.jsonl]        (standard input without a file)
//
// Prints a line for each field with how many comparisons agree, the first disagreements, and last
// `N passed, M failed, K skipped`. Exit status: 0 all agree, 1 some case fails or none was there,
// 2 wrong usage, 3 a line is no case.
#include <exception>
#include <fstream>
#include <iostream>
#include <limits>
#include <string>

#include "formats/models/graph_json.h"
#include "tests/cases/checks.h"

namespace cleave::cases {
namespace {

struct Options {
  std::size_t limit = std::numeric_limits<std::size_t>::max();
  std::size_t show = 10;
  std::string path;
};

// Errors, and warnings too: the cases should cause none.
Json faults_of(const Loaded<GraphJson>& read) {
  std::string text;
  for (const Diagnostic& fault : read ? read->warnings : read.error()) {
    text += format_diagnostic(fault);
  }
  return text.empty() ? Json() : Json(text);
}

void check_case(const std::string& line, Tally& tally) {
  const Case recorded = parse_case(line);
  if (recorded.kind == CaseKind::shard) return check_shard_case(recorded, tally);
  tally.begin_case(recorded.id);
  SourceFile source = SourceFile::from_text(recorded.id, recorded.graph);
  auto read = read_graph_json(source, {});
  if (!tally.compare("graph is read", Json(), faults_of(read))) return tally.end_case();
  // The recorded splitters do not see writes in place: mvit_v1_b's reads a tensor before `add_` has
  // written it, where cleave waits.
  const LoadedModel model{std::move(source), GraphJsonOrigin{}, read->graph.with_order({})};
  if (recorded.kind == CaseKind::splitter) check_splitter_case(recorded, model, tally);
  if (recorded.kind == CaseKind::tags) check_tags_case(recorded, model.graph, tally);
  if (recorded.kind == CaseKind::split_module) check_split_module_case(recorded, model, tally);
  tally.end_case();
}

int run(const Options& options) {
  std::ifstream file;
  if (!options.path.empty()) file.open(options.path);
  std::istream& in = options.path.empty() ? std::cin : file;
  Tally tally(options.show);
  std::string line;
  for (std::size_t i = 0; i < options.limit && std::getline(in, line); ++i) {
    try {
      check_case(line, tally);
    } catch (const std::exception& problem) {
      std::cerr << "cases_runner: line " << i + 1 << ": " << problem.what() << '\n';
      return 3;
    }
  }
  tally.print(std::cout);
  return tally.passed() ? 0 : 1;
}

}  // namespace
}  // namespace cleave::cases

int main(int argc, char** argv) {
  cleave::cases::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if ((arg == "--limit" || arg == "--show") && i + 1 < argc) {
      (arg == "--limit" ? options.limit : options.show) = std::stoul(argv[++i]);
    } else if (options.path.empty() && !arg.starts_with('-')) {
      options.path = arg;
    } else {
      std::cerr << "usage: cases_runner [--limit N] [--show N] [FILE.jsonl]\n";
      return 2;
    }
  }
  return cleave::cases::run(options);
}
