// Processes: children with limits, workers, lanes, the heap.
#include "formats/base/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/base/words.h"
#include "formats/base/files.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace cleave {

// ---- heap ----
//
// Measured by reading and splitting 10,000,000 nodes: keeping freed memory lowers 1,202,000 page
// faults to 617,000, and large pages to 39,000; large pages also lower the user time by a sixth
// (fewer misses of address translation).

// Other C libraries have no such setting: there it has no effect.
void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);         // every block comes from the heap...
  mallopt(M_TRIM_THRESHOLD, -1);  // ... which never shrinks
#endif
}

void prefer_large_pages(std::size_t bytes) {
  // The large page of x86-64, and of arm64 with pages of 4 KiB. Below 32 of them there are at most
  // 16,384 faults to save, which are a few milliseconds.
  constexpr std::uintptr_t kPage = std::uintptr_t{2} << 20U;
  constexpr std::size_t kMost = std::size_t{1} << 40U;  // more than any machine has
  if (bytes < 32 * kPage || bytes > kMost) return;
  // When freed, the block is the top of the heap, from which the next blocks are cut.
  void* const block = std::malloc(bytes);
  if (block == nullptr) return;
  const auto at = reinterpret_cast<std::uintptr_t>(block);
  const std::uintptr_t begin = (at + kPage - 1) & ~(kPage - 1);
  const std::uintptr_t end = (at + bytes) & ~(kPage - 1);
#ifdef MADV_HUGEPAGE
  ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // may be refused
#else
  static_cast<void>(begin);
  static_cast<void>(end);
#endif
  std::free(block);
}

// ---- ticker ----

Ticker::Ticker(double seconds, std::function<void()> call) : call_(std::move(call)) {
  const Uninterrupted in_thread;  // it inherits the signals that are blocked
  try {
    thread_ = std::thread([this, seconds] { run(seconds); });
  } catch (const std::system_error&) {
  }
}

Ticker::~Ticker() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  over_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Ticker::run(double seconds) {
  std::unique_lock lock(mutex_);
  while (
      !over_.wait_for(lock, std::chrono::duration<double>(seconds), [this] { return is_over_; })) {
    call_();
  }
}

// ---- lanes ----

namespace {

// The threads mostly write partitions: beyond a few of them the disk decides, and with fewer than
// four items each, starting one is not worth it. Chosen, not measured.
constexpr std::size_t kMostThreads = 8;
constexpr std::size_t kItemsPerThread = 4;

// 0: the caller does it.
std::size_t threads_for(std::size_t items) {
  const std::size_t cores = std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
  const std::size_t threads =
      std::min({kMostThreads, cores, (items + kItemsPerThread - 1) / kItemsPerThread});
  return threads > 1 ? threads : 0;
}

// An item of do_each() returned false.
struct Stopped {
  std::size_t item;
};

}  // namespace

Lanes::Lanes(std::size_t count) {
  const std::lock_guard lock(mutex_);  // the threads wait until own_ is there
  const Uninterrupted in_threads;      // they inherit the signals that are blocked
  try {
    for (std::size_t lane = 0; lane < count; ++lane) {
      threads_.emplace_back([this, lane] { work(lane); });
    }
  } catch (const std::system_error&) {
  }
  own_.resize(std::max<std::size_t>(threads_.size(), 1));
}

Lanes::~Lanes() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  has_work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Lanes::do_all(std::vector<Job> jobs) {
  std::unique_lock lock(mutex_);
  for (Job& job : jobs) tasks_.push_back({std::move(job), open_++});
  wait_for_all(lock);
}

void Lanes::on_each(const Job& job) {
  std::unique_lock lock(mutex_);
  for (auto& own : own_) own.push_back({job, open_++});
  wait_for_all(lock);
}

void Lanes::wait_for_all(std::unique_lock<std::mutex>& lock) {
  has_work_.notify_all();
  while (threads_.empty() && open_ > 0) run(own_[0].empty() ? tasks_ : own_[0], 0, lock);
  is_idle_.wait(lock, [this] { return open_ == 0; });
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
}

void Lanes::work(std::size_t lane) {
  std::unique_lock lock(mutex_);
  while (true) {
    has_work_.wait(lock, [&] { return is_over_ || !tasks_.empty() || !own_[lane].empty(); });
    auto& queue = own_[lane].empty() ? tasks_ : own_[lane];
    if (queue.empty()) return;
    run(queue, lane, lock);
  }
}

// Runs the first task of the queue, without the lock.
void Lanes::run(std::deque<Task>& queue, std::size_t lane, std::unique_lock<std::mutex>& lock) {
  std::exception_ptr thrown;
  std::size_t number = 0;
  {
    const Task task = std::move(queue.front());
    number = task.number;
    queue.pop_front();
    lock.unlock();
    try {
      task.job(lane);
    } catch (...) {
      thrown = std::current_exception();
    }
  }
  lock.lock();
  if (thrown) {
    if (!thrown_ || number < thrown_by_) {
      thrown_ = std::move(thrown);
      thrown_by_ = number;
    }
    open_ -= tasks_.size();
    tasks_.clear();
  }
  if (--open_ == 0) is_idle_.notify_all();
}

std::size_t do_each(std::size_t count, const std::function<bool(std::size_t)>& work) {
  std::vector<Lanes::Job> jobs;
  jobs.reserve(count);
  for (std::size_t item = 0; item < count; ++item) {
    jobs.emplace_back([&work, item](std::size_t) {
      if (!work(item)) throw Stopped{item};
    });
  }
  try {
    Lanes(threads_for(count)).do_all(std::move(jobs));
  } catch (const Stopped& stopped) {
    return stopped.item;
  }
  return count;
}

// ---- child table ----

namespace {

// Process ids; those of launchers are negative.
std::array<std::atomic<pid_t>, kMostChildren> children = {};

std::atomic<bool> are_children_ended = false;

// False when the table is full (kMostChildren).
bool register_child(pid_t pid, ChildKind kind) {
  for (auto& slot : children) {
    pid_t none = 0;
    if (slot.compare_exchange_strong(none, kind == ChildKind::launcher ? -pid : pid)) return true;
  }
  return false;
}

// False when the table is full (kMostChildren).
void forget_child(pid_t pid) {
  for (auto& slot : children) {
    pid_t expected = pid, launcher = -pid;
    if (slot.compare_exchange_strong(expected, 0)) return;
    if (slot.compare_exchange_strong(launcher, 0)) return;
  }
}

// False when the table is full (kMostChildren).
bool is_registered_child(pid_t pid) {
  for (const auto& slot : children) {
    if (slot.load() == pid || slot.load() == -pid) return true;
  }
  return false;
}

// What follows runs in a signal handler: it allocates nothing, and its memory is reserved here.
struct ProcessEntry {
  pid_t pid;
  pid_t parent;
  bool is_ours;  // descends from this process, and not by way of a launcher
};
// 192 KiB, reserved since a signal handler cannot allocate. On a machine with more processes some
// are not seen; those that were started by the children, and stayed in their groups, are killed all
// the same.
constexpr std::size_t kMostProcesses = 16384;
std::array<ProcessEntry, kMostProcesses> processes;

bool is_launcher(pid_t pid) {
  for (const auto& slot : children) {
    if (slot.load() == -pid) return true;
  }
  return false;
}

// The parent of a process that still runs; 0 for others.
pid_t parent_of_running(int proc, const char* pid) noexcept {
  constexpr char kStat[] = "/stat";
  std::array<char, 512> buffer;
  const std::size_t length = std::strlen(pid);
  if (length + sizeof kStat > buffer.size()) return 0;
  std::memcpy(buffer.data(), pid, length);
  std::memcpy(buffer.data() + length, kStat, sizeof kStat);
  const int file = ::openat(proc, buffer.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t got = ::read(file, buffer.data(), buffer.size() - 1);
  ::close(file);
  if (got <= 0) return 0;
  buffer[static_cast<std::size_t>(got)] = '\0';
  // "PID (NAME) STATE PARENT ...": a name may contain blanks and brackets.
  const char* const name_end = std::strrchr(buffer.data(), ')');
  if (name_end == nullptr || name_end + 4 > buffer.data() + got) return 0;
  if (name_end[2] == 'Z' || name_end[2] == 'X') return 0;
  return static_cast<pid_t>(std::strtol(name_end + 4, nullptr, 10));
}

// Sorted by number.
std::size_t read_processes() noexcept {
  const int proc = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (proc < 0) return 0;
  std::size_t count = 0;
  alignas(dirent64) std::array<char, 8192> buffer;
  long length;
  while ((length = ::syscall(SYS_getdents64, proc, buffer.data(), buffer.size())) > 0) {
    for (long at = 0; at < length;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(buffer.data() + at);
      at += entry->d_reclen;
      const pid_t pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
      if (pid <= 0 || count == kMostProcesses) continue;
      const pid_t parent = parent_of_running(proc, entry->d_name);
      if (parent > 0) processes[count++] = {pid, parent, false};
    }
  }
  ::close(proc);
  const auto by_pid = [](const ProcessEntry& a, const ProcessEntry& b) { return a.pid < b.pid; };
  std::sort(processes.data(), processes.data() + count, by_pid);
  return count;
}

bool is_ours(pid_t pid, std::size_t count) noexcept {
  if (pid == ::getpid()) return true;
  const ProcessEntry* const end = processes.data() + count;
  const ProcessEntry* const found =
      std::lower_bound(std::as_const(processes).data(), end, pid,
                       [](const ProcessEntry& entry, pid_t number) { return entry.pid < number; });
  return found != end && found->pid == pid && found->is_ours;
}

// Marks the descendants of this process; false when there are none. A parent mostly has a lower number than
// its children, so that few passes find all.
bool mark_ours(std::size_t count) noexcept {
  bool is_any = false;
  for (bool is_more = true; is_more;) {
    is_more = false;
    for (std::size_t i = 0; i < count; ++i) {
      ProcessEntry& entry = processes[i];
      if (entry.is_ours || is_launcher(entry.pid) || !is_ours(entry.parent, count)) continue;
      entry.is_ours = is_more = is_any = true;
    }
  }
  return is_any;
}

// Kills what the children have started, also what left their groups and sessions. Those whose parents end
// become children of this process, so that the next round finds what they started meanwhile.
void end_descendants() noexcept {
  // A round for each generation that was started while the one before was killed. The limit is for
  // a program that forks faster than it is killed: cleave must end, too.
  constexpr int kMostRounds = 32;
  for (int round = 0; round < kMostRounds; ++round) {
    const std::size_t count = read_processes();
    if (!mark_ours(count)) return;
    for (std::size_t i = 0; i < count; ++i) {
      if (processes[i].is_ours) ::kill(processes[i].pid, SIGKILL);
    }
    // For the kernel to end those that were killed and to give their children a new parent; 2 ms
    // were chosen, not measured.
    const timespec pause = {0, 2'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace

void end_children() noexcept {
  are_children_ended.store(true);  // first: threads see it when they see an end
  for (const auto& slot : children) {
    const pid_t pid = slot.load();
    // A child that has not yet made its group is killed alone.
    if (pid > 0 && ::kill(-pid, SIGKILL) != 0) ::kill(pid, SIGKILL);
    if (pid < 0) ::kill(pid, SIGTERM);
  }
  end_descendants();
}

bool has_ended_children() noexcept { return are_children_ended.load(); }

// ---- child spawn ----
//
// Starts and ends children. Between fork and exec a child only does what is safe in a process whose
// other threads are gone: everything that allocates memory is done before.

namespace {

constexpr std::string_view kTagVariable = "CLEAVE_CHILD=";

std::uint64_t next_tag() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

// A variable for the tag; it includes our process id, to separate other runs of cleave.
std::string tag_variable(std::uint64_t tag) {
  return std::string(kTagVariable) + std::to_string(::getpid()) + "." + std::to_string(tag);
}

struct Pipe {
  Descriptor read, write;
};

// Error: errno.
Result<Pipe, int> open_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

// The program's path by PATH of the child's environment; the word itself if it is a path or is not
// found: exec then reports why.
std::string find_program(const ChildCommand& command) {
  const std::string& word = command.argv.front();
  if (word.find('/') != word.npos) return word;
  for (const std::string& variable : command.environment) {
    if (!variable.starts_with("PATH=")) continue;
    for (const std::string_view folder : split_at(std::string_view(variable).substr(5), ':')) {
      const std::string path = std::string(folder) + "/" + word;
      if (!folder.empty() && ::access(path.c_str(), X_OK) == 0) return path;
    }
  }
  return word;
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

void limit_resource(__rlimit_resource resource, std::uint64_t most) {
  const rlimit value = {most, most};
  ::setrlimit(resource, &value);
}

struct ChildSetUp {
  const char* program;
  char* const* argv;
  char* const* environment;
  const ChildCommand* command;
  int in, out, err, report;
  int go;  // has a byte once the child is registered
  pid_t parent;
};

[[noreturn]] void fail_in_child(int report) {
  const int error = errno;
  [[maybe_unused]] const ssize_t ignored = ::write(report, &error, sizeof error);
  ::_exit(127);
}

// The program starts only when a stop of cleave knows the child: it then ends what the program starts, too.
void wait_for_go(int go) {
  char byte;
  ssize_t got;
  do {
    got = ::read(go, &byte, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) ::_exit(127);
}

[[noreturn]] void exec_child(const ChildSetUp& set_up) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, set_up.command->kind == ChildKind::launcher ? SIGTERM : SIGKILL);
  if (::getppid() != set_up.parent) ::_exit(127);
  wait_for_go(set_up.go);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  limit_resource(RLIMIT_CORE, 0);
  if (set_up.command->memory_bytes > 0) limit_resource(RLIMIT_AS, set_up.command->memory_bytes);
  if (set_up.command->file_bytes > 0) limit_resource(RLIMIT_FSIZE, set_up.command->file_bytes);
  if (::dup2(set_up.in, 0) < 0 || ::dup2(set_up.out, 1) < 0 || ::dup2(set_up.err, 2) < 0) {
    fail_in_child(set_up.report);
  }
  const std::string& folder = set_up.command->folder;
  if (!folder.empty() && ::chdir(folder.c_str()) != 0) fail_in_child(set_up.report);
  ::syscall(SYS_close_range, 3U, ~0U, 4U);  // CLOSE_RANGE_CLOEXEC
  ::execve(set_up.program, set_up.argv, set_up.environment);
  fail_in_child(set_up.report);
}

void set_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

// 0, or the errno with which the child could not start the program.
int start_error(Pipe& report) {
  report.write.close();
  int error = 0;
  ssize_t got;
  do {
    got = ::read(report.read.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  return got == sizeof error ? error : 0;
}

// A file of /proc about the process; "" when it has ended. Streams throw when it ends in between.
std::string proc_text(pid_t pid, const std::string& name) {
  const std::string path = "/proc/" + std::to_string(pid) + "/" + name;
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text;
  std::array<char, 4096> buffer;
  while (file.is_open()) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

pid_t parent_of(pid_t pid) {
  const std::string text = proc_text(pid, "stat");
  const std::size_t name_end = text.rfind(')');  // a name may contain blanks and brackets
  if (name_end == text.npos || name_end + 4 > text.size()) return 0;
  return static_cast<pid_t>(std::strtol(text.c_str() + name_end + 4, nullptr, 10));
}

bool has_tag(pid_t pid, std::uint64_t tag) {
  if (tag == 0) return true;
  return proc_text(pid, "environ").find(tag_variable(tag) + '\0') != std::string::npos;
}

// Waits at most `seconds` for the child to end; the child can still be waited for afterwards.
bool ends_within(pid_t pid, int seconds) {
  // waitid() takes no limit of time, and what could wait with one (a pidfd) is not on every kernel:
  // so it asks.
  constexpr int kTickMicroseconds = 10000;
  for (int tick = 0; tick < seconds * 100; ++tick) {
    siginfo_t info = {};
    ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT);
    if (info.si_pid == pid) return true;
    ::usleep(kTickMicroseconds);
  }
  return false;
}

void wait_for(pid_t pid, int* status) {
  while (::waitpid(pid, status, 0) < 0 && errno == EINTR) {
  }
}

// Waits for what is left of a killed child's group: its members became our children when their
// parents ended, and stay zombies until they are waited for.
void wait_for_group(pid_t leader) {
  while (::waitpid(-leader, nullptr, 0) > 0 || errno == EINTR) {
  }
}

std::vector<pid_t> orphans_of(std::uint64_t tag) {
  std::vector<pid_t> found;
  DIR* const folder = ::opendir("/proc");
  if (folder == nullptr) return found;
  while (const dirent* const entry = ::readdir(folder)) {
    const pid_t pid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
    if (pid <= 0 || parent_of(pid) != ::getpid() || is_registered_child(pid)) continue;
    if (has_tag(pid, tag)) found.push_back(pid);
  }
  ::closedir(folder);
  return found;
}

}  // namespace

Result<SpawnedChild, int> spawn_child(const ChildCommand& command, ChildInput input) {
  static const int is_reaper = ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  static_cast<void>(is_reaper);
  const std::uint64_t tag = next_tag();
  std::vector<std::string> environment = command.environment;
  environment.push_back(tag_variable(tag));
  const std::string program = find_program(command);
  const std::vector<char*> argv = pointers_to(command.argv), variables = pointers_to(environment);
  auto in = open_pipe(), out = open_pipe(), err = open_pipe(), report = open_pipe(),
       go = open_pipe();
  for (const auto* const pipe : {&in, &out, &err, &report, &go}) {
    if (!*pipe) return pipe->error();
  }
  const Descriptor null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const bool has_input = input == ChildInput::pipe;
  const ChildSetUp set_up{.program = program.c_str(),
                          .argv = argv.data(),
                          .environment = variables.data(),
                          .command = &command,
                          .in = has_input ? in->read.get() : null.get(),
                          .out = out->write.get(),
                          .err = err->write.get(),
                          .report = report->write.get(),
                          .go = go->read.get(),
                          .parent = ::getpid()};
  const pid_t pid = ::fork();
  if (pid < 0) return errno;
  if (pid == 0) {
    ::close(go->write.get());
    exec_child(set_up);
  }
  register_child(pid, command.kind);
  if (!has_ended_children()) {
    [[maybe_unused]] const ssize_t ignored = ::write(go->write.get(), "g", 1);
  }
  go->write.close();
  if (const int error = start_error(*report); error != 0) {
    wait_for(pid, nullptr);
    forget_child(pid);
    return error;
  }
  for (const int fd : {in->write.get(), out->read.get(), err->read.get()}) set_nonblocking(fd);
  return SpawnedChild{pid,
                      tag,
                      command.kind,
                      has_input ? std::move(in->write) : Descriptor(-1),
                      std::move(out->read),
                      std::move(err->read)};
}

namespace {

// Ends orphans started by the child with the tag; for tag 0 all orphans.
void end_left_behind(std::uint64_t tag) {
  constexpr int kMostRounds = 64;  // an orphan's own children become orphans, too
  for (int round = 0; round < kMostRounds; ++round) {
    const std::vector<pid_t> orphans = orphans_of(tag);
    if (orphans.empty()) return;
    for (const pid_t pid : orphans) ::kill(pid, SIGKILL);
    for (const pid_t pid : orphans) wait_for(pid, nullptr);
  }
}

}  // namespace

int end_child(const SpawnedChild& child) {
  if (child.kind == ChildKind::launcher && !ends_within(child.pid, 2)) {
    ::kill(-child.pid, SIGTERM);
    ends_within(child.pid, 5);
  }
  ::kill(-child.pid, SIGKILL);
  int status = 0;
  wait_for(child.pid, &status);
  ::kill(-child.pid, SIGKILL);
  wait_for_group(child.pid);
  forget_child(child.pid);
  end_left_behind(child.tag);
  return status;
}

// ---- child run ----
//
// Runs a child to its end: reads its output as it arrives and watches its time. The child cannot
// block the reader, whatever it does with its descriptors.

namespace {

using Clock = std::chrono::steady_clock;

constexpr double kGraceSeconds = 5;  // between SIGTERM and SIGKILL
// How late the end of a child may be noticed on kernels before 5.3, which give no descriptor for
// it. With one, poll() wakes up by itself, and ten ticks are how late the limit of time may be.
constexpr int kTickMilliseconds = 20;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Reads what is available; false at the end.
bool take_output(int fd, KeptOutput& kept) {
  std::array<char, 65536> buffer;
  const ssize_t got = ::read(fd, buffer.data(), buffer.size());
  if (got > 0) kept.add({buffer.data(), static_cast<std::size_t>(got)});
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

class RunningChild : Pinned {
 public:
  RunningChild(SpawnedChild child, const ChildCommand& command)
      : child_(std::move(child)),
        timeout_seconds_(command.timeout_seconds),
        out_(command.keeps_line),
        err_(command.keeps_line) {
    exit_fd_ = static_cast<int>(::syscall(SYS_pidfd_open, child_.pid, 0));
  }
  ~RunningChild() {
    if (exit_fd_ >= 0) ::close(exit_fd_);
  }

  ChildResult wait() {
    while (!has_ended()) {
      wait_for_something();
      watch_time();
    }
    drain(child_.out.get(), out_);
    drain(child_.err.get(), err_);
    const int status = end_child(child_);
    ChildResult result{.out = out_.text(), .err = err_.text(), .seconds = seconds_since(begin_)};
    result.end = WIFSIGNALED(status) ? ChildEnd::signalled : ChildEnd::exited;
    result.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    if (is_late_) result.end = ChildEnd::timed_out;
    return result;
  }

 private:
  bool has_ended() const {
    siginfo_t info = {};
    return ::waitid(P_PID, static_cast<id_t>(child_.pid), &info, WEXITED | WNOHANG | WNOWAIT) ==
               0 &&
           info.si_pid == child_.pid;
  }

  void wait_for_something() {
    std::array<pollfd, 3> fds = {{{is_out_open_ ? child_.out.get() : -1, POLLIN, 0},
                                  {is_err_open_ ? child_.err.get() : -1, POLLIN, 0},
                                  {exit_fd_, POLLIN, 0}}};
    const int tick = exit_fd_ >= 0 ? 10 * kTickMilliseconds : kTickMilliseconds;
    if (::poll(fds.data(), fds.size(), tick) <= 0) return;
    if (fds[0].revents != 0) is_out_open_ = take_output(child_.out.get(), out_);
    if (fds[1].revents != 0) is_err_open_ = take_output(child_.err.get(), err_);
  }

  void watch_time() {
    const double over = seconds_since(begin_) - timeout_seconds_;
    if (over < 0) return;
    if (!is_late_) ::kill(-child_.pid, SIGTERM);
    is_late_ = true;
    if (over > kGraceSeconds) ::kill(-child_.pid, SIGKILL);
  }

  // Reads what is in the pipe when the child has ended. Bounded: a grandchild may go on writing.
  static void drain(int fd, KeptOutput& kept) {
    // 4 MiB in pieces of 64 KiB; a pipe holds 64 KiB, and 1 MiB at most without privileges.
    constexpr int kMostReads = 64;
    for (int i = 0; i < kMostReads; ++i) {
      const std::uint64_t before = kept.total();
      if (!take_output(fd, kept) || kept.total() == before) return;
    }
  }

  SpawnedChild child_;
  double timeout_seconds_;
  Clock::time_point begin_ = Clock::now();
  KeptOutput out_, err_;
  int exit_fd_ = -1;
  bool is_out_open_ = true, is_err_open_ = true;
  bool is_late_ = false;
};

}  // namespace

ChildResult run_child(const ChildCommand& command) {
  auto child = spawn_child(command, ChildInput::none);
  if (!child) return {.end = ChildEnd::not_started, .code = child.error()};
  return RunningChild(std::move(*child), command).wait();
}

// ---- worker process ----
//
// Both sides talk over a pair of sockets. A message is its length (8 bytes, native byte order) and
// its bytes. The child is a fork without exec, set up in these steps:
//   1. signals get their default action: the handlers here would remove this process's files;
//   2. it ends when this process ends, leaves no core file, and holds neither standard output nor
//      standard error: whoever reads them waits for this process alone;
//   3. its memory is limited to what it has plus `most_bytes`.

namespace {

using Length = std::uint64_t;

// Bytes of writable memory that belong to this process alone; 0 when the system does not say.
std::uint64_t own_bytes() {
  std::FILE* const file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  unsigned long pages = 0;  // the type that scanf expects
  const int read = std::fscanf(file, "%*u %*u %*u %*u %*u %lu", &pages);
  std::fclose(file);
  return read == 1 ? pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
}

void limit(int resource, std::uint64_t most) {
  struct rlimit bound {};
  if (::getrlimit(static_cast<__rlimit_resource>(resource), &bound) != 0) return;
  if (bound.rlim_cur != RLIM_INFINITY && bound.rlim_cur <= most) return;
  bound.rlim_cur = most;
  ::setrlimit(static_cast<__rlimit_resource>(resource), &bound);
}

void become_worker(std::uint64_t most_bytes, pid_t parent) {
  for (int signal = 1; signal < NSIG; ++signal) {
    if (signal != SIGKILL && signal != SIGSTOP) std::signal(signal, SIG_DFL);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  std::set_new_handler(nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // it ended before the line above took effect
  limit(RLIMIT_CORE, 0);
  const std::uint64_t own = own_bytes();
  if (own > 0) limit(RLIMIT_DATA, own + most_bytes);
  const int sink = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    if (sink >= 0) ::dup2(sink, fd);
  }
}

bool send_all(int fd, const void* bytes, std::size_t size) {
  const char* at = static_cast<const char*>(bytes);
  while (size > 0) {
    const ssize_t sent = ::send(fd, at, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    at += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool send_message(int fd, const std::string& text) {
  const Length length = text.size();
  return send_all(fd, &length, sizeof length) && send_all(fd, text.data(), text.size());
}

bool receive_all(int fd, void* bytes, std::size_t size) {
  char* at = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t got = ::recv(fd, at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

[[noreturn]] void serve(int fd, WorkerProcess::Work work) {
  Length length = 0;
  while (receive_all(fd, &length, sizeof length)) {
    std::string request(length, '\0');
    if (!receive_all(fd, request.data(), length)) break;
    if (!send_message(fd, work(request))) break;
  }
  ::_exit(0);
}

}  // namespace

WorkerProcess::WorkerProcess(WorkerProcess&& other) noexcept
    : work_(other.work_),
      most_bytes_(other.most_bytes_),
      socket_(std::move(other.socket_)),
      child_(std::exchange(other.child_, -1)),
      is_busy_(std::exchange(other.is_busy_, false)),
      received_(std::move(other.received_)) {}

bool WorkerProcess::start() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) return false;
  Descriptor mine(ends[0]), its(ends[1]);
  const pid_t parent = ::getpid();
  child_ = ::fork();
  if (child_ < 0) return false;
  if (child_ == 0) {
    mine.close();  // else the child would keep its own connection open, and never see it end
    become_worker(most_bytes_, parent);
    try {
      serve(its.get(), work_);
    } catch (...) {
      ::_exit(1);  // no other code of this process may run in the copy
    }
  }
  socket_.close();
  new (&socket_) Descriptor(mine.release());
  return true;
}

// A child that ended between two requests is replaced.
bool WorkerProcess::give(const std::string& request) {
  received_.clear();
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (child_ < 0 && !start()) return false;
    is_busy_ = send_message(socket_.get(), request);
    if (is_busy_) return true;
    stop();
  }
  return false;
}

ProcessAnswer WorkerProcess::ended() {
  int status = 0;
  while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  stop();
  return {.text = std::nullopt, .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

std::optional<ProcessAnswer> WorkerProcess::take() {
  std::array<char, 65536> piece;
  const ssize_t got = ::recv(socket_.get(), piece.data(), piece.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  if (got <= 0) return ended();
  received_.append(piece.data(), static_cast<std::size_t>(got));
  Length length = 0;
  if (received_.size() < sizeof length) return std::nullopt;
  std::memcpy(&length, received_.data(), sizeof length);
  if (received_.size() - sizeof length < length) return std::nullopt;
  is_busy_ = false;
  return ProcessAnswer{.text = received_.substr(sizeof length), .signal = 0};
}

double WorkerProcess::cpu_seconds() const {
  clockid_t clock{};
  struct timespec time {};
  if (child_ < 0 || ::clock_getcpuclockid(child_, &clock) != 0) return 0;
  if (::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void WorkerProcess::stop() {
  is_busy_ = false;
  socket_.close();
  if (child_ < 0) return;
  ::kill(child_, SIGKILL);
  while (::waitpid(child_, nullptr, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
}

}  // namespace cleave
