// Times every step of a split on generated graphs of growing size and compares the passes with
// their targets: from one size to the next, ten times as large, none grows by more than 12 times;
// on the largest graph all passes together take less time than reading it; and memory stays within
// bounds.
//
// usage: cleave_bench [--kinds chain,wide] [--nodes 10000,100000,1000000] [--repeat N]
//                     [--outputs yes|no]
//
// Exit status: 0 targets met, 1 one is missed, 2 wrong usage, 3 a step refused its input.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "formats/base/process.h"
#include "tests/bench/bench_graph.h"
#include "tests/bench/bench_steps.h"
#include "tests/bench/bench_table.h"

namespace cleave::bench {
namespace {

constexpr std::size_t kPythonNodes = 100'000;

struct Request {
  std::vector<std::string> kinds = {"chain", "wide"};
  std::vector<std::size_t> nodes = {10'000, 100'000, 1'000'000};
  int repeats = 0;  // 0: more for small graphs
  bool outputs = true;
};

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    items.emplace_back(text.substr(0, comma));
    if (comma == text.size()) return items;
    text.remove_prefix(comma + 1);
  }
}

std::size_t number_of(std::string_view text) {
  std::size_t number = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  return fault == std::errc{} && end == text.data() + text.size() ? number : 0;
}

// False when the arguments are wrong.
bool parse_arguments(int argc, char** argv, Request& request) {
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    const std::vector<std::string> items = split_list(argv[i + 1]);
    if (option == "--kinds") {
      request.kinds = items;
    } else if (option == "--nodes") {
      request.nodes.clear();
      for (const std::string& item : items) request.nodes.push_back(number_of(item));
    } else if (option == "--repeat") {
      request.repeats = static_cast<int>(std::min<std::size_t>(number_of(items[0]), 1000));
    } else if (option == "--outputs" && (items[0] == "yes" || items[0] == "no")) {
      request.outputs = items[0] == "yes";
    } else {
      return false;
    }
  }
  const auto known = [](const std::string& kind) { return parse_graph_kind(kind).has_value(); };
  const auto positive = [](std::size_t number) { return number > 0; };
  return argc % 2 == 1 && std::all_of(request.kinds.begin(), request.kinds.end(), known) &&
         std::all_of(request.nodes.begin(), request.nodes.end(), positive);
}

// A file that is removed with this object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              ("cleave_bench_" + std::to_string(getpid()) + ".json")) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// Seconds that Python takes to load the file; 0 when there is no Python.
double python_seconds(const std::string& path) {
  const std::string command =
      "python3 -c 'import json,sys,time\\nb=time.perf_counter()\\njson.load(open(sys.argv[1]))\\n"
      "print(time.perf_counter()-b)' '" +
      path + "' 2>/dev/null";
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return 0;
  double seconds = 0;
  if (std::fscanf(pipe, "%lf", &seconds) != 1) seconds = 0;
  pclose(pipe);
  return seconds;
}

int repeats_for(const Request& request, std::size_t nodes) {
  if (request.repeats > 0) return request.repeats;
  return nodes <= 10'000 ? 11 : nodes <= 100'000 ? 7 : 3;
}

bool run_kind(const Request& request, const std::string& kind) {
  std::vector<Measured> sizes;
  for (const std::size_t nodes : request.nodes) {
    const TemporaryFile file(make_graph(*parse_graph_kind(kind), nodes));
    sizes.push_back(measure_steps(file.path(), make_support_list(),
                                  {repeats_for(request, nodes), request.outputs}));
    if (nodes != kPythonNodes) continue;
    const double python = python_seconds(file.path());
    if (python > 0) {
      std::printf(
          "%s: Python's json.load takes %.3f s for %zu nodes, %.1f times as long as reading "
          "the graph here\n",
          kind.c_str(), python, nodes, python / sizes.back().seconds("read_model"));
    }
  }
  print_table(kind, sizes);
  return print_targets(kind, sizes);
}

}  // namespace
}  // namespace cleave::bench

int main(int argc, char** argv) {
  using namespace cleave::bench;
  cleave::keep_freed_memory();
  Request request;
  if (!parse_arguments(argc, argv, request)) {
    std::fputs(
        "usage: cleave_bench [--kinds chain,wide,transformer] [--nodes N,N,...] "
        "[--repeat N] [--outputs yes|no]\n",
        stderr);
    return 2;
  }
  std::sort(request.nodes.begin(), request.nodes.end());
  bool met = true;
  try {
    for (const std::string& kind : request.kinds) met = run_kind(request, kind) && met;
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "cleave_bench: %s\n", fault.what());
    return 3;
  }
  return met ? 0 : 1;
}
