// A unit is a decimal (k, M, G, T, P) or binary (Ki, Mi, ...) prefix and `B` or `bit`. A rate may
// end in `/s`, or in `ps` after `bit` or `B`.
#include "core/base/link.h"

#include <array>
#include <cmath>
#include <limits>

#include "core/base/quantity.h"
#include "core/base/white_space.h"

namespace cleave {
namespace {

struct PcieGeneration {
  double transfers_per_second;  // per lane, one bit each
  double encoding;              // the share of the bits that is payload
};

// PCI Express Base Specification: line rates and encodings (8b/10b, 128b/130b, 242/256 in FLITs).
constexpr std::array<PcieGeneration, 6> kGenerations = {{
    {2.5e9, 8.0 / 10.0},
    {5e9, 8.0 / 10.0},
    {8e9, 128.0 / 130.0},
    {16e9, 128.0 / 130.0},
    {32e9, 128.0 / 130.0},
    {64e9, 242.0 / 256.0},
}};

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (text.size() < suffix.size() || text.substr(text.size() - suffix.size()) != suffix) {
    return false;
  }
  text.remove_suffix(suffix.size());
  return true;
}

// "gen4x16" -> bytes per second.
std::optional<double> pcie_rate(std::string_view text) {
  if (!take_prefix(text, "gen") && !take_prefix(text, "Gen")) return std::nullopt;
  if (text.size() < 3 || text[0] < '1' || text[0] > '6' || text[1] != 'x') return std::nullopt;
  const PcieGeneration& generation = kGenerations[static_cast<std::size_t>(text[0] - '1')];
  const std::string_view width = text.substr(2);
  for (const int lanes : {1, 2, 4, 8, 16}) {
    if (width == std::to_string(lanes)) {
      return generation.transfers_per_second * generation.encoding * lanes / 8;
    }
  }
  return std::nullopt;
}

// "GiB/s", "GB", "Gbit/s", "Gbps" -> bytes per second of one unit.
std::optional<double> rate_unit(std::string_view unit) {
  bool is_bits = false;
  if (take_suffix(unit, "bps") || take_suffix(unit, "bit/s") || take_suffix(unit, "bit")) {
    is_bits = true;
  } else if (!take_suffix(unit, "B/s") && !take_suffix(unit, "Bps") && !take_suffix(unit, "B")) {
    return std::nullopt;
  }
  const auto factor = prefix_factor(unit);
  if (!factor) return std::nullopt;
  return static_cast<double>(*factor) / (is_bits ? 8 : 1);
}

}  // namespace

Link default_link() {
  return {.name = "100GiB/s", .bytes_per_second = 100.0 * 1024 * 1024 * 1024, .is_assumed = true};
}

std::optional<Link> parse_link(std::string_view text) {
  text = trimmed(text);
  if (const auto rate = pcie_rate(text)) return Link{std::string(text), *rate};
  const auto quantity = parse_quantity(text);
  if (!quantity) return std::nullopt;
  const auto unit = rate_unit(quantity->unit);
  if (!unit) return std::nullopt;
  const double rate = quantity->value * *unit;
  if (!(rate > 0) || !std::isfinite(rate)) return std::nullopt;
  return Link{std::string(text), rate};
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  const auto quantity = parse_quantity(text);
  if (!quantity) return std::nullopt;
  std::string_view unit = quantity->unit;
  if (!unit.empty() && !take_suffix(unit, "B")) return std::nullopt;
  const auto factor = prefix_factor(unit);
  if (!factor) return std::nullopt;
  if (quantity->whole) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
    if (*quantity->whole > kMost / *factor) return std::nullopt;
    return *quantity->whole * *factor;
  }
  const double bytes = quantity->value * static_cast<double>(*factor);
  if (!(bytes < 0x1p64)) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace cleave
