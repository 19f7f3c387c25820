#include "core/stages/pipeline_schedule.h"

#include <algorithm>

#include "tests/catch2.h"

namespace cleave {
namespace {

// Stages that take 1 forward and 2 backward, hold 100 bytes and 10 for each microbatch.
ScheduleInput even(std::uint32_t stages, std::uint32_t ranks, std::uint32_t microbatches,
                   double transfer = 0) {
  ScheduleInput input{.stages = {}, .ranks = ranks, .microbatches = microbatches};
  input.stages.assign(stages, {1, 2, transfer, 100.0, 10.0});
  return input;
}

using Bytes = std::vector<std::optional<double>>;

Schedule made(ScheduleKind kind, const ScheduleInput& input) {
  auto schedule = make_schedule(kind, input);
  REQUIRE(schedule);
  return *std::move(schedule);
}

std::string refused(ScheduleKind kind, const ScheduleInput& input) {
  const auto schedule = make_schedule(kind, input);
  return schedule ? "made" : schedule.error().message;
}

// Every work once, nothing before what it needs, nothing twice at a time on a rank.
void check_sound(const Schedule& schedule, const ScheduleInput& input) {
  const auto stages = input.stages.size();
  std::vector<std::vector<double>> forward(stages), backward(stages);
  for (auto* ends : {&forward, &backward}) {
    for (auto& of_stage : *ends) of_stage.assign(input.microbatches, -1);
  }
  for (const auto& works : schedule.ranks) {
    double free = 0;
    for (const Work& work : works) {
      CHECK(work.begin >= free);
      free = work.end;
      if (work.kind == WorkKind::weight_gradient) continue;
      auto& ends = work.kind == WorkKind::forward ? forward : backward;
      CHECK(ends[work.stage][work.microbatch] < 0);
      ends[work.stage][work.microbatch] = work.end;
    }
  }
  for (const auto& works : schedule.ranks) {
    for (const Work& work : works) {
      const std::uint32_t s = work.stage, m = work.microbatch;
      if (work.kind == WorkKind::forward) {
        if (s > 0) CHECK(work.begin >= forward[s - 1][m]);
        continue;
      }
      CHECK(work.begin >= forward[s][m]);
      if (work.kind == WorkKind::weight_gradient) {
        CHECK(work.begin >= backward[s][m]);
      } else if (s + 1 < stages) {
        CHECK(work.begin >= backward[s + 1][m]);
      }
    }
  }
  for (const auto& ends : forward) CHECK(std::find(ends.begin(), ends.end(), -1.0) == ends.end());
  for (const auto& ends : backward) CHECK(std::find(ends.begin(), ends.end(), -1.0) == ends.end());
}

TEST_CASE("gpipe and 1f1b leave the same bubble, and 1f1b holds fewer activations") {
  const ScheduleInput input = even(4, 4, 8);
  const Schedule gpipe = made(ScheduleKind::gpipe, input);
  const Schedule one = made(ScheduleKind::one_f_one_b, input);
  // (ranks - 1) / (microbatches + ranks - 1)
  CHECK(gpipe.bubble == Approx(3.0 / 11));
  CHECK(one.bubble == Approx(3.0 / 11));
  CHECK(gpipe.makespan == 33);
  CHECK(gpipe.peak_bytes == Bytes{180, 180, 180, 180});
  CHECK(one.peak_bytes == Bytes{140, 130, 120, 110});
  CHECK(schedule_csv(made(ScheduleKind::one_f_one_b, even(2, 2, 3))) ==
        "0F0,0F1,0B0,0F2,0B1,0B2\n1F0,1B0,1F1,1B1,1F2,1B2\n");
}

TEST_CASE("Interleaved stages divide the bubble by the stages of a rank") {
  const Schedule schedule = made(ScheduleKind::interleaved, even(8, 4, 8));
  CHECK(schedule.bubble == Approx(3.0 / (2 * 8 + 3)));
  CHECK(schedule_csv(made(ScheduleKind::interleaved, even(4, 2, 2))) ==
        "0F0,0F1,2F0,2F1,2B0,2B1,0B0,0B1\n1F0,1F1,3F0,3B0,3F1,3B1,1B0,1B1\n");
}

TEST_CASE("In zero_bubble gradients for weights fill the bubble, with the memory of 1f1b") {
  const ScheduleInput input = even(4, 4, 8);
  const Schedule schedule = made(ScheduleKind::zero_bubble, input);
  CHECK(schedule.bubble == Approx(1.0 / 9));
  CHECK(schedule.most_bytes() == made(ScheduleKind::one_f_one_b, input).most_bytes());
}

TEST_CASE("Every schedule computes each pass once, after what it needs") {
  for (const double transfer : {0.0, 0.75}) {
    for (const std::uint32_t microbatches : {1U, 2U, 4U, 8U}) {
      check_sound(made(ScheduleKind::gpipe, even(4, 2, microbatches, transfer)),
                  even(4, 2, microbatches));
      check_sound(made(ScheduleKind::one_f_one_b, even(4, 4, microbatches, transfer)),
                  even(4, 4, microbatches));
      check_sound(made(ScheduleKind::interleaved, even(8, 4, microbatches, transfer)),
                  even(8, 4, microbatches));
      check_sound(made(ScheduleKind::zero_bubble, even(4, 4, microbatches, transfer)),
                  even(4, 4, microbatches));
    }
  }
}

TEST_CASE("Only the rank with a stage of unknown bytes has no known peak") {
  ScheduleInput input = even(4, 2, 2);
  input.stages[1].activation_bytes.reset();
  const Schedule schedule = made(ScheduleKind::gpipe, input);
  CHECK(schedule.peak_bytes == Bytes{240, std::nullopt});
  CHECK_FALSE(schedule.most_bytes());
  input = even(2, 2, 2);
  input.stages[0].held_bytes.reset();
  CHECK(made(ScheduleKind::one_f_one_b, input).peak_bytes == Bytes{std::nullopt, 110});
}

TEST_CASE("Numbers that a schedule cannot have are refused") {
  CHECK(refused(ScheduleKind::gpipe, even(1001, 1001, 1000)) ==
        "gpipe: 1001 stages with 1000 microbatches are 1001000 forward passes, and a schedule has "
        "at most 1000000");
  CHECK(refused(ScheduleKind::gpipe, even(3, 2, 4)) ==
        "gpipe: 3 stages on 2 ranks: each rank must have as many stages as the others");
  CHECK(refused(ScheduleKind::one_f_one_b, even(4, 2, 4)) ==
        "1f1b: 4 stages on 2 ranks: it takes one stage a rank");
  CHECK(refused(ScheduleKind::interleaved, even(2, 2, 4)) ==
        "interleaved: 2 stages on 2 ranks: it takes two or more stages a rank");
  CHECK(refused(ScheduleKind::interleaved, even(8, 4, 9)) ==
        "interleaved: 9 microbatches do not divide into 2 rounds: take a multiple of 4");
}

}  // namespace
}  // namespace cleave
