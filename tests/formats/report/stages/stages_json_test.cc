#include "formats/report/stages/stages_report.h"

#include "tests/catch2.h"

namespace cleave {

namespace {

// Two schedules of two stages and two microbatches; the second is the chosen and the faster one.
ScheduleReport report_of() {
  ScheduleReport report{.stage_names = {"first", "a<b"}, .microbatches = 2, .chosen = 1, .best = 1};
  Schedule slow, fast;
  slow.kind = ScheduleKind::gpipe;
  slow.makespan = 4000;
  slow.bubble = 0.5;
  slow.ranks.resize(3);
  slow.peak_bytes = {2048, 4096, 1024};
  fast.kind = ScheduleKind::one_f_one_b;
  fast.makespan = 2000;
  fast.bubble = 0.25;
  fast.ranks = {{{WorkKind::forward, 0, 0, 0, 500}, {WorkKind::weight_gradient, 0, 1, 1990, 2000}},
                {{WorkKind::backward, 1, 0, 1000, 1500}}};
  fast.peak_bytes = {1024, std::nullopt};
  report.schedules = {slow, fast};
  return report;
}

TEST_CASE("each schedule is a row, the chosen one marked") {
  ScheduleReport report = report_of();
  report.caveats = {"a caveat"};
  CHECK(schedule_text(report) ==
        "\nschedules of 2 microbatches, * is written; fastest: 1f1b\n"
        "schedule  ranks  bubble  a batch  microbatches/s  fullest rank\n"
        "gpipe         3     50%     4 ms             500         4 KiB\n"
        "1f1b *        2     25%     2 ms           1,000             ?\n"
        "a caveat\n");
  report.microbatches = 1;
  CHECK(schedule_text(report).starts_with("\nschedules of 1 microbatch, "));
  report.has_times = false;
  CHECK(schedule_table(report).text().text() ==
        "schedule  ranks  bubble  a batch  microbatches/s  fullest rank\n"
        "gpipe         3       ?        ?               ?         4 KiB\n"
        "1f1b *        2       ?        ?               ?             ?\n");
  report = report_of();
  report.schedules[0].makespan = 0;
  CHECK(schedule_table(report).text().text().find("gpipe         3       ?     0 ns") !=
        std::string::npos);
}

TEST_CASE("the fastest schedule is told with the memory that it must fit") {
  ScheduleReport report = report_of();
  CHECK(best_schedule_line(report) == "fastest: 1f1b");
  report.memory = 8192;
  CHECK(best_schedule_line(report) == "fastest that fits into 8 KiB a rank: 1f1b");
  report.best = std::nullopt;
  CHECK(best_schedule_line(report) == "no schedule is known to fit into 8 KiB a rank");
  report.schedules.pop_back();
  report.chosen = 0;
  CHECK(best_schedule_line(report) == "no schedule fits into 8 KiB a rank");
  report.has_times = false;
  CHECK(best_schedule_line(report) == "which is fastest is not known");
}

TEST_CASE("a schedule in JSON has rates and bytes where they are known") {
  ScheduleReport report = report_of();
  CHECK(json_text(kScheduleFields, report) ==
        "{\n \"name\": \"1f1b\",\n \"microbatches\": 2,\n \"best\": \"1f1b\",\n"
        " \"compared\": [\n"
        "  {\n   \"name\": \"gpipe\",\n   \"ranks\": 3,\n   \"bubble\": 0.5,\n"
        "   \"batch_us\": 4000,\n   \"microbatches_per_second\": 500,\n"
        "   \"peak_bytes\": [2048, 4096, 1024]\n  },\n"
        "  {\n   \"name\": \"1f1b\",\n   \"ranks\": 2,\n   \"bubble\": 0.25,\n"
        "   \"batch_us\": 2000,\n   \"microbatches_per_second\": 1000,\n"
        "   \"peak_bytes\": [1024, null]\n  }\n ]\n}\n");
  report.has_times = false;
  report.best = std::nullopt;
  const std::string unknown = json_text(kScheduleFields, report);
  for (const char* const key : {"best", "bubble", "batch_us", "microbatches_per_second"}) {
    CHECK(unknown.find("\"" + std::string(key) + "\": null") != std::string::npos);
  }
}

TEST_CASE("a chart has a row for each rank, a box for each work and what the colours are") {
  const PageDrawing drawing = schedule_drawing(report_of());
  CHECK(drawing.title == "1f1b: 2 microbatches in 2 ms, bubble 25%, fullest rank ?");
  CHECK(
      drawing.svg ==
      "<svg xmlns=\"http://www.w3.org/2000/svg\" font-family=\"sans-serif\" font-size=\"13\" "
      "viewBox=\"0 0 1200.00 90.00\" width=\"1200.00pt\" height=\"90.00pt\">\n"
      "<rect x=\"70.00\" y=\"4.00\" width=\"14\" height=\"14\" fill=\"#4c78a8\"/>\n"
      "<text x=\"90.00\" y=\"16.00\">forward</text>\n"
      "<rect x=\"250.00\" y=\"4.00\" width=\"14\" height=\"14\" fill=\"#c25e00\"/>\n"
      "<text x=\"270.00\" y=\"16.00\">backward</text>\n"
      "<rect x=\"430.00\" y=\"4.00\" width=\"14\" height=\"14\" fill=\"#2f7d78\"/>\n"
      "<text x=\"450.00\" y=\"16.00\">gradients of weights</text>\n"
      "<text x=\"0.00\" y=\"47.00\">rank 0</text>\n"
      "<g class=\"work\"><title>first, forward, microbatch 0: 0 ns to 500 us</title>"
      "<rect x=\"70.00\" y=\"30.00\" width=\"282.50\" height=\"24.00\" fill=\"#4c78a8\"/>"
      "<text text-anchor=\"middle\" font-size=\"11\" x=\"211.25\" y=\"46.00\">0</text></g>\n"
      "<g class=\"work\"><title>first, gradients of weights, microbatch 1: 1.99 ms to 2 ms</title>"
      "<rect x=\"1194.35\" y=\"30.00\" width=\"5.65\" height=\"24.00\" fill=\"#2f7d78\"/></g>\n"
      "<text x=\"0.00\" y=\"77.00\">rank 1</text>\n"
      "<g class=\"work\"><title>a&lt;b, backward, microbatch 0: 1 ms to 1.5 ms</title>"
      "<rect x=\"635.00\" y=\"60.00\" width=\"282.50\" height=\"24.00\" fill=\"#c25e00\"/>"
      "<text text-anchor=\"middle\" font-size=\"11\" x=\"776.25\" y=\"76.00\">0</text></g>\n"
      "</svg>\n");
}

TEST_CASE("a chart without times is drawn in units, and one of many works only begins") {
  ScheduleReport report = report_of();
  report.has_times = false;
  PageDrawing drawing = schedule_drawing(report);
  CHECK(drawing.title ==
        "1f1b: 2 microbatches, in a time that is not known: drawn as if all stages took equally "
        "long, fullest rank ?");
  CHECK(drawing.svg.find("<title>first, forward, microbatch 0</title>") != std::string::npos);
  const auto boxes_of = [&](std::size_t works) {
    report.schedules[1].ranks[0].assign(works, {WorkKind::forward, 0, 0, 0, 1});
    drawing = schedule_drawing(report);
    std::size_t boxes = 0;
    for (std::size_t at = drawing.svg.find("<g "); at != std::string::npos;
         at = drawing.svg.find("<g ", at + 1)) {
      ++boxes;
    }
    return boxes;
  };
  CHECK(boxes_of(10'000) == 10'001);
  CHECK_FALSE(drawing.title.ends_with("are drawn"));
  CHECK(boxes_of(10'001) == 10'001);
  CHECK(drawing.title.ends_with("; only the first 10,000 works of each rank are drawn"));
}

}  // namespace

}  // namespace cleave
