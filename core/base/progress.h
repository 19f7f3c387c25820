// Progress: reports how far long work has come. Core prints nothing: the caller hands in a
// function, which is called every few thousand items, never in the innermost loop.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace cleave {

struct WorkDone {
  std::string_view task;  // "reading"; a new name starts a new task
  std::string_view unit;  // what is counted: "bytes", "nodes"
  std::uint64_t done = 0;
  std::uint64_t total = 0;  // an estimate; the work may turn out to be less or more
};

// Empty when nobody wants reports.
using Progress = std::function<void(const WorkDone&)>;

inline void tell(const Progress& progress, const WorkDone& work) {
  if (progress) progress(work);
}

// As above, through a pointer that may be null.
inline void tell(const Progress* progress, const WorkDone& work) {
  if (progress != nullptr) tell(*progress, work);
}

}  // namespace cleave
