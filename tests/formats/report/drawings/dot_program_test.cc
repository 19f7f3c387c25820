#include "formats/report/drawings/dot_program.h"

#include <csignal>
#include <cstdlib>

#include "tests/catch2.h"

namespace cleave {
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
  CHECK(run_dot(dot, EdgeShape::straight, 5).svg == *layout_svg(dot, EdgeShape::straight));
}

TEST_CASE("the program dot says what is wrong with a drawing") {
  if (!has_dot()) return;
  const DotRun run = run_dot("digraph {", EdgeShape::curved, 5);
  CHECK(run.status == 1);
  CHECK_THAT(run.said, Contains("syntax error"));
}

TEST_CASE("the program dot is ended when its time is over") {
  if (!has_dot()) return;
  std::string dot = "digraph {";
  for (int i = 0; i < 60; ++i) {
    for (int k = i + 1; k < 60; ++k) {
      dot += " n" + std::to_string(i) + " -> n" + std::to_string(k) + " [label=\"x\"];";
    }
  }
  CHECK(run_dot(dot + "}", EdgeShape::curved, 1).signal == SIGXCPU);
}

TEST_CASE("a machine without the program dot is recognised") {
  const ProgramPath path("/nowhere");
  CHECK(run_dot("digraph { a }", EdgeShape::curved, 5).status == kNoDot);
}

}  // namespace
}  // namespace cleave
