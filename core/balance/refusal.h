// Why a balance problem has no answer: which constraint does not hold, and by how much.
#pragma once

#include <optional>
#include <string>

#include "core/balance/instance.h"
#include "core/base/result.h"

namespace cleave::balance {

// What can be told from single groups and from sums; nothing when these allow an answer.
std::optional<Error> find_obstacle(const Instance& instance);

// More stages are asked for than can be told apart.
Error too_few_to_stand_apart(std::uint32_t stages, std::size_t apart);

// No assignment fits the devices' memory: none exists, or none was found. `excess_bytes`: how much
// the nearest one lacks.
Error no_room(const Instance& instance, bool is_proved, double excess_bytes);

// Numbers as text: whole ones without a point.
std::string number_text(double number);
// The same with the problem's unit behind it, where it has one.
std::string time_text(const BalanceProblem& problem, double time);

}  // namespace cleave::balance
