#include "formats/base/io/child_table.h"

#include <array>
#include <atomic>
#include <csignal>

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

void end_children() noexcept {
  are_children_ended.store(true);  // first: threads see it when they see an end
  for (const auto& slot : children) {
    const pid_t pid = slot.load();
    // A child that has not yet made its group is killed alone.
    if (pid > 0 && ::kill(-pid, SIGKILL) != 0) ::kill(pid, SIGKILL);
    if (pid < 0) ::kill(pid, SIGTERM);
  }
}

bool has_ended_children() noexcept { return are_children_ended.load(); }

}  // namespace cleave
