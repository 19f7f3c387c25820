// Limits on what is read from a model: far above any known model, but low enough that no file can
// make the reader run away. The table in limits.cc names them; `--limit nodes=N` sets one. Names
// must be UTF-8, unless `--limit utf8=lenient` lets an ONNX model have others.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace cleave {

// Whether names of an ONNX model may hold bytes that are not UTF-8.
enum class NameBytes : std::uint8_t { utf8, any };

struct ModelLimits {
  std::uint64_t nodes = 100'000'000;                   // including those of bodies and functions
  std::uint64_t values = 1'000'000'000;                // read and made by nodes, counted each time
  std::uint64_t attributes = 100'000;                  // of one node
  std::uint64_t dims = 1000;                           // of one shape
  std::uint64_t depth = 1000;                          // of brackets; ONNX: of messages, 100
  std::uint64_t name_bytes = 65'536;                   // of one name
  std::uint64_t file_bytes = std::uint64_t{1} << 42U;  // 4 TiB
  NameBytes names = NameBytes::utf8;                   // of ONNX; --limit utf8=lenient: any
  bool operator==(const ModelLimits&) const = default;
};

struct LimitRow {
  std::string_view name;  // as in --limit
  std::uint64_t ModelLimits::*value;
  std::uint64_t most;     // the largest value it can be set to
  std::string_view what;  // "nodes": what is counted
};
std::span<const LimitRow> limit_rows();

// Sets the limit named in `text`: "nodes=5000", "utf8=lenient", "utf8=strict". Refuses, with a
// message for the user, any other text, an unknown limit, and a number above its maximum.
Status<std::string> set_limit(ModelLimits& limits, std::string_view text);

// "--limit nodes=N sets the most that is read": the remedy in a reader's message.
std::string limit_hint(std::uint64_t ModelLimits::*limit);

// "more than 5,000 nodes; --limit nodes=N sets the most that is read"
std::string beyond_limit(const ModelLimits& limits, std::uint64_t ModelLimits::*limit);

}  // namespace cleave
