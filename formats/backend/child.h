// Child processes that may do anything: crash, hang, fork, flood, fill the disk. Each has a session
// and process group of its own, /dev/null as standard input, limits, and the environment it is given
// and no other. What it leaves behind is ended with it, also what left its group: the process is a
// *subreaper* (prctl(2)), so that orphans come to it.
//
// A signal that stops this process ends the children first: see end_children().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "formats/io/descriptor.h"

namespace cleave {

struct ChildCommand {
  std::vector<std::string> argv = {};
  std::vector<std::string> environment = {};  // "NAME=value"; PATH in it finds the program
  std::string folder = {};                    // working directory
  double timeout_seconds = 600;
  std::uint64_t memory_bytes = 0;  // RLIMIT_AS; 0: no limit
  std::uint64_t file_bytes = 0;    // RLIMIT_FSIZE; 0: no limit
};

enum class ChildEnd : std::uint8_t { exited, signalled, timed_out, not_started };

struct ChildResult {
  ChildEnd end = ChildEnd::not_started;
  int code = 0;          // exit status, signal, or errno
  std::string out = {};  // see kept_output.h; "" when it was not started
  std::string err = {};
  double seconds = 0;
};

// Runs the command to its end. A child that is beyond its time gets SIGTERM, and SIGKILL 5 s later.
// Returns when the child has ended, whoever still holds its output.
ChildResult run_child(const ChildCommand& command);

// A child whose standard input and output are pipes, for a worker.
struct SpawnedChild {
  int pid = -1;
  std::uint64_t tag = 0;  // what end_left_behind() knows it by
  Descriptor in, out, err;
};
enum class ChildInput : std::uint8_t { none, pipe };

// Starts the command. Error: errno. The descriptors do not block.
Result<SpawnedChild, int> spawn_child(const ChildCommand& command, ChildInput input);

// Kills the child's group, waits for the child, and ends what it left behind. Returns its wait status.
int end_child(const SpawnedChild& child);

// Ends orphans that a child with the tag started; of tag 0: every orphan there is.
void end_left_behind(std::uint64_t tag);

// Kills the groups of all children there are. For signal handlers: it allocates nothing.
void end_children() noexcept;

}  // namespace cleave
