// Limits on what is read of a model: far above any model there is, low enough that no file can make
// the reader run away. The table in limits.cc names each; `--limit nodes=N` sets one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace cleave {

struct ModelLimits {
  std::uint64_t nodes = 100'000'000;                   // those of bodies and functions, too
  std::uint64_t values = 1'000'000'000;                // that nodes read and make, each time
  std::uint64_t attributes = 100'000;                  // of one node
  std::uint64_t dims = 1000;                           // of one shape
  std::uint64_t depth = 1000;                          // of brackets; ONNX: of messages, 100
  std::uint64_t name_bytes = 65'536;                   // of one name
  std::uint64_t file_bytes = std::uint64_t{1} << 42U;  // 4 TiB
  bool operator==(const ModelLimits&) const = default;
};

struct LimitRow {
  std::string_view name;  // as --limit has it
  std::uint64_t ModelLimits::*value;
  std::uint64_t most;     // that it can be set to
  std::string_view what;  // "nodes": what there may be so many of
};
std::span<const LimitRow> limit_rows();

// Sets the limit that `text` names: "nodes=5000". Refuses, in words for the user, what is no such
// text, a name that is no limit, and a number above the most that is possible.
Status<std::string> set_limit(ModelLimits& limits, std::string_view text);

// "--limit nodes=N sets the most that is read": the way out, for the message of a reader.
std::string limit_hint(std::uint64_t ModelLimits::*limit);

// "more than 5,000 nodes; --limit nodes=N sets the most that is read"
std::string beyond_limit(const ModelLimits& limits, std::uint64_t ModelLimits::*limit);

}  // namespace cleave
