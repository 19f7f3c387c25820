// Each worker process lays out one drawing after another. Layouts::run
//   1. gives every idle worker the next drawing;
//   2. waits until one answers, and regularly checks how much time they have taken;
//   3. keeps answers, and ends a worker that is late: the next drawing gets a new one;
//   4. tries a drawing that failed once more: with edges routed by cleave when it took too long, without boxes
//      around nodes when Graphviz says that it could not place them.
// Time is processor time, so that results do not depend on how busy the machine is.
//
// Where Graphviz's library is missing, a worker runs the program `dot`. The drawing goes to a file in
// memory, which is dot's standard input; two more take its output. The child limits itself and becomes
// `dot`. When it has ended, the files are read.
#include "formats/report/drawings/layout.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/number_text.h"
#include "formats/base/io/descriptor.h"
#include "formats/base/io/worker_process.h"
#include "formats/report/drawings/edge_routes.h"

namespace cleave {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostWorkers = 4;
// Of the time, for one drawing: with curved edges, and with any if there are several drawings.
constexpr double kShareOfCurves = 0.5;
constexpr double kShareOfSeveral = 0.25;
constexpr double kSlowestClock = 10;  // seconds of the clock per second of processor time
constexpr int kMillisecondsBetweenLooks = 50;
constexpr char kIsSvg = 'S';
constexpr char kIsFault = 'E';

// A request: a letter, the time that the drawing may take in milliseconds, a line break, the drawing.
constexpr char kCurved = 'C';
constexpr char kRouted = 'R';

// DotGraph writes the boxes around nodes last.
std::string without_boxes(const std::string& dot) {
  const std::size_t at = dot.find("\n\tsubgraph cluster_");
  return at == dot.npos ? dot : dot.substr(0, at) + "\n}\n";
}

// Runs in the worker. A signal that ends `dot` ends the worker, too, as if its library had crashed.
std::string answer_of_program(const std::string& dot, EdgeShape shape, double seconds) {
  const DotRun run = run_dot(dot, shape, seconds);
  if (run.signal != 0) {
    std::signal(run.signal, SIG_DFL);
    std::raise(run.signal);
  }
  if (run.status == 0) return kIsSvg + run.svg;
  if (run.status != kNoDot) {
    return kIsFault + ("`dot` failed: " + escaped(run.said.substr(0, run.said.find('\n'))));
  }
  return kIsFault + std::string("Graphviz, which lays drawings out, is not installed");
}

// Runs in the worker.
std::string answer_to(const std::string& request) {
  const EdgeShape shape = request[0] == kRouted ? EdgeShape::routed : EdgeShape::curved;
  const std::size_t begin = request.find('\n') + 1;
  const std::string dot = request.substr(begin);
  try {
    if (!has_layout_library()) {
      return answer_of_program(dot, shape, 1e-3 * std::atof(request.c_str() + 1));
    }
    const auto svg = layout_svg(dot, shape);
    return svg ? kIsSvg + *svg : kIsFault + svg.error().front().message;
  } catch (const std::bad_alloc&) {
    return kIsFault + std::string("there is too little memory for Graphviz");
  }
}

LaidOut result_of(ProcessAnswer answer, bool has_boxes) {
  if (answer.text && !answer.text->empty()) {
    std::string text = answer.text->substr(1);
    if ((*answer.text)[0] == kIsSvg) return Drawing{std::move(text), has_boxes};
    return Error{std::move(text)};
  }
  if (answer.signal == 0) return Error{"Graphviz stopped without a result"};
  return Error{std::string("Graphviz crashed: ") + ::strsignal(answer.signal)};
}

Clock::duration duration_of(double seconds) {
  constexpr double kMost = 1e9;  // seconds that the clock can represent
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(seconds, kMost)));
}

class Layouts {
 public:
  Layouts(const LayoutJob& job, const LayoutLimits& limits)
      : job_(job), results_(job.count, LaidOut(Drawing())), limits_(limits), spent_(limits.spent) {
    const std::size_t cores = std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
    const std::size_t workers = std::min({kMostWorkers, cores, job.count});
    for (std::size_t i = 0; i < workers; ++i) workers_.emplace_back(limits.bytes);
  }

  LaidOutAll run(const Progress& progress) && {
    while (true) {
      for (Worker& worker : workers_) {
        if (!worker.process.is_busy()) give_next(worker, progress);
      }
      if (!wait()) return {std::move(results_), spent_};
    }
  }

 private:
  struct Task {
    std::size_t drawing;
    char shape = kCurved;
    bool has_boxes = true;
  };

  struct Worker {
    explicit Worker(std::uint64_t most_bytes) : process(answer_to, most_bytes) {}
    WorkerProcess process;
    Task task = {0};
    double cpu_before = 0;  // of the process, when it got the drawing
    Clock::time_point deadline = {};

    double seconds() const { return std::max(0.0, process.cpu_seconds() - cpu_before); }
  };

  void give_next(Worker& worker, const Progress& progress) {
    while (const auto task = take_task()) {
      LaidOut& result = results_[task->drawing];
      tell(progress, {"laying out", "drawings", task->drawing, results_.size()});
      std::string dot = job_.make(task->drawing);
      if (dot.empty()) continue;
      if (!task->has_boxes) dot = without_boxes(dot);
      if (spent_ >= limits_.seconds) {
        result = time_was_over();
        settle(*task, std::nullopt);
        continue;
      }
      worker.task = *task;
      worker.cpu_before = worker.process.cpu_seconds();
      worker.deadline = Clock::now() + duration_of(kSlowestClock * seconds_for(*task));
      const auto milliseconds = std::llround(1e3 * std::min(seconds_for(*task), 1e9));
      if (worker.process.give(task->shape + std::to_string(milliseconds) + "\n" + dot)) return;
      result = Error{"the system could not start a process for Graphviz"};
      settle(*task, std::nullopt);
    }
  }

  double seconds_for(const Task& task) const {
    if (results_.size() > 1) return kShareOfSeveral * limits_.seconds;
    return task.shape == kCurved ? kShareOfCurves * limits_.seconds : limits_.seconds;
  }

  std::optional<Task> take_task() {
    if (is_given_up_) return std::nullopt;
    if (!again_.empty()) {
      const Task task = again_.back();
      again_.pop_back();
      return task;
    }
    if (next_ == results_.size()) return std::nullopt;
    return Task{next_++};
  }

  // After a fault: tries the drawing so, if there is such a way and time is left. Otherwise the fault stays.
  void settle(const Task& task, const std::optional<Task>& again) {
    if (again && spent_ < limits_.seconds) {
      again_.push_back(*again);
    } else {
      is_given_up_ = is_given_up_ || (job_.needs_first && task.drawing == 0);
    }
  }

  static std::optional<Task> with_routed_edges(const Task& task) {
    if (task.shape == kRouted) return std::nullopt;
    return Task{task.drawing, kRouted, task.has_boxes};
  }

  static std::optional<Task> without_boxes_of(const Task& task) {
    if (!task.has_boxes) return std::nullopt;
    return Task{task.drawing, task.shape, false};
  }

  // Waits for a worker's event or the next check; false when no worker has work.
  bool wait() {
    std::vector<::pollfd> sources;
    for (const Worker& worker : workers_) {
      if (!worker.process.is_busy()) continue;
      sources.push_back({.fd = worker.process.descriptor(), .events = POLLIN, .revents = 0});
    }
    if (sources.empty()) return false;
    ::poll(sources.data(), sources.size(), kMillisecondsBetweenLooks);
    for (Worker& worker : workers_) {
      if (worker.process.is_busy()) look_at(worker);
    }
    for (Worker& worker : workers_) {
      if (is_given_up_ && worker.process.is_busy()) stop(worker);
    }
    return true;
  }

  void look_at(Worker& worker) {
    const double seconds = worker.seconds();
    const double most = seconds_for(worker.task);
    const bool is_late = seconds > most || Clock::now() > worker.deadline;
    LaidOut& result = results_[worker.task.drawing];
    if (auto answer = worker.process.take()) {
      spent_ += seconds;
      const bool has_crashed = !answer->text;
      result = result_of(*std::move(answer), worker.task.has_boxes);
      if (!result) {
        settle(worker.task,
               has_crashed ? with_routed_edges(worker.task) : without_boxes_of(worker.task));
      }
    } else if (is_late || spent_ + seconds > limits_.seconds) {
      const std::string allowed = text_of(std::min(seconds, most));
      result = is_late ? Error{"Graphviz took longer than " + allowed} : time_was_over();
      stop(worker);
      settle(worker.task, with_routed_edges(worker.task));
    }
  }

  void stop(Worker& worker) {
    spent_ += worker.seconds();
    worker.process.stop();
  }

  Error time_was_over() const {
    return {"the time for drawings, " + text_of(limits_.seconds) + ", was over"};
  }

  static std::string text_of(double seconds) { return duration_text(1e6 * seconds); }

  const LayoutJob& job_;
  std::vector<LaidOut> results_;
  LayoutLimits limits_;
  double spent_;  // seconds of processor time, on drawings finished or given up
  bool is_given_up_ = false;
  std::vector<Worker> workers_;
  std::size_t next_ = 0;
  std::vector<Task> again_;
};

}  // namespace

LaidOut lay_out(const std::string& dot, const LayoutLimits& limits) {
  const LayoutJob job{.count = 1, .make = [&](std::size_t) { return dot; }};
  return std::move(lay_out_all(job, limits).drawings.front());
}

LaidOutAll lay_out_all(const LayoutJob& job, const LayoutLimits& limits, const Progress& progress) {
  return Layouts(job, limits).run(progress);
}

namespace {

constexpr std::size_t kMostPlacedFreely = 300;  // edges

Descriptor memory_file() { return Descriptor(::memfd_create("dot", MFD_CLOEXEC)); }

std::size_t edge_count(std::string_view dot) {
  constexpr std::string_view kArrow = " -> ";
  std::size_t count = 0;
  for (std::size_t at = dot.find(kArrow); at != dot.npos; at = dot.find(kArrow, at + 1)) ++count;
  return count;
}

std::vector<const char*> arguments(EdgeShape shape, std::size_t edges) {
  std::vector<const char*> words = {"dot", "-Tsvg"};
  if (shape == EdgeShape::routed) words.push_back("-Gsplines=line");
  if (shape == EdgeShape::routed || edges > kMostPlacedFreely) {
    words.insert(words.end(), {"-Gnslimit=0.1", "-Gnslimit1=0.1"});
  }
  words.push_back(nullptr);
  return words;
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
  const std::vector<const char*> argv = arguments(shape, edge_count(dot));
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
  if (shape == EdgeShape::routed) run.svg = with_edges_round_nodes(run.svg);
  run.said = content(err);
  return run;
}

}  // namespace cleave
