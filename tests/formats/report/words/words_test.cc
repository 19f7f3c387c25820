#include "formats/report/words/words.h"
#include "formats/base/text.h"
#include "tests/catch2.h"

namespace cleave {

// ---- open size words test ----

namespace {

OpenSizes sizes_of_two() {
  OpenSizes sizes;
  sizes.names = {"N", "H"};
  sizes.grid = {.first = {1, 32}, .step = {1, 8}};
  return sizes;
}

using Terms = std::vector<Polynomial::Term>;

std::string text_of(const Terms& terms, const OpenSizes& sizes = sizes_of_two()) {
  return open_flops_text(sizes, {.at_first = 5e6, .exact = Polynomial{terms}});
}

TEST_CASE("open FLOPs are a sum of products of sizes, with each size as often as its power") {
  CHECK(text_of({{2000, {1, 0}}}) == "2 kFLOP x N");
  CHECK(text_of({{2000, {1, 2}}, {300, {0, 1}}, {7, {0, 0}}}) ==
        "2 kFLOP x N x H x H + 300 FLOP x H + 7 FLOP");
  CHECK(text_of({{-2000, {1, 0}}, {-300, {0, 1}}}) == "-2 kFLOP x N - 300 FLOP x H");
  CHECK(text_of({}) == "0 FLOP");
  OpenSizes pinned = sizes_of_two();
  pinned.pinned = {{"C", 3}, {"D", 4}};
  CHECK(text_of({{2000, {1, 0}}}, pinned) == "2 kFLOP x N at C=3, D=4");
}

TEST_CASE(
    "where a product is none, too long, or of small fractions, FLOPs are at the first sizes") {
  const std::string at_first = "5 MFLOP at N=1, H=32";
  CHECK(open_flops_text(sizes_of_two(), {.at_first = 5e6}) == at_first);
  const Polynomial::Term term{200, {1, 0}};
  CHECK(text_of({term, term, term}) != at_first);
  CHECK(text_of({term, term, term, term}) == at_first);
  CHECK(text_of({{99.5, {1, 0}}}) == at_first);
  CHECK(text_of({{-99.5, {1, 0}}}) == at_first);
  CHECK(text_of({{100.5, {1, 0}}}) != at_first);
  CHECK(text_of({{99, {1, 0}}}) == "99 FLOP x N");
  CHECK(open_flops_text(sizes_of_two(), {.at_first = 5e6, .is_partial = true}) ==
        "at least " + at_first);
  OpenSizes pinned = sizes_of_two();
  pinned.pinned = {{"C", 3}};
  CHECK(first_sizes_text(pinned) == "C=3, N=1, H=32");
}

TEST_CASE("cells of tables have one product, or a number that is marked") {
  const OpenSizes sizes = sizes_of_two();
  OpenNumber number{.at_first = 4096, .exact = Polynomial{{{2048, {0, 1}}}}};
  CHECK(open_flops_cell(number, sizes) == "2.05 kFLOP x H");
  CHECK(open_bytes_cell(number, sizes) == "2 KiB x H");
  number.is_partial = true;
  CHECK(open_bytes_cell(number, sizes) == "2 KiB x H+");
  number.exact->terms.push_back({1024, {0, 0}});
  CHECK(open_bytes_cell(number, sizes) == "4 KiB @+");
  number.is_partial = false;
  CHECK(open_bytes_cell(number, sizes) == "4 KiB @");
  number.exact = std::nullopt;
  CHECK(open_flops_cell(number, sizes) == "4.1 kFLOP @");
}

TEST_CASE("sizes in steps are told where the products hold for these only") {
  OpenSizes sizes = sizes_of_two();
  CHECK(steps_text(sizes).empty());
  sizes.is_for_steps = true;
  CHECK(steps_text(sizes) == "H in steps of 8");
  sizes.grid.step[0] = 2;
  CHECK(steps_text(sizes) == "N in steps of 2, H in steps of 8");
}

TEST_CASE("open numbers and dims in JSON have what is known") {
  OpenSizes sizes = sizes_of_two();
  sizes.pinned = {{"C", 3}};
  const OpenNumber exact{.at_first = 7, .exact = Polynomial{{{2, {1, 0}}}}};
  const OpenNumber partial{.at_first = 7, .is_partial = true};
  CHECK(json_text(kOpenNumberFields, {&sizes, &exact})
            .find("\"at_first\": 7, \"is_partial\": false}") != std::string::npos);
  CHECK(json_text(kOpenNumberFields, {&sizes, &partial}) ==
        "{\"expression\": null, \"at_first\": 7, \"is_partial\": true}\n");
  CHECK(json_text(kOpenSizesFields, sizes).starts_with(R"({
 "dims": {
  "N": {"first": 1, "step": 1},
  "H": {"first": 32, "step": 8},
  "C": {"first": 3, "step": 0}
 },
 "is_for_steps": false,
)"));
}

}  // namespace

// ---- option words test ----

namespace {

TEST_CASE("each option is written as it is given") {
  using Kind = OptionTrial::Kind;
  const auto text = [](Kind kind) {
    return option_text({.kind = kind, .min_acc_size = 3, .most_kept = 5, .opset = 18});
  };
  CHECK(text(Kind::fold) == "--fold write");
  CHECK(text(Kind::opset) == "cleave convert --opset 18");
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

// ---- page test ----

TEST_CASE("facts have their labels in one column and their texts in another, on one line") {
  Page page;
  page.fact("link", "gen4x16", 9);
  const std::string xs(60, 'x'), ys(60, 'y');
  page.fact("a label", xs + " " + ys, 9);
  page.fact("a longer label", "text", 9);
  page.counted_fact(7, "seven", 5);
  page.counted_fact(1200, "many", 5);
  CHECK(page.take() == "link     gen4x16\na label  " + xs + " " + ys +
                           "\na longer label  text\n      7  seven\n  1,200  many\n");
}

TEST_CASE("a report is shown as it is where there is no terminal, and in colour if asked for") {
  const std::string report =
      "m: half\nworth it: NO: worth it: YES\n\n"
      "partition  on   nodes\n_run_cpu   CPU      1\nFAILED:    acc      2\n\n"
      "_run_cpu   CPU  FAIL  \n  FAIL  nodes  2\n  ok    bytes  FAIL  x\n";
  CHECK(shown_on(report, {}) == report);
  const std::string red = "\x1b[31m", green = "\x1b[32m", yellow = "\x1b[33m", no = "\x1b[0m";
  CHECK(shown_on(report, {.has_colour = true}) ==
        "m: half\nworth it: " + red + "NO" + no + ": worth it: YES\n\n" +
            "partition  on   nodes\n_run_cpu   " + yellow + "CPU" + no +
            "      1\nFAILED:    " + green + "acc" + no + "      2\n\n_run_cpu   CPU  FAIL  \n  " +
            red + "FAIL" + no + "  nodes  2\n  " + green + "ok" + no + "    bytes  FAIL  x\n");
}

TEST_CASE("explain shows the side of a node in colour") {
  CHECK(shown_on("  in:   a(x) (CPU)\n  in:   b (npu)\n", {.has_colour = true}) ==
        "  in:   a(x) (\x1b[33mCPU\x1b[0m)\n  in:   b (\x1b[32mnpu\x1b[0m)\n");
}

TEST_CASE("a conclusion stands at the end as well if the report is longer than the terminal") {
  const std::string conclusion = "FAILED: 1 of 2 gates fails\n";
  const std::string report = conclusion + "\none\ntwo\nthree\n";
  CHECK(shown_on(report, {.columns = 80, .rows = 6}) == report);
  CHECK(shown_on(report, {.columns = 80, .rows = 5}) == report + "\n" + conclusion);
  CHECK(shown_on(report, {}) == report);
  const std::string plain = "no verdict\n\nFAILED: not here\n";
  CHECK(shown_on(plain, {.columns = 80, .rows = 2}) == plain);
  CHECK(shown_on(report, {.columns = 12, .rows = 50})
            .starts_with("FAILED: 1 of\n  2 gates\n  fails\n"));
}

TEST_CASE("a table that is wider than the terminal is shown in parts, each with the first column") {
  const std::string report =
      "partition  on   nodes  work\n_run_cpu   CPU      1   2 F\n      a note\n"
      "_run_acc   acc     20  30 F\n@: at N=1\n\nno  table\n";
  CHECK(shown_on(report, {}) == report);
  CHECK(shown_on(report, {.columns = 27, .rows = 50}) == report);
  CHECK(shown_on(report, {.columns = 22, .rows = 50}) ==
        "partition  on   nodes\n_run_cpu   CPU      1\n      a note\n_run_acc   acc     20\n\n"
        "partition  work\n_run_cpu    2 F\n_run_acc   30 F\n@: at N=1\n\nno  table\n");
  CHECK(shown_on(report, {.columns = 16, .rows = 50}) ==
        "partition  on\n_run_cpu   CPU\n      a note\n_run_acc   acc\n\n"
        "partition  nodes\n_run_cpu       1\n_run_acc      20\n\n"
        "partition  work\n_run_cpu    2 F\n_run_acc   30 F\n@: at N=1\n\nno  table\n");
}

TEST_CASE("a table has notes below its rows, cut to the columns that they may take") {
  TextTable table({"op", "nodes"}, {Align::left, Align::right});
  table.add_row({"Conv", "3"});
  table.add_row({"Relu", "2"});
  Page page;
  page.table(table, {"", "wants float32", ""}, 10);
  CHECK(page.take() == "\nop    nodes\nConv      3\n      wants f...\nRelu      2\n");
}

TEST_CASE("what a list leaves out is a line of its own, if there is any") {
  CappedList list(1);
  Page page;
  list.shows_next();
  page.rest(list, "... and # more op", "... and # more ops");
  CHECK(page.take().empty());
  list.shows_next();
  page.heading("ops");
  page.line("Conv", 2);
  page.rest(list, "... and # more op", "... and # more ops");
  CHECK(page.take() == "\nops\n  Conv\n... and 1 more op\n");
}

// ---- progress text test ----

namespace {

constexpr std::uint64_t kMiB = 1U << 20U;

TEST_CASE("a progress line has a bar, the share, amounts, the rate and the time left") {
  CHECK(progress_line({"reading", "bytes", 52 * kMiB, 208 * kMiB}, "m.json", 1, 100) ==
        "reading m.json [#####...............] 25%, 52 MiB of 208 MiB, 52 MiB/s, 3 s left");
  CHECK(progress_line({"trying gaps", "splits", 30, 40}, "", 1.5, 100) ==
        "trying gaps [###############.....] 75%, 30 of 40 splits, 20/s, 1 s left");
}

TEST_CASE("a slow rate is given per minute") {
  CHECK(progress_line({"trying gaps", "splits", 2, 40}, "", 10, 100) ==
        "trying gaps [#...................] 5%, 2 of 40 splits, 12 a minute, 3 min 10 s left");
}

TEST_CASE("there is no rate before anything is done, and never more than 100%") {
  CHECK(progress_line({"splitting", "passes", 0, 9}, "m", 1, 100) ==
        "splitting m [....................] 0%, 0 of 9 passes");
  CHECK(progress_line({"writing", "bytes", 3000, 2000}, "", 1, 100) ==
        "writing [####################] 100%, 2.93 KiB of 1.95 KiB, 2.93 KiB/s, 0 s left");
  CHECK(progress_line({"writing", "bytes", 0, 0}, "", 1, 100) ==
        "writing [....................] 0%, 0 B of 0 B");
}

TEST_CASE("a progress line fits the terminal") {
  const WorkDone work{"reading", "bytes", 52 * kMiB, 208 * kMiB};
  CHECK(progress_line(work, "m.json", 1, 70) ==
        "reading m.json [##........] 25%, 52 MiB of 208 MiB, 52 MiB/s, 3 s left");
  CHECK(progress_line(work, "m.json", 1, 62) ==
        "reading m.json 25%, 52 MiB of 208 MiB, 52 MiB/s, 3 s left");
  const std::string name(200, 'x');
  for (std::size_t columns = 4; columns < 120; ++columns) {
    CHECK(text_columns(progress_line(work, name, 1, columns)) <= columns);
  }
}

TEST_CASE("a line for a log says what is done, and since when") {
  CHECK(log_line({"round 1, compile", "partitions", 2, 17}, "m.onnx", 90) ==
        "round 1, compile m.onnx: 2 of 17 partitions, 1 min 30 s so far");
  CHECK(log_line({"", "", 0, 0}, "m\n.onnx", 30) == "starting m\\x0A.onnx, 30 s so far");
}

TEST_CASE("a file's name cannot write to the terminal") {
  const std::string line = progress_line({"reading", "bytes", 1, 2}, "a\x1b[2J\n.json", 1, 100);
  CHECK(line.find('\x1b') == std::string::npos);
  CHECK(line.find('\n') == std::string::npos);
}

TEST_CASE("the time left is given in the two largest units") {
  CHECK(time_left_text(0) == "0 s");
  CHECK(time_left_text(2.1) == "3 s");
  CHECK(time_left_text(59.5) == "1 min 0 s");
  CHECK(time_left_text(3599) == "59 min 59 s");
  CHECK(time_left_text(7500) == "2 h 5 min");
  CHECK(time_left_text(1e300) == "277,777 h 46 min");
}

TEST_CASE("the bar takes the columns that are left, from 8 to 20, and none where there are fewer") {
  const WorkDone work{"reading", "bytes", 52 * kMiB, 208 * kMiB};
  // 15 columns of the task with a blank, 2 brackets and a blank, 44 of the numbers.
  const std::string numbers = "25%, 52 MiB of 208 MiB, 52 MiB/s, 3 s left";
  const std::size_t others = std::string("reading m.json [] ").size() + numbers.size();
  const auto line = [&](std::size_t columns) { return progress_line(work, "m.json", 1, columns); };
  CHECK(line(others + 8) == "reading m.json [##......] " + numbers);
  CHECK(line(others + 7) == "reading m.json " + numbers);
  CHECK(line(others + 20) == "reading m.json [#####...............] " + numbers);
  CHECK(line(others + 21) == line(others + 20));
  CHECK(line(3).size() <= 4);
}

TEST_CASE("a rate below ten a second is one per minute, but of bytes") {
  const auto rate = [](std::uint64_t done, double seconds, const char* unit) {
    const std::string line = progress_line({"t", unit, done, 1000}, "", seconds, 200);
    const std::size_t at = line.find(unit == std::string("bytes") ? "B, " : "s, ") + 3;
    return line.substr(at, line.find(", ", at) - at);
  };
  CHECK(rate(100, 10, "splits") == "10/s");
  CHECK(rate(99, 10, "splits") == "594 a minute");
  CHECK(rate(50, 10, "bytes") == "5 B/s");
  CHECK(progress_line({"t", "splits", 1, 2}, "", 0, 100) ==
        "t [##########..........] 50%, 1 of 2 splits");
}

TEST_CASE("a line for a log has amounts where there is an end, in their unit") {
  CHECK(log_line({"write", "bytes", kMiB, 3 * kMiB}, "", 1) == "write: 1 MiB of 3 MiB, 1 s so far");
  CHECK(log_line({"write", "bytes", 1, 0}, "m", 1) == "write m, 1 s so far");
}

TEST_CASE("a time left is counted up to seconds, and has minutes and hours from one on") {
  CHECK(time_left_text(-5) == "0 s");
  CHECK(time_left_text(0.01) == "1 s");
  CHECK(time_left_text(59) == "59 s");
  CHECK(time_left_text(60) == "1 min 0 s");
  CHECK(time_left_text(61) == "1 min 1 s");
  CHECK(time_left_text(3600) == "1 h 0 min");
  CHECK(time_left_text(3660) == "1 h 1 min");
}

}  // namespace

}  // namespace cleave
