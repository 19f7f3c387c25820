// The devices that stages run on, as the user lists them:
//
//   name,memory,speed,link
//   big,24GiB,1,gen4x16
//   small,8GiB,0.5,
//
// CSV or TSV. The first line names the columns present; only `name` is required. An empty cell
// takes the value of the command's options. A column `target` says which of several targets a device is;
// without a target, or as "cpu", it is the host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/link.h"
#include "formats/base/io/source_file.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {

struct DeviceSpec {
  std::string name;
  std::optional<std::uint64_t> memory;  // bytes
  double speed = 1;                     // above 0
  std::optional<Link> link;             // to its neighbours
  std::optional<std::string> target;    // nullopt: there is no such column; "cpu": the host
};

// The devices in the order in which stages use them; at least one.
Loaded<std::vector<DeviceSpec>> read_devices(const SourceFile& source);

}  // namespace cleave
