// The link between host and accelerator: a bandwidth, by number or by PCIe generation and width.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cleave {

struct Link {
  std::string name;             // as the user wrote it: "gen4x16", "100GiB/s"
  double bytes_per_second = 0;  // one direction
  bool is_assumed = false;      // the default, which nobody chose: no conclusion rests on it

  // However they are written.
  bool operator==(const Link& other) const { return bytes_per_second == other.bytes_per_second; }
};

// The default: 100 GiB/s, the figure that the reference system uses.
Link default_link();

// Parses a link name or a bandwidth. A name is `gen1`..`gen6` with x1, x2, x4, x8 or x16; its rate
// is that of one direction, the line rate less the encoding's overhead (gen1-2 8b/10b, gen3-5
// 128b/130b, gen6 242/256). A bandwidth is a number with a unit: `100GiB/s`, `16GB/s`, `12.5 GB`,
// `800Gbit/s`; positive and finite. Returns nullopt for any other text, also for a number without a
// unit: see bandwidth_refusal() in core/base/quantity.h.
std::optional<Link> parse_link(std::string_view text);

// Parses a count of bytes: `24GiB`, `512MB`, `1e9`, `4096`. nullopt if the text is not a byte
// count, or overflows.
std::optional<std::uint64_t> parse_bytes(std::string_view text);

}  // namespace cleave
