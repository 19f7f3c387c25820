// Why a balance problem has no answer: which constraint does not hold, and by how much.
#pragma once

#include <optional>
#include <string>

#include "core/balance/instance.h"
#include "core/base/result.h"

namespace cleave::balance {

// An obstacle visible in single groups or in sums; nullopt when there is none.
std::optional<Error> find_obstacle(const Instance& instance);

// More stages are asked for than there are groups that can be in different stages.
Error too_few_to_stand_apart(std::uint32_t stages, std::size_t apart);

// No assignment fits the devices' memory: none exists (`is_proved`), or none was found.
// `excess_bytes` is what the nearest one lacks.
Error no_room(const Instance& instance, bool is_proved, double excess_bytes);

// Numbers as text: whole ones without a point.
std::string number_text(double number);
// As above, followed by the problem's unit if it has one.
std::string time_text(const BalanceProblem& problem, double time);

}  // namespace cleave::balance
