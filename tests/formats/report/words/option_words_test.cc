#include "formats/report/words/option_words.h"

#include "tests/catch2.h"

namespace cleave {
namespace {

TEST_CASE("each option is written as it is given") {
  using Kind = OptionTrial::Kind;
  const auto text = [](Kind kind) {
    return option_text({.kind = kind, .min_acc_size = 3, .most_kept = 5, .opset = 18});
  };
  CHECK(text(Kind::fold) == "--fold write");
  CHECK(text(Kind::opset) == "cleave fix --opset 18");
  CHECK(text(Kind::extend) == "--extend auto");
  CHECK(text(Kind::host_shapes) == "--host-shapes");
  CHECK(text(Kind::allow_non_tensor) == "--allow-non-tensor");
  CHECK(text(Kind::start) == "--start fewest");
  CHECK(text(Kind::min_acc_size) == "--min-acc-module-size 3");
  CHECK(text(Kind::place_by_cost) == "--place cost");
  CHECK(text(Kind::keep) == "--keep-acc-subgraphs 5");
}

// Trials of one option that gains, from one outcome to another.
OptionTrials trials_of(const Outcome& now, const Outcome& then) {
  return {now, {{.kind = OptionTrial::Kind::start, .then = then, .gains = true}}};
}

TEST_CASE("of the best option what changes is told, and nothing of what stays") {
  Outcome now;
  now.acc_subgraphs = 4;
  now.link_bytes = 2048;
  now.latency_us = 5000;
  now.nodes = {.acc = 3, .total = 10};
  now.flops = {{.acc = 1, .total = 4}};
  CHECK(best_option_text(trials_of(now, now)) == "--start fewest");
  Outcome then = now;
  then.latency_us = 4000;
  CHECK(best_option_text(trials_of(now, then)) ==
        "--start fewest gives a latency of 4 ms instead of 5 ms");
  then.acc_subgraphs = 1;
  then.flops.acc = 2;
  then.link_bytes = 1024;
  CHECK(best_option_text(trials_of(now, then)) ==
        "--start fewest gives a latency of 4 ms instead of 5 ms, 1 accelerator partition instead "
        "of 4, 50% of the work on the accelerator instead of 25%, 1 KiB over the link instead of "
        "2 KiB");
  // Numbers that are not known on either side are not compared.
  then.unknown_latencies = 1;
  then.unknown_bytes = 1;
  then.flops.total = 0;
  then.nodes.acc = 6;
  CHECK(best_option_text(trials_of(now, then)) ==
        "--start fewest gives 1 accelerator partition instead of 4, 60% of the nodes on the "
        "accelerator instead of 30%");
  then = now;
  then.acc_subgraphs = 5;
  now.unknown_latencies = now.unknown_bytes = 1;
  then.latency_us = 1;
  then.link_bytes = 1;
  CHECK(best_option_text(trials_of(now, then)) ==
        "--start fewest gives 5 accelerator partitions instead of 4");
}

TEST_CASE("where no option gains there is no text") {
  OptionTrials trials = trials_of({}, {});
  trials.trials.front().gains = false;
  CHECK(best_option_text(trials).empty());
  CHECK(best_option_text({}).empty());
}

}  // namespace
}  // namespace cleave
