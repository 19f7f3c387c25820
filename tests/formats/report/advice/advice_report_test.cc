#include "formats/report/advice/advice_report.h"

#include "formats/base/model.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"

namespace cleave {

namespace {

// A report with the lists' gaps and the settings of `advice` and `sweep`.
std::string advised(const Advice& advice, const SettingsSweep& sweep,
                    StartSide start = StartSide::reference) {
  std::vector<LoadedModel> models;
  models.push_back({SourceFile::from_text("m.json", ""),
                    GraphJsonOrigin{},
                    graph_from_text("input x\n a = Relu(x)\n output a"),
                    {},
                    {}});
  const std::vector<SupportList> lists(1);
  SplitOptions split;
  split.start = start;
  const Link link = default_link();
  const AdviceOptions options;
  return advice_text({models, lists, split, link, options, advice, sweep});
}

// The text from this line's first to the next empty line.
std::string section(const std::string& text, const std::string& begin) {
  const std::size_t at = text.find("\n" + begin) + 1;
  return text.substr(at, text.find("\n\n", at) + 1 - at);
}

Remedy remedy_of(const std::string& op, std::size_t nodes) {
  Remedy remedy;
  remedy.gap.op = op;
  remedy.nodes = nodes;
  remedy.models = {0};
  remedy.then.acc_subgraphs = 1;
  return remedy;
}

SettingsSweep one_setting() { return {.settings = {Setting{}}, .knee = 0}; }

TEST_CASE("gaps that accept no node by themselves are counted, and those after them are listed") {
  Advice advice;
  advice.now.acc_subgraphs = 2;
  for (const char* const op : {"A", "B", "C"}) {
    advice.each.push_back(remedy_of(op, op[0] == 'B' ? 0 : 3));
  }
  CHECK(section(advised(advice, one_setting()), "each by itself") ==
        R"(each by itself  accepts  models  subgraphs  link bytes  QPS at 100GiB/s  shared  work
  A()                 3       1         -1           =                -       -     =
  C()                 3       1         -1           =                -       -     =
1 more accepts no node by itself: a node with bodies needs its own op and all of theirs
)");
}

TEST_CASE("of many gaps twenty are listed, and the rest is counted with those that accept none") {
  Advice advice;
  for (int i = 0; i < 25; ++i) {
    advice.each.push_back(remedy_of("Op" + std::to_string(i), i == 22 ? 0 : 1));
  }
  advice.untried = 1;
  const std::string text = section(advised(advice, one_setting()), "each by itself");
  CHECK(text.find("  Op19()") != std::string::npos);
  CHECK(text.find("  Op20()") == std::string::npos);
  CHECK(text.substr(text.find("... and")) == R"(... and 4 more (see --json)
1 gap was not tried: there are too many, and these have the fewest nodes
1 more accepts no node by itself: a node with bodies needs its own op and all of theirs
)");
}

TEST_CASE("a minimum size is shown with the best start side, or the given one of equals") {
  const auto setting = [](std::size_t size, StartSide start, std::size_t subgraphs) {
    Setting made;
    made.min_acc_size = size;
    made.start = start;
    made.outcome.acc_subgraphs = subgraphs;
    return made;
  };
  const SettingsSweep sweep{
      .settings = {setting(1, StartSide::reference, 9), setting(2, StartSide::reference, 4),
                   setting(2, StartSide::cpu, 4), setting(2, StartSide::acc, 4),
                   setting(3, StartSide::reference, 3), setting(3, StartSide::cpu, 3),
                   setting(3, StartSide::acc, 2)},
      .knee = 0};
  CHECK(
      section(advised({}, sweep, StartSide::cpu), "settings") ==
      R"(settings                   start      subgraphs  link bytes  QPS at 100GiB/s  shared  nodes  work
  --min-acc-module-size 1  reference          9         0 B                -       -      -     -  <- knee: larger sizes gain little
  --min-acc-module-size 2  cpu                4         0 B                -       -      -     -
  --min-acc-module-size 3  acc                2         0 B                -       -      -     -
)");
}

TEST_CASE("gains of a gap are signed, and what is too small to show, or not known, is marked") {
  Advice advice;
  advice.now.acc_subgraphs = 2;
  advice.now.link_bytes = 4096;
  advice.now.flops = {{.acc = 5000, .total = 10000}};
  advice.now.flops.computing = 1;
  const auto with = [&](const std::string& op, double acc, std::uint64_t bytes,
                        std::size_t subgraphs, std::size_t unknown) {
    Remedy remedy = remedy_of(op, 1);
    remedy.then = advice.now;
    remedy.then.flops.acc = acc;
    remedy.then.link_bytes = bytes;
    remedy.then.acc_subgraphs = subgraphs;
    remedy.then.unknown_bytes = unknown;
    advice.each.push_back(remedy);
  };
  with("A", 10000, 1024, 1, 0);
  with("B", 4999, 8192, 3, 0);
  with("C", 5001, 4096, 2, 1);
  with("D", 5000, 4096, 2, 0);
  with("E", 5006, 4096, 2, 0);
  CHECK(section(advised(advice, one_setting()), "each by itself") ==
        R"(each by itself  accepts  models  subgraphs  link bytes  QPS at 100GiB/s  shared    work
  A()                 1       1         -1      -3 KiB                -       -  +50.0%
  B()                 1       1         +1      +4 KiB                -       -  -<0.1%
  C()                 1       1          =           =                ?       ?  +<0.1%
  D()                 1       1          =           =                -       -       =
  E()                 1       1          =           =                -       -   +0.1%
)");
  advice.now.flops.unknown = 2;
  CHECK(section(advised(advice, one_setting()), "each by itself").find("50.0%") ==
        std::string::npos);
}

TEST_CASE("operators out of reach are listed up to ten, with what is known of their work") {
  Advice advice;
  const auto text = [&](std::size_t count) {
    advice.out_of_reach.assign(count,
                               {.domain = "", .op = "F", .nodes = 3, .flops = 2000, .bytes = 2048});
    advice.out_of_reach[0] = {.domain = "my", .op = "G", .nodes = 2, .unknown_flops = 2};
    advice.out_of_reach[1].unknown_flops = 1;
    return section(advised(advice, one_setting()), "out of reach");
  };
  CHECK(text(3) ==
        R"(out of reach  nodes      work  bytes
  my::G           2         ?    0 B
  F               3  2 kFLOP+  2 KiB
  F               3   2 kFLOP  2 KiB
)");
  CHECK(text(10).find("more op") == std::string::npos);
  CHECK(text(11).ends_with("... and 1 more op (see --json)\n"));
  CHECK(text(12).ends_with("... and 2 more ops (see --json)\n"));
}

}  // namespace

}  // namespace cleave
