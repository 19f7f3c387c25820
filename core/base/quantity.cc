#include "core/base/quantity.h"

#include <array>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include "core/base/decimal.h"
#include "core/base/white_space.h"

namespace cleave {
namespace {

// Three digits, without the zeros that end a fraction: "9.19", "64", "1000" stays whole.
std::string three_digits(double number) {
  if (!(std::abs(number) < 1e30)) return "?";
  const int decimals = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
  std::string digits = fixed_text(number, decimals);
  if (decimals == 0) return digits;
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.ends_with('.')) digits.pop_back();
  return digits;
}

}  // namespace

std::optional<Quantity> parse_quantity(std::string_view text) {
  text = trimmed(text);
  if (text.empty() || text[0] == '-') return std::nullopt;
  Quantity quantity;
  const char* const end = text.data() + text.size();
  const auto real = std::from_chars(text.data(), end, quantity.value);
  if (real.ec != std::errc{} || !std::isfinite(quantity.value)) return std::nullopt;
  std::uint64_t whole = 0;
  const auto integer = std::from_chars(text.data(), end, whole);
  if (integer.ec == std::errc{} && integer.ptr == real.ptr) quantity.whole = whole;
  text.remove_prefix(static_cast<std::size_t>(real.ptr - text.data()));
  quantity.unit = trimmed(text);
  return quantity;
}

bool is_bare_number(std::string_view text) {
  const auto quantity = parse_quantity(text);
  return quantity && quantity->unit.empty();
}

std::optional<std::uint64_t> prefix_factor(std::string_view prefix) {
  if (prefix.empty()) return 1;
  constexpr std::string_view kLetters = "kMGTP";
  const char letter = prefix[0] == 'K' ? 'k' : prefix[0];
  const std::size_t power = kLetters.find(letter);
  if (power == std::string_view::npos) return std::nullopt;
  std::uint64_t step = 1000;
  if (prefix.substr(1) == "i") {
    step = 1024;
  } else if (prefix.size() > 1) {
    return std::nullopt;
  }
  std::uint64_t factor = step;
  for (std::size_t i = 0; i < power; ++i) factor *= step;
  return factor;
}

std::optional<double> parse_duration(std::string_view text) {
  // Divided by what a second has of the unit, 100us and 0.1ms are the same number; times 1e-6 they are not.
  constexpr std::array<std::pair<std::string_view, double>, 5> kUnits = {
      {{"ns", 1e9}, {"us", 1e6}, {"ms", 1e3}, {"s", 1}, {"min", 1.0 / 60}}};
  const auto quantity = parse_quantity(text);
  if (!quantity) return std::nullopt;
  for (const auto& unit : kUnits) {
    if (quantity->unit != unit.first) continue;
    const double seconds = quantity->value / unit.second;
    return std::isfinite(seconds) ? std::optional(seconds) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<double> parse_share(std::string_view text) {
  const bool is_percent = text.ends_with('%');
  if (is_percent) text.remove_suffix(1);
  double share = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, share);
  if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  if (is_percent) share /= 100;
  return share >= 0 && share <= 1 ? std::optional(share) : std::nullopt;
}

std::optional<double> parse_flops_rate(std::string_view text) {
  const auto quantity = parse_quantity(text);
  if (!quantity || quantity->unit.empty()) return std::nullopt;
  std::string_view unit = quantity->unit;
  for (const std::string_view ending : {"FLOP/s", "FLOPS", "FLOPs", "FLOP", "flops"}) {
    if (!unit.ends_with(ending)) continue;
    unit.remove_suffix(ending.size());
    break;
  }
  const auto factor = prefix_factor(unit);
  if (!factor) return std::nullopt;
  const double rate = quantity->value * static_cast<double>(*factor);
  return rate > 0 && std::isfinite(rate) ? std::optional(rate) : std::nullopt;
}

std::string bandwidth_refusal(std::string_view text) {
  if (is_bare_number(text)) {
    const std::string number(trimmed(text));
    return " has no unit: write " + number + "GB/s or " + number +
           "GiB/s, or a link's name (gen1x1 to gen6x16)";
  }
  return " is not a bandwidth: give a number with a unit (100GiB/s) or a link's name (gen1x1 to "
         "gen6x16)";
}

std::string with_unit(double number, double step, std::span<const std::string_view> units) {
  std::size_t unit = 0;
  while (unit + 1 < units.size() && number >= step - 0.5) {
    number /= step;
    ++unit;
  }
  return three_digits(number) + " " + std::string(units[unit]);
}

std::string byte_amount(double bytes) {
  static constexpr std::array<std::string_view, 7> kUnits = {"B",   "KiB", "MiB", "GiB",
                                                             "TiB", "PiB", "EiB"};
  return with_unit(bytes, 1024, kUnits);
}

}  // namespace cleave
