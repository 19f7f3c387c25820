// Progress: how far long work has come, told to whoever wants to know. Core prints nothing: a
// function is handed in, and called every few thousand items, never in the innermost loop.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace cleave {

struct WorkDone {
  std::string_view task;  // "reading": another one begins where the name changes
  std::string_view unit;  // "bytes", "nodes": what is counted
  std::uint64_t done = 0;
  std::uint64_t total = 0;  // an estimate where less or more may turn out to be needed
};

// Empty: nobody wants to know.
using Progress = std::function<void(const WorkDone&)>;

inline void tell(const Progress& progress, const WorkDone& work) {
  if (progress) progress(work);
}

// The same through a pointer that may be null.
inline void tell(const Progress* progress, const WorkDone& work) {
  if (progress != nullptr) tell(*progress, work);
}

}  // namespace cleave
