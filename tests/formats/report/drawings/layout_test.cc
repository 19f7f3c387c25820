#include "formats/report/drawings/layout.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "formats/report/drawings/dot.h"
#include "tests/catch2.h"
#include "tests/formats/base/io/test_folder.h"

namespace cleave {
namespace {

using Catch::Matchers::Contains;

bool has_library() { return layout_svg("digraph { a }").has_value(); }

// Complete, so that ranking and placing it takes Graphviz minutes.
std::string hard_graph(int nodes) {
  std::string dot = "digraph {";
  for (int i = 0; i < nodes; ++i) {
    for (int k = i + 1; k < nodes; ++k) {
      dot += " n" + std::to_string(i) + " -> n" + std::to_string(k) + " [label=\"x\"];";
    }
  }
  return dot + "}";
}

TEST_CASE("drawings are returned in order, and are the same as when laid out in this process") {
  if (!has_library()) return;
  const std::vector<std::string> dots = {"digraph one { a -> b }", "", "digraph {",
                                         "digraph two { c }"};
  const auto all = lay_out_all({dots.size(), [&](std::size_t i) { return dots[i]; }}, {}).drawings;
  REQUIRE(all.size() == 4);
  CHECK(all[0]->svg == *layout_svg(dots[0]));
  CHECK(all[1]->svg.empty());
  CHECK_THAT(all[2].error().message, Contains("syntax error"));
  CHECK(all[3]->svg == *layout_svg(dots[3]));
}

// The points of an edge's path that lie to the right of a node's centre, or left of it.
std::size_t points_beside(const std::string& svg, const std::string& edge, double centre) {
  std::size_t at = svg.find("<path", svg.find("<title>" + edge + "</title>"));
  at = svg.find(" d=\"M", at) + 5;
  std::size_t count = 0;
  while (svg[at] != '"') {
    char* end = nullptr;
    const double x = std::strtod(svg.c_str() + at, &end);
    if (x < centre - 30 || x > centre + 30) ++count;
    at = svg.find_first_of(" \"C", static_cast<std::size_t>(end - svg.c_str()));
    while (svg[at] == ' ' || svg[at] == 'C') ++at;
  }
  return count;
}

TEST_CASE("an edge that passes other nodes goes round them, however many edges there are") {
  if (!has_library()) return;
  std::string dot = "digraph { node [shape=box width=1]; n0 -> n300;";
  for (int i = 0; i < 310; ++i) {
    dot += " n" + std::to_string(i) + " -> n" + std::to_string(i + 1) + " [weight=9];";
  }
  const std::string curved = *layout_svg(dot + "}");
  const std::string routed = *layout_svg(dot + "}", EdgeShape::routed);
  const std::size_t node = curved.find("points=\"", curved.find("<title>n150</title>"));
  const double right = std::strtod(curved.c_str() + node + 8, nullptr);  // n150 is 72 points wide
  CHECK(points_beside(curved, "n0&#45;&gt;n300", right - 36) > 2);
  CHECK(points_beside(routed, "n0&#45;&gt;n300", right - 36) > 2);
}

TEST_CASE("a drawing whose boxes Graphviz cannot lay out has none") {
  if (!has_library()) return;
  const std::string nodes = "digraph g {\n\ta -> b;\n\tsubgraph cluster_0 { a; b;";
  CHECK(lay_out(nodes + "\n\t}\n}", {})->has_boxes);
  const LaidOut without = lay_out(nodes + " ]\n\t}\n}", {});
  REQUIRE(without.has_value());
  CHECK_FALSE(without->has_boxes);
  CHECK(without->svg == *layout_svg("digraph g {\n\ta -> b;\n}"));
}

TEST_CASE("a drawing that takes too long does not prevent others") {
  if (!has_library()) return;
  const std::vector<std::string> dots = {hard_graph(60), "digraph { a }"};
  const LayoutLimits limits{.seconds = 2};
  const auto all =
      lay_out_all({dots.size(), [&](std::size_t i) { return dots[i]; }}, limits).drawings;
  CHECK_THAT(all[0].error().message, Contains("Graphviz took longer than 500 ms"));
  CHECK(all[1].has_value());
}

TEST_CASE("when time runs out no more drawings are laid out") {
  if (!has_library()) return;
  const LayoutJob job{3, [](std::size_t) { return hard_graph(60); }};
  const LaidOutAll all = lay_out_all(job, {.seconds = 0.01});
  for (const LaidOut& one : all.drawings) CHECK_FALSE(one.has_value());
  CHECK(all.spent >= 0.01);
}

TEST_CASE("seconds that earlier calls have spent are not spent again") {
  if (!has_library()) return;
  const auto make = [](std::size_t) -> std::string { return "digraph { a }"; };
  const LaidOutAll all = lay_out_all({2, make}, {.seconds = 20, .spent = 20});
  CHECK(all.spent == 20);
  for (const LaidOut& one : all.drawings) {
    CHECK(one.error().message == "the time for drawings, 20 s, was over");
  }
}

TEST_CASE("when the first drawing is needed and fails, the others are given up") {
  if (!has_library()) return;
  std::size_t made = 0;
  const auto make = [&](std::size_t i) {
    made = i;
    return i == 0 ? std::string("digraph {") : hard_graph(60);
  };
  const LaidOutAll all = lay_out_all({50, make, true}, {.seconds = 100});
  CHECK_THAT(all.drawings[0].error().message, Contains("syntax error"));
  CHECK(made < 10);
  CHECK(all.spent < 10);
  for (std::size_t i = 1; i < 50; ++i) CHECK(all.drawings[i]->svg.empty());
}

}  // namespace
namespace {

using Catch::Matchers::Contains;

// $PATH is this while the object exists.
class ProgramPath {
 public:
  explicit ProgramPath(const char* path) : before_(std::getenv("PATH")) {
    ::setenv("PATH", path, 1);
  }
  ProgramPath(const ProgramPath&) = delete;
  ProgramPath& operator=(const ProgramPath&) = delete;
  ~ProgramPath() { ::setenv("PATH", before_.c_str(), 1); }

 private:
  std::string before_;
};

bool has_dot() { return run_dot("digraph { a }", EdgeShape::curved, 5).status != kNoDot; }

TEST_CASE("the program dot lays a drawing out as the library does") {
  if (!has_dot() || !has_layout_library()) return;
  const std::string dot = "digraph one { a -> b [label=\"x\"]; a -> c }";
  const DotRun run = run_dot(dot, EdgeShape::curved, 5);
  CHECK(run.status == 0);
  CHECK(run.svg == *layout_svg(dot));
  CHECK(run_dot(dot, EdgeShape::routed, 5).svg == *layout_svg(dot, EdgeShape::routed));
}

TEST_CASE("the program dot says what is wrong with a drawing") {
  if (!has_dot()) return;
  const DotRun run = run_dot("digraph {", EdgeShape::curved, 5);
  CHECK(run.status == 1);
  CHECK_THAT(run.said, Contains("syntax error"));
}

TEST_CASE("the program dot is ended when its time is over") {
  if (!has_dot()) return;
  CHECK(run_dot(hard_graph(60), EdgeShape::curved, 1).signal == SIGXCPU);
}

TEST_CASE("the program dot ends when the process that started it is killed") {
  const TestFolder folder;
  const std::string pipe = folder.path("pipe");
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const std::string dot =
      folder.with_file("dot", "#!/bin/sh\nexec /bin/sleep 600 > " + pipe + "\n");
  std::filesystem::permissions(dot, std::filesystem::perms::owner_all);
  const pid_t starter = ::fork();
  REQUIRE(starter >= 0);
  if (starter == 0) {
    const ProgramPath path(folder.path("").c_str());
    run_dot("digraph { a }", EdgeShape::curved, 600);
    std::_Exit(0);
  }
  const int end = ::open(pipe.c_str(), O_RDONLY);  // waits for the program
  ::kill(starter, SIGKILL);
  ::waitpid(starter, nullptr, 0);
  ::pollfd source = {.fd = end, .events = POLLIN, .revents = 0};
  CHECK(::poll(&source, 1, 10'000) == 1);
  CHECK((source.revents & POLLHUP) != 0);
  ::close(end);
}

TEST_CASE("a machine without the program dot is recognised") {
  const ProgramPath path("/nowhere");
  CHECK(run_dot("digraph { a }", EdgeShape::curved, 5).status == kNoDot);
}

}  // namespace
}  // namespace cleave
