// Runs the searches one after another, each only if the earlier ones have not proved their answer
// best.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/balance/bound.h"
#include "core/balance/exact.h"
#include "core/balance/instance.h"
#include "core/balance/linear.h"
#include "core/balance/search.h"
#include "core/base/result.h"

namespace cleave::balance {

// Why a balance problem has no answer: which constraint does not hold, and by how much.

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

// What the effort allows. All limits are counts, so that the same input gives the same answer.
struct Budget {
  std::uint64_t moves = 0;         // of the local search
  std::uint64_t flow_steps = 0;    // of the lower bound
  std::uint64_t first_stages = 0;  // of the exact search before the local search
  std::uint64_t last_stages = 0;   // of the exact search after the local search
  std::size_t ideals = 0;
  std::size_t orders = 0;
};
Budget budget_for(Effort effort, std::size_t groups);

struct PortfolioAnswer {
  Checked best;
  Bound bound;
  std::vector<double> curve;
  std::uint64_t moves = 0;
  bool is_proved_impossible = false;  // set when there is no best
  double least_excess_bytes = 0;      // of the candidate nearest to fitting
};

class Portfolio {
 public:
  Portfolio(const Instance& instance, const BalanceOptions& options, const Deadline& deadline);
  PortfolioAnswer run();

 private:
  void cut_orders();
  void cut(const Order& order);
  void make_room();
  void raise_bound();
  void search_exactly(std::uint64_t most_stages);
  void search_locally();
  void draw_curve();
  bool is_done() const;
  // Takes the candidate when it fits and is better.
  bool offer(Candidate candidate);

  const Instance& instance_;
  const BalanceOptions& options_;
  const Deadline& deadline_;
  Budget budget_;
  Candidate best_;    // as the searches see it
  Candidate misfit_;  // while no candidate fits: the one nearest to fitting
  Order best_order_;
  std::vector<Order> orders_;
  PortfolioAnswer answer_;
};

}  // namespace cleave::balance
