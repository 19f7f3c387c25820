// cleave as a library: read a model, read support lists, split, look at the result, write the parts.
//
//   const auto model = cleave::Model::read("mobile_block.onnx", {.dims = {{"N", 1}}});
//   if (!model) return refuse(cleave::fault_text(model.error()));
//   const auto lists = cleave::SupportLists::read({.paths = {"tiny_npu.txt"}});
//   if (!lists) return refuse(cleave::fault_text(lists.error()));
//   const auto request = cleave::request_of({{"keep_qdq", true}, {"start", "fewest"}});
//   if (!request) return refuse(cleave::fault_text(request.error()));
//   const auto split = cleave::split_model(*model, *lists, *request);
//   if (!split) return refuse(cleave::fault_text(split.error()));
//   for (const cleave::PartitionInfo& part : split->partitions()) use(part.name, part.nodes);
//   for (const cleave::CpuNode& node : split->cpu_nodes()) use(node.name, node.reason);
//   const auto files = split->write("mobile_split");
//   if (!files) return refuse(cleave::fault_text(files.error()));
//
// Test each result first; *, -> and value() do not check. A fault says what is wrong and whether the
// request, an input or an output is to blame; fault_text() has the words. The causes `program` and
// `infeasible` are of commands that are not here: no call returns them. No call prints. Exceptions
// are std::bad_alloc and bugs. Numbers that are not known are nullopt.
//
// Files of a model are mapped. Keep them as they are while a Model exists: one that is cut short ends
// the process with SIGBUS. There is one record of open files per process, so call from one thread at
// a time. Each Model keeps one descriptor open.
//
// Programs should use this header and those that it includes. formats/base/version.h says what is
// kept between versions; other headers may change in any.
#pragma once

#include <string>
#include <string_view>

#include "formats/base/version.h"               // IWYU pragma: export
#include "formats/run/jobs/jobs.h"              // IWYU pragma: export
#include "formats/run/library/model.h"          // IWYU pragma: export
#include "formats/run/library/model_split.h"    // IWYU pragma: export
#include "formats/run/library/support_lists.h"  // IWYU pragma: export

namespace cleave {

// All diagnostics of a fault, or all warnings, as `cleave` prints them: lines with the file, line and
// column, each ending in '\n'.
std::string fault_text(const Fault& fault);
std::string warning_text(const Diagnostics& warnings);

// The version of the linked library: "0.2.0". That of the headers is in
// formats/base/version.h.
std::string_view linked_version();

}  // namespace cleave
