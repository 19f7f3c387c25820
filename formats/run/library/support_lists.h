// SupportLists: what an accelerator takes, for programs that use cleave as a library.
#pragma once

#include <memory>

#include "core/base/base.h"
#include "formats/base/faults.h"
#include "formats/run/jobs/jobs.h"

namespace cleave {

struct ListsRead;  // formats/run/jobs/jobs.h

// Can be moved.
class SupportLists {
 public:
  // Reads lists at paths, or by name: "tensorrt" is tensorrt.json in a folder that the environment
  // variable CLEAVE_LISTS names; folders are divided by colons. On error: the faults of all lists;
  // a fault of the request if neither lists nor verdicts are given.
  static Result<SupportLists, Fault> read(const ListsRequest& request);
  explicit SupportLists(std::unique_ptr<ListsRead> lists);
  SupportLists(SupportLists&&) noexcept;
  SupportLists& operator=(SupportLists&&) noexcept;
  ~SupportLists();

  const Diagnostics& warnings() const;

  // For programs that also use cleave's other headers, which may change in any version.
  const ListsRead& lists() const { return *lists_; }

 private:
  std::unique_ptr<ListsRead> lists_;
};

}  // namespace cleave
