// find_obstacle() reports the first of these tests that fails:
// 1. each group may run on some device;
// 2. there are as many groups as stages asked for;
// 3. each group fits into the largest memory;
// 4. all parameters fit into the memory of all devices.
#include "core/balance/refusal.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/balance/memory.h"
#include "core/base/decimal.h"
#include "core/base/quantity.h"

namespace cleave::balance {
namespace {

std::string count_text(std::size_t count, const char* thing) {
  return std::to_string(count) + " " + thing + (count == 1 ? "" : "s");
}

std::string name_of(const BalanceProblem& problem, std::uint32_t item) {
  return problem.item_name ? "\"" + problem.item_name(item) + "\"" : "item " + std::to_string(item);
}

// Names a group by its first item: `"conv1"`, `"conv1" with 3 nodes tied to it`.
std::string group_text(const Instance& instance, std::uint32_t group) {
  const auto items = instance.items_of.of(group);
  std::string text = name_of(*instance.problem, items.front());
  if (items.size() > 1) text += " with " + count_text(items.size() - 1, "node") + " tied to it";
  return text;
}

double most_memory(const Instance& instance) {
  double most = 0;
  for (const DeviceKind& kind : instance.fleet->kinds()) most = std::max(most, kind.memory);
  return most;
}

std::optional<Error> find_homeless_group(const Instance& instance) {
  if (instance.fleet->has_host()) return std::nullopt;
  for (std::uint32_t group = 0; group < instance.size(); ++group) {
    if (instance.host_only[group] == 0) continue;
    return Error{group_text(instance, group) +
                 " cannot run on an accelerator, and there is no host"};
  }
  return std::nullopt;
}

// Bytes that any stage with the group needs: while its items run, all they read and make is live.
double needed_bytes(const Instance& instance, std::uint32_t group, StageMemory& memory) {
  double bytes = instance.bytes[group];
  for (const std::uint32_t shared : instance.shared.of(group)) {
    bytes += instance.problem->shared_bytes[shared];
  }
  if (instance.has_activations && instance.items_of.of(group).size() == 1) {
    bytes += memory.activation_bytes(std::span(&group, 1));
  }
  return bytes;
}

std::optional<Error> find_too_large_group(const Instance& instance) {
  const double most = most_memory(instance);
  StageMemory memory(instance);
  for (std::uint32_t group = 0; group < instance.size(); ++group) {
    const double bytes = needed_bytes(instance, group, memory);
    if (bytes <= most) continue;
    return Error{group_text(instance, group) + " needs " + byte_amount(bytes) + ", " +
                 byte_amount(bytes - most) + " more than a device has (" + byte_amount(most) + ")"};
  }
  return std::nullopt;
}

double all_parameter_bytes(const Instance& instance) {
  double bytes = 0;
  for (const double own : instance.bytes) bytes += own;
  for (std::size_t i = 0; i < instance.problem->shared_bytes.size(); ++i) {
    const bool is_used = !instance.problem->shared_users.of(static_cast<std::uint32_t>(i)).empty();
    if (is_used) bytes += instance.problem->shared_bytes[i];
  }
  return bytes;
}

std::optional<Error> find_too_little_memory(const Instance& instance) {
  const Fleet& fleet = *instance.fleet;
  double room = 0;
  for (const std::uint32_t kind : fleet.kind_of_device()) room += fleet.kinds()[kind].memory;
  const double bytes = all_parameter_bytes(instance);
  if (bytes <= room) return std::nullopt;
  Error error{"the parameters need " + byte_amount(bytes) + ", " + byte_amount(bytes - room) +
              " more than " + count_text(fleet.device_count(), "device") +
              (fleet.device_count() == 1 ? " has (" : " have (") + byte_amount(room) + ")"};
  if (fleet.is_uniform()) {
    const double least = std::ceil(bytes / fleet.kinds().front().memory);
    error.notes.push_back("at least " + number_text(least) + " devices are needed");
  }
  return error;
}

}  // namespace

std::string number_text(double number) {
  const bool is_whole = std::abs(number) < 1e15 && number == std::floor(number);
  return is_whole ? fixed_text(number, 0) : rounded_text(number, 6);
}

std::string time_text(const BalanceProblem& problem, double time) {
  return number_text(time) + (problem.unit.empty() ? "" : " " + problem.unit);
}

Error too_few_to_stand_apart(std::uint32_t stages, std::size_t apart) {
  return Error{"exactly " + count_text(stages, "stage") + " asked for, but the graph has " +
               count_text(apart, "node") + " that can be in different stages"};
}

std::optional<Error> find_obstacle(const Instance& instance) {
  const Fleet& fleet = *instance.fleet;
  if (auto error = find_homeless_group(instance)) return error;
  if (fleet.exact_stages() && instance.size() < fleet.device_count()) {
    return too_few_to_stand_apart(fleet.device_count(), instance.size());
  }
  if (!fleet.has_caps() || most_memory(instance) == kUnlimited) return std::nullopt;
  if (auto error = find_too_large_group(instance)) return error;
  return find_too_little_memory(instance);
}

Error no_room(const Instance& instance, bool is_proved, double excess_bytes) {
  Error error{"no assignment to " + count_text(instance.fleet->device_count(), "device") +
              (is_proved ? " fits their memory" : " was found that fits their memory")};
  if (excess_bytes > 0) {
    error.message +=
        "; the nearest one found lacks " + byte_amount(excess_bytes) + " on one of them";
  }
  return error;
}

}  // namespace cleave::balance
