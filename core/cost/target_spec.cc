#include "core/cost/target_spec.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/base/quantity.h"
#include "core/base/quotes.h"
#include "core/base/white_space.h"

namespace cleave {
namespace {

std::optional<double> microseconds(std::string_view text) {
  const auto seconds = parse_duration(text);
  return seconds ? std::optional(*seconds * 1e6) : std::nullopt;
}

std::optional<std::size_t> whole(std::string_view text) {
  const auto number = parse_quantity(text);
  if (!number || !number->whole || !number->unit.empty()) return std::nullopt;
  return static_cast<std::size_t>(*number->whole);
}

// "2pJ/FLOP+30pJ/byte+0.1mJ/launch": one or more of the three.
std::optional<EnergyNumbers> energy(std::string_view text) {
  EnergyNumbers numbers;
  for (bool has_more = true; has_more;) {
    const std::size_t plus = text.find('+');
    const auto number = parse_quantity(trimmed(text.substr(0, plus)));
    if (!number) return std::nullopt;
    if (number->unit == "pJ/FLOP") {
      numbers.pj_per_flop = number->value;
    } else if (number->unit == "pJ/byte") {
      numbers.pj_per_byte = number->value;
    } else if (number->unit == "mJ/launch") {
      numbers.mj_per_launch = number->value;
    } else {
      return std::nullopt;
    }
    has_more = plus != std::string_view::npos;
    if (has_more) text.remove_prefix(plus + 1);
  }
  return numbers;
}

// Sets the field; false when the text is not a valid value.
using Setter = bool (*)(std::string_view text, TargetSpec& spec);

template <auto Field, auto Parse>
bool set(std::string_view text, TargetSpec& spec) {
  auto value = Parse(text);
  if (!value) return false;
  spec.*Field = *std::move(value);
  return true;
}

std::optional<double> bandwidth(std::string_view text) {
  const auto link = parse_link(text);
  return link ? std::optional(link->bytes_per_second) : std::nullopt;
}

std::optional<Duplex> duplex(std::string_view text) {
  if (text == "half") return Duplex::half;
  if (text == "full") return Duplex::full;
  return std::nullopt;
}

struct Key {
  std::string_view name;
  Setter set;
  std::string_view example;
  bool is_for_cpu;
};

constexpr std::array<Key, 9> kKeys = {{
    {"flops", set<&TargetSpec::flops_per_second, parse_flops_rate>, "4TFLOP/s", true},
    {"bandwidth", set<&TargetSpec::bytes_per_second, bandwidth>, "50GB/s", true},
    {"node", set<&TargetSpec::node_us, microseconds>, "2us", true},
    {"launch", set<&TargetSpec::launch_us, microseconds>, "100us", true},
    {"energy", set<&TargetSpec::energy, energy>, "2pJ/FLOP+30pJ/byte", true},
    {"memory", set<&TargetSpec::memory, parse_bytes>, "512MiB", false},
    {"max-subgraphs", set<&TargetSpec::max_subgraphs, whole>, "8", false},
    {"link", set<&TargetSpec::link, parse_link>, "gen4x4", false},
    {"duplex", set<&TargetSpec::duplex, duplex>, "half", false},
}};

// "flops, bandwidth, node": the keys that the target has.
std::string key_names(TargetName target) {
  std::string names;
  for (const Key& key : kKeys) {
    if (target == TargetName::cpu && !key.is_for_cpu) continue;
    names += (names.empty() ? "" : ", ") + std::string(key.name);
  }
  return names;
}

bool is_lower_word(std::string_view text) {
  return !text.empty() && text[0] >= 'a' && text[0] <= 'z' &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == text.npos;
}

}  // namespace

bool is_target_number(std::string_view name) {
  return std::any_of(kKeys.begin(), kKeys.end(), [&](const Key& key) { return key.name == name; });
}

Status<> set_target_number(std::string_view name, std::string_view value, TargetSpec& spec) {
  for (const Key& key : kKeys) {
    if (key.name != name || (spec.target == TargetName::cpu && !key.is_for_cpu)) continue;
    if (key.set(value, spec)) return Done{};
    return Error{in_quotes(value) + " is not a value of " + in_quotes(name) + ": write " +
                 std::string(name) + "=" + std::string(key.example)};
  }
  return Error{in_quotes(name) + " is not a number of target " +
               (spec.target == TargetName::cpu ? "cpu" : spec.name) + ": there are " +
               key_names(spec.target)};
}

Result<TargetSpec> parse_target(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view name = trimmed(text.substr(0, colon));
  if (!is_lower_word(name) || colon == std::string_view::npos) {
    return Error{in_quotes(text) +
                 " names no target: write cpu:flops=500GFLOP/s,bandwidth=50GB/s or "
                 "acc:launch=100us,..."};
  }
  TargetSpec spec;
  spec.target = name == "cpu" ? TargetName::cpu : TargetName::acc;
  if (spec.target == TargetName::acc) spec.name = name;
  std::vector<std::string_view> given;
  for (std::string_view rest = text.substr(colon + 1); !trimmed(rest).empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view part = trimmed(rest.substr(0, comma));
    const std::size_t equals = part.find('=');
    const std::string_view value =
        equals == std::string_view::npos ? "" : trimmed(part.substr(equals + 1));
    const std::string_view key = trimmed(part.substr(0, equals));
    auto set = set_target_number(key, value, spec);
    if (!set) return std::move(set).error();
    if (std::find(given.begin(), given.end(), key) != given.end()) {
      return Error{in_quotes(text) + " states " + in_quotes(key) + " twice"};
    }
    given.push_back(key);
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  if (given.empty()) {
    return Error{in_quotes(text) + " states no number: there are " + key_names(spec.target)};
  }
  return spec;
}

Machine with_target(Machine machine, const TargetSpec& spec) {
  DeviceNumbers& device = spec.target == TargetName::cpu ? machine.cpu : machine.acc;
  if (spec.flops_per_second) device.flops_per_second = spec.flops_per_second;
  if (spec.bytes_per_second) device.bytes_per_second = spec.bytes_per_second;
  if (spec.energy) device.energy = spec.energy;
  if (spec.node_us) device.node_us = *spec.node_us;
  if (spec.launch_us && spec.target == TargetName::cpu) machine.cpu_launch_us = *spec.launch_us;
  if (spec.launch_us && spec.target == TargetName::acc) machine.launch_us = spec.launch_us;
  if (spec.memory) machine.acc_memory = spec.memory;
  if (spec.max_subgraphs) machine.most_acc_parts = spec.max_subgraphs;
  if (spec.duplex) machine.duplex = *spec.duplex;
  return machine;
}

}  // namespace cleave
