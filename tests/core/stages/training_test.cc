#include "core/stages/stages.h"

#include <algorithm>

#include "tests/catch2.h"
#include "tests/core/digest.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {

namespace {

std::string gradient_text(GradientId id) {
  return id == kNone<GradientId> ? "null" : "g" + std::to_string(index(id));
}

// A line a step: "2(loss:null! a:g0!) -> g1=x g2=w", "!" at outputs that carry gradient; "a: g1 +
// g3 = g4".
std::string backward(std::string_view text, std::string_view digits, std::string_view loss,
                     Sharing sharing = Sharing::replicate) {
  const Graph graph = graph_from_text(text);
  PerNode<std::uint32_t> stage_of(graph.node_count());
  for (const NodeId node : graph.nodes()) {
    stage_of[node] = static_cast<std::uint32_t>(digits[index(node)] - '0');
  }
  const Partition partition = form_stages(graph, stage_of);
  const auto boundaries =
      find_stage_boundaries(graph, partition, {.sharing = sharing, .sharing_of = {}});
  const auto plan = plan_backward(graph, partition, boundaries->root, value_named(graph, loss));
  if (!plan) return plan.error().message;
  const auto name_of = [&](ValueId value) { return std::string(graph.value(value).name); };
  std::string out;
  for (const auto& step : plan->steps) {
    if (const auto* const sum = std::get_if<AccumulateGradient>(&step)) {
      out += name_of(sum->value) + ": " + gradient_text(sum->before) + " + " +
             gradient_text(sum->more) + " = " + gradient_text(sum->sum) + "\n";
      continue;
    }
    const auto& call = std::get<StageBackward>(step);
    out += std::to_string(index(call.stage)) + "(";
    const auto outputs = boundaries->root.outputs[call.stage];
    for (std::uint32_t i = 0; i < outputs.size(); ++i) {
      const auto& with = call.outputs_with_gradients;
      const bool carries = std::find(with.begin(), with.end(), i) != with.end();
      out += (i == 0 ? "" : " ") + name_of(outputs[i]) + ":" +
             gradient_text(call.output_gradients[i]) + (carries ? "!" : "");
    }
    out += ") ->";
    const auto inputs = boundaries->root.inputs[call.stage];
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto id = id_at<GradientId>(index(call.first) + i);
      CHECK(plan->value_of[index(id)] == inputs[i]);
      out += " " + gradient_text(id) + "=" + name_of(inputs[i]);
    }
    out += "\n";
  }
  return out;
}

TEST_CASE("A chain of stages is called backwards from the loss, whose own gradient is null") {
  CHECK(backward("input x\n a = f(x)\n b = f(a)\n loss = f(b)\n output loss", "012", "loss") ==
        "2(loss:null!) -> g0=b\n1(b:g0!) -> g1=a\n0(a:g1!) -> g2=x\n");
}

TEST_CASE("Gradients of a value that several stages read are added") {
  CHECK(backward("input x\n a = f(x)\n b = f(a)\n loss = f(b, a)\n output loss", "012", "loss") ==
        "2(loss:null!) -> g0=b g1=a\n1(b:g0!) -> g2=a\na: g1 + g2 = g3\n0(a:g3!) -> g4=x\n");
}

TEST_CASE("Gradients of a graph input are not added") {
  CHECK(backward("input x\n a = f(x)\n loss = f(a, x)\n output loss", "01", "loss") ==
        "1(loss:null!) -> g0=a g1=x\n0(a:g0!) -> g2=x\n");
}

TEST_CASE("Stages and outputs that the loss does not depend on carry no gradient") {
  CHECK(backward(R"(
    input x
    a = f(x)
    p = f(x)
    b = f(p)
    loss = f(a)
    c = f(b, loss)
    output loss, c)",
                 "00123", "loss") == "2(loss:null!) -> g0=a\n0(p:null a:g0!) -> g1=x\n");
}

TEST_CASE("A stage is called backwards as a whole: all its inputs get a gradient") {
  CHECK(backward("input x\n a = f(x)\n b = f(x)\n loss = f(a)\n c = f(b)\n output loss, c", "0011",
                 "loss") == "1(loss:null! c:null) -> g0=a g1=b\n0(a:g0! b:g1!) -> g2=x\n");
}

TEST_CASE("A transmitted parameter gets the sum of its readers' gradients") {
  CHECK(backward("input x\n param w\n a = f(x, w)\n b = f(a, w)\n loss = f(b, w)\n output loss",
                 "012", "loss", Sharing::transmit) ==
        "2(loss:null!) -> g0=b g1=w\n1(b:g0!) -> g2=a g3=w\nw: g1 + g3 = g4\n"
        "0(a:g2! w:g4!) -> g5=x\n");
}

TEST_CASE("A loss that no stage computes is refused") {
  CHECK(backward("input x\n a = f(x)\n output a, x", "0", "x") ==
        "the loss \"x\" is an input of the model: no stage computes it");
  CHECK(backward("input x\n param w\n a = f(x)\n output a, w", "0", "w") ==
        "the loss \"w\" is a parameter: no stage computes it");
}

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

std::string refusal_of(ScheduleKind kind, std::uint32_t stages, std::uint32_t ranks,
                       std::uint32_t microbatches) {
  const ScheduleInput input{std::vector<StageCost>(stages, {1, 2}), ranks, microbatches};
  const auto made = make_schedule(kind, input);
  return made ? "" : made.error().message;
}

TEST_CASE("A schedule that cannot be is refused with its name and what it takes") {
  using enum ScheduleKind;
  CHECK(refusal_of(gpipe, 3, 2, 4) ==
        "gpipe: 3 stages on 2 ranks: each rank must have as many stages as the others");
  CHECK(refusal_of(gpipe, 3, 0, 4) ==
        "gpipe: 3 stages on 0 ranks: each rank must have as many stages as the others");
  CHECK(refusal_of(gpipe, 0, 2, 4) ==
        "gpipe: 0 stages on 2 ranks: each rank must have as many stages as the others");
  CHECK(refusal_of(one_f_one_b, 4, 2, 4) == "1f1b: 4 stages on 2 ranks: it takes one stage a rank");
  CHECK(refusal_of(zero_bubble, 4, 2, 4) ==
        "zero-bubble: 4 stages on 2 ranks: it takes one stage a rank");
  CHECK(refusal_of(interleaved, 2, 2, 4) ==
        "interleaved: 2 stages on 2 ranks: it takes two or more stages a rank");
  CHECK(refusal_of(interleaved, 4, 2, 5) ==
        "interleaved: 5 microbatches do not divide into 2 rounds: take a multiple of 2");
  CHECK(refusal_of(interleaved, 4, 2, 3).empty());  // one round
  CHECK(refusal_of(interleaved, 4, 2, 1).empty());
  CHECK(refusal_of(gpipe, 4, 2, 1).empty());
}

TEST_CASE("A schedule has at most a million passes of a kind") {
  CHECK(refusal_of(ScheduleKind::gpipe, 10, 10, 100'000).empty());
  CHECK(refusal_of(ScheduleKind::gpipe, 10, 10, 100'001) ==
        "gpipe: 10 stages with 100001 microbatches are 1000010 forward passes, and a schedule has "
        "at most 1000000");
}

TEST_CASE("Schedules are written with a line a rank") {
  const auto csv = [](ScheduleKind kind, std::uint32_t stages) {
    const ScheduleInput input{std::vector<StageCost>(stages, {1, 2}), 2, 2};
    const auto made = make_schedule(kind, input);
    return made ? schedule_csv(*made) : made.error().message;
  };
  CHECK(csv(ScheduleKind::gpipe, 2) == "0F0,0F1,0B0,0B1\n1F0,1F1,1B0,1B1\n");
  CHECK(csv(ScheduleKind::one_f_one_b, 2) == "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n");
  CHECK(csv(ScheduleKind::zero_bubble, 2) == "0F0,0F1,0I0,0W0,0I1,0W1\n1F0,1I0,1F1,1I1,1W0,1W1\n");
  CHECK(csv(ScheduleKind::interleaved, 4) ==
        "0F0,0F1,2F0,2F1,2B0,2B1,0B0,0B1\n1F0,1F1,3F0,3B0,3F1,3B1,1B0,1B1\n");
}

TEST_CASE(
    "A rank holds its stages and an activation for each pass that is not yet computed backwards") {
  ScheduleInput input{{}, 2, 3};
  for (int stage = 0; stage < 2; ++stage) {
    input.stages.push_back({.forward = 1,
                            .backward = 2,
                            .transfer = 0.5,
                            .held_bytes = 100.0 * (stage + 1),
                            .activation_bytes = 7.0 + stage});
  }
  const auto gpipe = make_schedule(ScheduleKind::gpipe, input);
  REQUIRE(gpipe);
  CHECK(gpipe->peak_bytes == std::vector<std::optional<double>>{100 + 3 * 7, 200 + 3 * 8});
  CHECK(gpipe->most_bytes() == 224);
  const auto mixed = make_schedule(ScheduleKind::one_f_one_b, input);
  REQUIRE(mixed);
  CHECK(mixed->peak_bytes == std::vector<std::optional<double>>{100 + 2 * 7, 200 + 8});
  // The first pass of stage 1 begins at 1.5; it computes for 9, and stage 0 ends 2.5 later.
  CHECK(gpipe->makespan == Approx(1.5 + 9 + 2.5));
  CHECK(gpipe->bubble == Approx(1 - 18 / (2 * 13.0)));
}

// A line a rank: each work with when it begins and ends.
std::string times_text(ScheduleKind kind, const ScheduleInput& input) {
  constexpr std::string_view kLetters = "FBIW";  // by WorkKind
  const Schedule schedule = made(kind, input);
  std::string text;
  for (const auto& works : schedule.ranks) {
    for (const Work& work : works) {
      text += std::to_string(work.stage) + kLetters[static_cast<std::size_t>(work.kind)] +
              std::to_string(work.microbatch) + " " + six_digits(work.begin) + "-" +
              six_digits(work.end) + " ";
    }
    text.back() = '\n';
  }
  return text + six_digits(schedule.makespan) + " " + six_digits(schedule.bubble);
}

ScheduleInput uneven(std::uint32_t ranks, std::uint32_t microbatches) {
  return {.stages = {{1, 2, 0.5, 100.0, 10.0},
                     {2, 3, 0.25, 40.0, 4.0},
                     {1, 4, 1, 20.0, 6.0},
                     {3, 5, 8, 10.0, 2.0}},
          .ranks = ranks,
          .microbatches = microbatches};
}

TEST_CASE("Works of uneven stages wait for transfers between ranks, and for none on one rank") {
  CHECK(times_text(ScheduleKind::gpipe, uneven(1, 1)) ==
        "0F0 0-1 1F0 1-3 2F0 3-4 3F0 4-7 3B0 7-12 2B0 12-16 1B0 16-19 0B0 19-21\n"
        "21 0");
  CHECK(times_text(ScheduleKind::gpipe, uneven(2, 2)) ==
        "0F0 0-1 0F1 1-2 2F0 3.75-4.75 2F1 5.75-6.75 2B0 17.75-21.75 2B1 22.75-26.75 0B0 "
        "26.75-28.75 0B1 30.5-32.5\n"
        "1F0 1.5-3.5 1F1 3.5-5.5 3F0 5.75-8.75 3F1 8.75-11.75 3B0 11.75-16.75 3B1 16.75-21.75 1B0 "
        "22-25 1B1 27-30\n"
        "32.5 0.353846");
  CHECK(times_text(ScheduleKind::interleaved, uneven(2, 4)) ==
        "0F0 0-1 0F1 1-2 2F0 3.75-4.75 2F1 5.75-6.75 0F2 6.75-7.75 2B0 14.75-18.75 0F3 18.75-19.75 "
        "2B1 22.75-26.75 2F2 26.75-27.75 0B0 27.75-29.75 2F3 29.75-30.75 0B1 32.25-34.25 2B2 "
        "40.75-44.75 2B3 48.75-52.75 0B2 52.75-54.75 0B3 56.5-58.5\n"
        "1F0 1.5-3.5 1F1 3.5-5.5 3F0 5.75-8.75 3B0 8.75-13.75 3F1 13.75-16.75 3B1 16.75-21.75 1F2 "
        "21.75-23.75 1B0 23.75-26.75 1F3 26.75-28.75 1B1 28.75-31.75 3F2 31.75-34.75 3B2 "
        "34.75-39.75 3F3 39.75-42.75 3B3 42.75-47.75 1B2 47.75-50.75 1B3 53-56\n"
        "58.5 0.282051");
  CHECK(times_text(ScheduleKind::one_f_one_b, uneven(4, 3)) ==
        "0F0 0-1 0F1 1-2 0F2 2-3 0B0 22.5-24.5 0B1 30.5-32.5 0B2 38.5-40.5\n"
        "1F0 1.5-3.5 1F1 3.5-5.5 1F2 5.5-7.5 1B0 19-22 1B1 27-30 1B2 35-38\n"
        "2F0 3.75-4.75 2F1 5.75-6.75 2B0 14.75-18.75 2F2 18.75-19.75 2B1 22.75-26.75 2B2 "
        "30.75-34.75\n"
        "3F0 5.75-8.75 3B0 8.75-13.75 3F1 13.75-16.75 3B1 16.75-21.75 3F2 21.75-24.75 3B2 "
        "24.75-29.75\n"
        "40.5 0.611111");
  CHECK(times_text(ScheduleKind::zero_bubble, uneven(4, 3)) ==
        "0F0 0-1 0F1 1-2 0F2 2-3 0I0 16.5-17.5 0W0 17.5-18.5 0I1 22-23 0W1 23-24 0I2 27.5-28.5 0W2 "
        "28.5-29.5\n"
        "1F0 1.5-3.5 1F1 3.5-5.5 1F2 5.5-7.5 1I0 14.5-16 1W0 16-17.5 1I1 20-21.5 1W1 21.5-23 1I2 "
        "25.5-27 1W2 27-28.5\n"
        "2F0 3.75-4.75 2F1 5.75-6.75 2I0 12.25-14.25 2F2 14.25-15.25 2W0 15.25-17.25 2I1 "
        "17.75-19.75 2W1 19.75-21.75 2I2 23.25-25.25 2W2 25.25-27.25\n"
        "3F0 5.75-8.75 3I0 8.75-11.25 3F1 11.25-14.25 3I1 14.25-16.75 3F2 16.75-19.75 3I2 "
        "19.75-22.25 3W0 22.25-24.75 3W1 24.75-27.25 3W2 27.25-29.75\n"
        "29.75 0.470588");
  CHECK(made(ScheduleKind::gpipe, uneven(2, 2)).peak_bytes == Bytes{152, 62});
  CHECK(made(ScheduleKind::interleaved, uneven(2, 4)).peak_bytes == Bytes{166, 62});
  CHECK(made(ScheduleKind::zero_bubble, uneven(4, 3)).peak_bytes == Bytes{130, 52, 38, 16});
}

}  // namespace

}  // namespace cleave
