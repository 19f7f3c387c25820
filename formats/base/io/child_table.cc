#include "formats/base/io/child_table.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "formats/base/io/child.h"

namespace cleave {
namespace {

// Process ids; those of launchers are negative.
std::array<std::atomic<pid_t>, kMostChildren> children = {};

std::atomic<bool> are_children_ended = false;

}  // namespace

bool register_child(pid_t pid, ChildKind kind) {
  for (auto& slot : children) {
    pid_t none = 0;
    if (slot.compare_exchange_strong(none, kind == ChildKind::launcher ? -pid : pid)) return true;
  }
  return false;
}

void forget_child(pid_t pid) {
  for (auto& slot : children) {
    pid_t expected = pid, launcher = -pid;
    if (slot.compare_exchange_strong(expected, 0)) return;
    if (slot.compare_exchange_strong(launcher, 0)) return;
  }
}

bool is_registered_child(pid_t pid) {
  for (const auto& slot : children) {
    if (slot.load() == pid || slot.load() == -pid) return true;
  }
  return false;
}

namespace {

// What follows runs in a signal handler: it allocates nothing, and its memory is reserved here.
struct ProcessEntry {
  pid_t pid;
  pid_t parent;
  bool is_ours;  // descends from this process, and not by way of a launcher
};
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
  constexpr int kMostRounds = 32;
  for (int round = 0; round < kMostRounds; ++round) {
    const std::size_t count = read_processes();
    if (!mark_ours(count)) return;
    for (std::size_t i = 0; i < count; ++i) {
      if (processes[i].is_ours) ::kill(processes[i].pid, SIGKILL);
    }
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

}  // namespace cleave
