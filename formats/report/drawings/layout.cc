// Each worker process lays out one drawing after another. Layouts::run
//   1. gives every idle worker the next drawing;
//   2. waits until one answers, and regularly checks how much time they have taken;
//   3. keeps answers, and ends a worker that is late: the next drawing gets a new one;
//   4. tries a drawing with curves that took too long once more, with edges routed by cleave.
// Time is processor time, so that results do not depend on how busy the machine is.
#include "formats/report/drawings/layout.h"

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <new>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/number_text.h"
#include "formats/base/io/worker_process.h"

namespace cleave {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostWorkers = 4;
// Of the time, for one drawing: with curved edges, and with any if there are several drawings.
constexpr double kShareOfCurves = 0.5;
constexpr double kShareOfSeveral = 0.25;
constexpr std::size_t kMostCurved = 300;  // edges: curves of 400 may take ten seconds
constexpr double kSlowestClock = 10;      // seconds of the clock per second of processor time
constexpr int kMillisecondsBetweenLooks = 50;
constexpr char kIsSvg = 'S';
constexpr char kIsFault = 'E';

// A request: a letter, then the drawing.
constexpr char kCurved = 'C';
constexpr char kRouted = 'R';

// Runs in the worker.
std::string answer_to(const std::string& request) {
  const EdgeShape shape = request[0] == kRouted ? EdgeShape::routed : EdgeShape::curved;
  try {
    const auto svg = layout_svg(request.substr(1), shape);
    return svg ? kIsSvg + *svg : kIsFault + svg.error().front().message;
  } catch (const std::bad_alloc&) {
    return kIsFault + std::string("there is too little memory for Graphviz");
  }
}

LaidOut result_of(ProcessAnswer answer) {
  if (answer.text && !answer.text->empty()) {
    std::string text = answer.text->substr(1);
    if ((*answer.text)[0] == kIsSvg) return text;
    return Error{std::move(text)};
  }
  if (answer.signal == 0) return Error{"Graphviz stopped without a result"};
  return Error{std::string("Graphviz crashed: ") + ::strsignal(answer.signal)};
}

// A label may look like an edge.
std::size_t count_edges(std::string_view dot) {
  constexpr std::string_view kArrow = " -> ";
  std::size_t count = 0;
  for (std::size_t at = dot.find(kArrow); at != dot.npos; at = dot.find(kArrow, at + 1)) ++count;
  return count;
}

Clock::duration duration_of(double seconds) {
  constexpr double kMost = 1e9;  // seconds that the clock can represent
  return std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(std::min(seconds, kMost)));
}

class Layouts {
 public:
  Layouts(const LayoutJob& job, const LayoutLimits& limits)
      : job_(job),
        results_(job.count, LaidOut(std::string())),
        limits_(limits),
        spent_(limits.spent) {
    const std::size_t cores = std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
    const std::size_t workers = std::min({kMostWorkers, cores, job.count});
    for (std::size_t i = 0; i < workers; ++i) workers_.emplace_back(limits.bytes);
  }

  LaidOutAll run(const Progress& progress) && {
    while (true) {
      for (Worker& worker : workers_) {
        if (!worker.process.is_busy()) give_next(worker);
      }
      tell(progress, {"laying out", "drawings", next_ - busy_count(), results_.size()});
      if (!wait()) return {std::move(results_), spent_};
    }
  }

 private:
  struct Task {
    std::size_t drawing;
    char shape = kCurved;
  };

  struct Worker {
    explicit Worker(std::uint64_t most_bytes) : process(answer_to, most_bytes) {}
    WorkerProcess process;
    Task task = {0};
    double cpu_before = 0;  // of the process, when it got the drawing
    Clock::time_point deadline = {};

    double seconds() const { return std::max(0.0, process.cpu_seconds() - cpu_before); }
  };

  std::size_t busy_count() const {
    return static_cast<std::size_t>(std::count_if(
        workers_.begin(), workers_.end(), [](const Worker& one) { return one.process.is_busy(); }));
  }

  void give_next(Worker& worker) {
    while (auto task = take_task()) {
      LaidOut& result = results_[task->drawing];
      const std::string dot = job_.make(task->drawing);
      if (dot.empty()) continue;
      if (count_edges(dot) > kMostCurved) task->shape = kRouted;
      if (spent_ >= limits_.seconds) {
        result = time_was_over();
        give_up(*task);
        continue;
      }
      worker.task = *task;
      worker.cpu_before = worker.process.cpu_seconds();
      worker.deadline = Clock::now() + duration_of(kSlowestClock * seconds_for(*task));
      if (worker.process.give(task->shape + dot)) return;
      result = Error{"the system could not start a process for Graphviz"};
      give_up(*task);
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

  // The fault of the drawing stays.
  void give_up(const Task& task) {
    is_given_up_ = is_given_up_ || (job_.needs_first && task.drawing == 0);
  }

  // Retries a failed drawing with routed edges if it had curves and time is left.
  void retry_routed(const Task& task) {
    if (task.shape == kRouted || spent_ >= limits_.seconds) return give_up(task);
    again_.push_back({task.drawing, kRouted});
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
      result = result_of(*std::move(answer));
      if (!result) has_crashed ? retry_routed(worker.task) : give_up(worker.task);
    } else if (is_late || spent_ + seconds > limits_.seconds) {
      const std::string allowed = text_of(std::min(seconds, most));
      result = is_late ? Error{"Graphviz took longer than " + allowed} : time_was_over();
      stop(worker);
      retry_routed(worker.task);
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

LaidOut lay_out(const std::string& dot, const LayoutLimits& limits, const Progress& progress) {
  const LayoutJob job{.count = 1, .make = [&](std::size_t) { return dot; }};
  return std::move(lay_out_all(job, limits, progress).drawings.front());
}

LaidOutAll lay_out_all(const LayoutJob& job, const LayoutLimits& limits, const Progress& progress) {
  return Layouts(job, limits).run(progress);
}

}  // namespace cleave
