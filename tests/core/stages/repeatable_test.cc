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

// ---- whole runs ----

struct Run {
  CommModel comm = CommModel::serial;
  bool in_order = false, is_exact = false, has_targets = false, has_shared = false;
  std::uint32_t colours = 0;  // every fourth item has one of these
  double target = kUnlimited;
};

BalanceProblem with_all_of(BalanceProblem problem, const Run& run) {
  const auto count = static_cast<std::uint32_t>(problem.items.size());
  problem.devices_in_order = run.in_order;
  for (BalanceItem& item : problem.items) item.host_time /= 16;  // else the host decides alone
  for (std::uint32_t i = 0; run.colours > 0 && i < count; i += 4) {
    problem.items[i].colour = i * run.colours / count;
  }
  for (std::uint32_t i = 0; run.has_shared && i + 7 < count; i += 5) {
    problem.shared_bytes.push_back(2.0 + i % 3);
    for (const std::uint32_t user : {i, i + 3, i + 7}) problem.shared_users.add(user);
    problem.shared_users.end_list();
  }
  if (!run.has_targets) return problem;
  for (std::uint32_t i = 0; i < count; ++i) {
    const double time = problem.items[i].time;
    const double first = i % 7 == 3 ? -1 : 2 * time, second = i % 5 == 2 ? -1 : time + i % 4;
    problem.target_times.insert(problem.target_times.end(), {first, second});
    problem.items[i].runs_on_accelerator = first >= 0 || second >= 0;
    problem.items[i].time = first < 0 || (second >= 0 && second < first) ? second : first;
    if (!problem.items[i].runs_on_accelerator) problem.items[i].time = 0;
  }
  problem.devices[1].target = 1;
  return problem;
}

std::string run_text(const Kind& kind, const Run& run) {
  const BalanceProblem problem = with_all_of(random_problem(4, kind), run);
  BalanceOptions options{
      .comm = run.comm, .exact_stages = run.is_exact, .target = run.target, .effort = Effort::low};
  const auto result = balance_stages(problem, options);
  if (!result) {
    std::string text = result.error().message;
    for (const std::string& note : result.error().notes) text += "; " + note;
    return text;
  }
  std::string text = number(result->objective) + " " + digest(result->stage_of) + " bound " +
                     number(result->bound) + " " + result->certificate + " enough " +
                     std::to_string(result->enough_stages);
  for (const BalanceStage& stage : result->stages) {
    text += " | " + std::to_string(stage.device) + ": " + number(stage.compute) + " " +
            number(stage.in) + " " + number(stage.out) + " " + number(stage.load) + " " +
            number(stage.parameter_bytes) + " " + number(stage.activation_bytes);
  }
  for (const std::string& note : result->notes) text += "; " + note;
  return text;
}

TEST_CASE("whole runs with each model of transfers give the stages recorded") {
  constexpr Kind kShort = {.items = 30, .reach = 4, .memory = 60, .devices = 3};
  CHECK(run_text(kShort, {.comm = CommModel::serial, .has_shared = true}) ==
        "53 9a1815ab bound 53 ideals enough 3 | 0: 51 0 0.75 51.75 29 5 | 0: 51 0.75 1.25 53 30 15 "
        "| 0: 50 1.25 0 51.25 25 10");
  CHECK(run_text(kShort, {.comm = CommModel::overlap, .has_shared = true}) ==
        "51 9a1815ab bound 51 ideals enough 3 | 0: 51 0 0.75 51 29 5 | 0: 51 0.75 1.25 51 30 15 | "
        "0: 50 1.25 0 50 25 10");
  CHECK(run_text(kShort, {.comm = CommModel::duplex, .colours = 2}) ==
        "65 2207c751 bound 65 path-mincut enough 3 | 0: 64 0 6.5 64 23 12 | 0: 65 3.25 1 65 29 16 "
        "| 0: 23 5.75 0 23 8 12");
  CHECK(run_text(kShort, {.comm = CommModel::none, .is_exact = true}) ==
        "51 3c187e86 bound 51 ideals enough 3 | 0: 50 0 5.75 50 20 10 | 0: 51 5.75 4.25 51 19 16 | "
        "0: 51 4.25 0 51 21 12");
  CHECK(run_text(kMixed, {.comm = CommModel::overlap, .has_shared = true, .colours = 3}) ==
        "40.5 1dcdd9a0 bound 40.5 ideals enough 4 | 0: 18 0 2.5 18 9 6 | 0: 19 0 2.75 19 8 5 | 2: "
        "40.5 0 0 40.5 78 21 | 1: 19.5 1.875 0 19.5 28 17");
  CHECK(run_text(kMixed, {.comm = CommModel::duplex, .in_order = true}) ==
        "42 94e0c79c bound 42 ideals enough 4 | 0: 17 0 3.25 17 8 4 | 0: 17 0 1.75 17 7 4 | 1: 18 "
        "1.25 2.75 18 11 14 | 2: 42 0 0 42 69 27");
  CHECK(run_text(kMixed, {.in_order = true, .is_exact = true}) ==
        "42 496b1fb3 bound 42 ideals enough 4 | 0: 17 0 2.5 19.5 4 7 | 0: 18 0 1.5 19.5 10 7 | 1: "
        "17.5 0 2.375 19.875 12 6 | 2: 42 0 0 42 69 27");
}

TEST_CASE("whole runs on several targets, or for a target time, give the stages recorded") {
  constexpr Kind kTwo = {.items = 24, .reach = 3, .devices = 1, .is_mixed = true};
  CHECK(run_text(kTwo, {.in_order = true, .has_targets = true}) ==
        "22 d20160f4 bound 22 ideals enough 3 | 0: 20 0 2 22 4 5 | 1: 16.5 0.5 0.75 17.75 8 13 | "
        "2: 21.75 0 0 21.75 38 23");
  CHECK(run_text(kTwo, {.comm = CommModel::duplex, .has_targets = true, .colours = 2}) ==
        "25.25 669bffb5 bound 25.25 ideals enough 3 | 1: 9 0 1.5 9 3 7 | 2: 25.25 0 0 25.25 43 18 "
        "| 0: 16 2.25 0 16 4 4");
  CHECK(
      run_text(
          kTwo,
          {.comm = CommModel::overlap, .in_order = true, .is_exact = true, .has_targets = true}) ==
      "21 1a3740e4 bound 21 ideals enough 3 | 0: 20 0 2 20 4 5 | 1: 19 1 1.25 19 9 16 | 2: 21 0 0 "
      "21 37 22");
  constexpr Kind kMany = {.items = 30, .reach = 4, .devices = 8};
  CHECK(run_text(kMany, {.target = 60}) ==
        "53 9a1815ab bound 53 ideals enough 3 | 0: 51 0 0.75 51.75 20 5 | 0: 51 0.75 1.25 53 21 15 "
        "| 0: 50 1.25 0 51.25 19 10; proved: fewer stages cannot reach the target");
  CHECK(run_text(kMany, {.comm = CommModel::overlap, .target = 60}) ==
        "51 9a1815ab bound 51 ideals enough 3 | 0: 51 0 0.75 51 20 5 | 0: 51 0.75 1.25 51 21 15 | "
        "0: 50 1.25 0 50 19 10; proved: fewer stages cannot reach the target");
  CHECK(run_text(kMany, {.target = 5}) ==
        "no assignment to 8 devices takes 5 or less; the best found takes 23.5, no assignment less "
        "than 23.5");
}

}  // namespace

}  // namespace cleave::balance
