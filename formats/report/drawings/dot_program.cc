// 1. The drawing goes to a file in memory, which is dot's standard input; two more take its output.
// 2. The child limits itself and becomes `dot`.
// 3. When it has ended, the files are read.
#include "formats/report/drawings/dot_program.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <string_view>
#include <vector>

#include "formats/base/io/descriptor.h"

namespace cleave {
namespace {

constexpr std::size_t kMostCurves = 300;

Descriptor memory_file() { return Descriptor(::memfd_create("dot", MFD_CLOEXEC)); }

std::size_t edge_count(std::string_view dot) {
  constexpr std::string_view kArrow = " -> ";
  std::size_t count = 0;
  for (std::size_t at = dot.find(kArrow); at != dot.npos; at = dot.find(kArrow, at + 1)) ++count;
  return count;
}

std::vector<const char*> arguments(EdgeShape shape) {
  if (shape == EdgeShape::curved) return {"dot", "-Tsvg", nullptr};
  return {"dot", "-Tsvg", "-Gsplines=line", "-Gnslimit=0.1", "-Gnslimit1=0.1", nullptr};
}

[[noreturn]] void become_dot(const std::vector<const char*>& argv,
                             const std::array<const Descriptor*, 3>& files, rlim_t seconds) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const struct rlimit most { seconds, seconds + 1 };
  ::setrlimit(RLIMIT_CPU, &most);
  for (int i = 0; i < 3; ++i) ::dup2(files[static_cast<std::size_t>(i)]->get(), i);
  ::execvp(argv[0], const_cast<char* const*>(argv.data()));
  ::_exit(kNoDot);
}

std::string content(const Descriptor& file) {
  std::string text;
  const ::off_t size = ::lseek(file.get(), 0, SEEK_END);
  if (size <= 0) return text;
  text.resize(static_cast<std::size_t>(size));
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), 0);
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return text;
}

DotRun failed(int error) { return {.status = 1, .svg = {}, .said = system_words(error)}; }

}  // namespace

DotRun run_dot(const std::string& dot, EdgeShape shape, double seconds) {
  const Descriptor in = memory_file(), out = memory_file(), err = memory_file();
  if (!in.is_open() || !out.is_open() || !err.is_open()) return failed(errno);
  if (!write_all(in.get(), dot) || ::lseek(in.get(), 0, SEEK_SET) != 0) return failed(errno);
  if (edge_count(dot) > kMostCurves) shape = EdgeShape::straight;
  const std::vector<const char*> argv = arguments(shape);
  const auto most = static_cast<rlim_t>(std::ceil(std::min(std::max(seconds, 1.0), 1e6)));
  const ::pid_t child = ::fork();
  if (child < 0) return failed(errno);
  if (child == 0) become_dot(argv, {&in, &out, &err}, most);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return failed(errno);
  }
  DotRun run;
  if (WIFSIGNALED(status)) run.signal = WTERMSIG(status);
  if (WIFEXITED(status)) run.status = WEXITSTATUS(status);
  run.svg = content(out);
  run.said = content(err);
  return run;
}

}  // namespace cleave
