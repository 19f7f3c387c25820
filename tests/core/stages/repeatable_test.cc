// The searches give the same answer for the same problem on every machine. Random problems and the
// answers recorded for them notice a change of any step, also one that is neither better nor worse;
// after a change that is meant, look at the objectives before the new answers are recorded.

#include <cstdint>
#include <random>
#include <string>

#include "core/stages/solvers.h"
#include "tests/catch2.h"
#include "tests/core/digest.h"
#include "tests/core/stages/balance_text.h"
#include "tests/core/stages/instance_of.h"

namespace cleave::balance {

namespace {

struct Kind {
  std::uint32_t items = 0;
  std::uint32_t reach = 0;  // an item reads some of the `reach` items before it
  double memory = kUnlimited;
  std::uint32_t devices = 3;
  bool is_mixed = false;  // with a fast device and a host
};

BalanceProblem random_problem(std::uint32_t seed, const Kind& kind) {
  std::mt19937 engine(seed);
  const auto below = [&](std::uint32_t limit) {
    return static_cast<std::uint32_t>(engine() % limit);
  };
  BalanceProblem problem;
  for (std::uint32_t i = 0; i < kind.items; ++i) {
    const double time = 1 + below(9);
    problem.items.push_back({.time = time,
                             .host_time = 4 * time,
                             .bytes = static_cast<double>(below(6)),
                             .runs_on_accelerator = !kind.is_mixed || below(8) > 0});
    problem.nets.push_back({.producer = i,
                            .cost = static_cast<double>(below(8)) / 4,
                            .bytes = static_cast<double>(below(4))});
    for (std::uint32_t j = i + 1; j <= i + kind.reach && j < kind.items; ++j) {
      if (below(kind.reach) < 2) problem.consumers.add(j);
    }
    problem.consumers.end_list();
  }
  problem.successors = successors_of_nets(problem);
  problem.devices = {{.name = "d", .memory = kind.memory, .count = kind.devices}};
  if (kind.is_mixed) {
    problem.devices.push_back(
        {.name = "fast", .speed = 2, .transfer_scale = 0.5, .memory = kind.memory * 2, .count = 1});
    problem.devices.push_back({.name = "host", .is_host = true});
  }
  return problem;
}

std::string digest(const std::vector<std::uint32_t>& list) {
  Digest digest;
  digest.add_all(list);
  return digest.text();
}

std::string number(double value) { return six_digits(value); }

std::string orders_text(const Kind& kind) {
  const InstanceOf made(random_problem(1, kind));
  std::string text;
  for (const Order& order : standard_orders(made.instance())) text += " " + digest(order);
  return text;
}

std::string answer_text(std::uint32_t seed, const Kind& kind) {
  const InstanceOf made(random_problem(seed, kind));
  const Deadline never(kUnlimited);
  const BalanceOptions options{.effort = Effort::low, .seed = seed};
  const PortfolioAnswer answer = Portfolio(made.instance(), options, never).run();
  std::string text = number(answer.best.objective) + " " + digest(answer.best.stage_of) +
                     " bound " + number(answer.bound.objective) + " " + answer.bound.certificate +
                     " moves " + std::to_string(answer.moves) + " curve";
  for (const double objective : answer.curve) text += " " + number(objective);
  return text;
}

// What a start with everything on the first device becomes.
std::string search_text(std::uint32_t seed, const Kind& kind, bool start_fits) {
  const InstanceOf made(random_problem(seed, kind));
  const Candidate start{.objective = start_fits ? 1e6 : kUnlimited,
                        .stage_of = std::vector<std::uint32_t>(kind.items, 0),
                        .kind_of_stage = {0}};
  const SearchResult found = local_search(
      made.instance(), start, {.moves = 300000, .seed = seed, .start_fits = start_fits});
  return number(found.best.objective) + " " + digest(found.best.stage_of) + " " +
         std::to_string(found.moves);
}

std::string cut_text(const Kind& kind) {
  const InstanceOf made(random_problem(1, kind));
  const Candidate cut = cut_order(made.instance(), given_order(made.instance()), {});
  return number(cut.objective) + " " + digest(cut.stage_of);
}

constexpr Kind kSmall = {.items = 14, .reach = 4};
constexpr Kind kTight = {.items = 40, .reach = 5, .memory = 50};
constexpr Kind kMixed = {.items = 40, .reach = 6, .memory = 70, .devices = 2, .is_mixed = true};

TEST_CASE("the standard orders of a random problem are those recorded") {
  CHECK(orders_text({.items = 60, .reach = 6}) ==
        " 3c2abfc9 aa28be57 a10d082f aa28be57 ef7a9aff f85ebb61 83af9f27");
  CHECK(orders_text({.items = 60, .reach = 25}) ==
        " 3c2abfc9 0d3c8ed9 91fa3ddb 0d3c8ed9 ac1b9357 70fe322f 4babfd33");
}

TEST_CASE("all searches together give the answers recorded") {
  CHECK(answer_text(1, kSmall) == "27.25 c7131aa9 bound 27.25 ideals moves 0 curve 74 40.5 27.25");
  CHECK(answer_text(2, kSmall) == "25.25 1356a8d2 bound 25.25 ideals moves 0 curve 65 35.75 25.25");
  CHECK(answer_text(1, kTight) == "84.75 48311821 bound 84.75 ideals moves 0 curve inf inf 84.75");
  CHECK(answer_text(2, kTight) == "62.75 b118d51b bound 62.75 ideals moves 0 curve inf inf 62.75");
  CHECK(answer_text(1, kMixed) ==
        "328 d084480d bound 47 path-mincut moves 108000 curve 856 608 536 328");
  CHECK(answer_text(2, kMixed) == "572 49c663da bound 572 ideals moves 0 curve 824 644 592 572");
  CHECK(answer_text(3, {.items = 300, .reach = 12, .devices = 6}) ==
        "277.75 fb90828e bound 272.458 path-mincut moves 160000 curve 1615 814.5 548.5 414.25 335 "
        "277.75");
}

TEST_CASE("the local search gives the answers recorded, also from a start that does not fit") {
  CHECK(search_text(1, {.items = 40, .reach = 5}, true) == "84.75 48311821 300000");
  CHECK(search_text(2, kMixed, true) == "572 eb2890fe 300000");
  CHECK(search_text(1, kTight, false) == "84.75 48311821 300000");
  CHECK(search_text(2, kTight, false) == "62.75 b118d51b 300000");
  CHECK(search_text(3, kMixed, false) == "160 8fb80640 300000");
}

TEST_CASE("orders longer than their blocks are cut as recorded") {
  CHECK(cut_text({.items = 3000, .reach = 3, .devices = 8}) == "1886.75 3659fc40");
  CHECK(cut_text({.items = 25000, .reach = 3, .devices = 200}) == "632.25 207441a1");
}

}  // namespace

}  // namespace cleave::balance
