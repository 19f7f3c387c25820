// Child processes that may misbehave: crash, hang, fork, flood, fill the disk. Each has its own
// session and process group, /dev/null as standard input, limits, and only the environment it is
// given. Processes that it leaves behind are ended with it, even those that left its group: this
// process is a *subreaper* (prctl(2)), so it inherits orphans.
//
// A signal that stops this process ends the children first: see end_children().
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "formats/base/io/descriptor.h"

namespace cleave {

enum class ChildKind : std::uint8_t {
  local,
  launcher,  // runs its command elsewhere, as srun does. It gets SIGTERM before it is killed, since
             // what it runs elsewhere would go on otherwise
};

struct ChildCommand {
  std::vector<std::string> argv = {};
  std::vector<std::string> environment = {};  // "NAME=value"; its PATH is used to find the program
  std::string folder = {};                    // working directory
  double timeout_seconds = 600;
  std::uint64_t memory_bytes = 0;  // RLIMIT_AS; 0: no limit
  std::uint64_t file_bytes = 0;    // RLIMIT_FSIZE; 0: no limit
  ChildKind kind = ChildKind::local;
  std::function<bool(std::string_view)> keeps_line = {};  // see kept_output.h
};

enum class ChildEnd : std::uint8_t { exited, signalled, timed_out, not_started };

struct ChildResult {
  ChildEnd end = ChildEnd::not_started;
  int code = 0;          // exit status, signal, or errno
  std::string out = {};  // see kept_output.h; "" when it was not started
  std::string err = {};
  double seconds = 0;
};

// Runs the command to its end. A child that exceeds its time gets SIGTERM, and SIGKILL 5 s later.
// Returns when the child has ended, even if other processes still hold its output.
ChildResult run_child(const ChildCommand& command);

// A child whose standard input and output are pipes, for a worker.
struct SpawnedChild {
  int pid = -1;
  std::uint64_t tag = 0;  // identifies it for end_left_behind()
  ChildKind kind = ChildKind::local;
  Descriptor in, out, err;
};
enum class ChildInput : std::uint8_t { none, pipe };

// Starts the command. Error: errno. The descriptors do not block.
Result<SpawnedChild, int> spawn_child(const ChildCommand& command, ChildInput input);

// Kills the child's group, waits for the child, and ends what it left behind. A launcher first gets
// 2 s to end by itself, then SIGTERM and 5 s more. Returns the child's wait status.
int end_child(const SpawnedChild& child);

// Ends orphans started by the child with the tag; for tag 0 all orphans.
void end_left_behind(std::uint64_t tag);

// Kills the groups of all children and all that they started, but sends SIGTERM to launchers and leaves
// what these started to them. The process must end after it. It allocates nothing, so that
// signal handlers may call it.
void end_children() noexcept;
// True once they were: how a child ends from then on says nothing of its work.
bool has_ended_children() noexcept;

}  // namespace cleave
