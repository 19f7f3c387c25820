// Starts and ends children. Between fork and exec a child only does what is safe in a process whose
// other threads are gone: everything that allocates memory is done before.
#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>

#include "formats/base/io/child.h"
#include "formats/base/io/child_table.h"

namespace cleave {
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
    std::string_view rest = std::string_view(variable).substr(5);
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find(':'), rest.size());
      const std::string path = std::string(rest.substr(0, end)) + "/" + word;
      if (end > 0 && ::access(path.c_str(), X_OK) == 0) return path;
      rest.remove_prefix(std::min(end + 1, rest.size()));
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

void limit(__rlimit_resource resource, std::uint64_t most) {
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
  limit(RLIMIT_CORE, 0);
  if (set_up.command->memory_bytes > 0) limit(RLIMIT_AS, set_up.command->memory_bytes);
  if (set_up.command->file_bytes > 0) limit(RLIMIT_FSIZE, set_up.command->file_bytes);
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

void end_left_behind(std::uint64_t tag) {
  constexpr int kMostRounds = 64;  // an orphan's own children become orphans, too
  for (int round = 0; round < kMostRounds; ++round) {
    const std::vector<pid_t> orphans = orphans_of(tag);
    if (orphans.empty()) return;
    for (const pid_t pid : orphans) ::kill(pid, SIGKILL);
    for (const pid_t pid : orphans) wait_for(pid, nullptr);
  }
}

}  // namespace cleave
