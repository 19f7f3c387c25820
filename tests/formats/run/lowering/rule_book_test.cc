#include <sys/wait.h>
#include <unistd.h>
#include <filesystem>
#include <thread>

#include "formats/base/process.h"
#include "formats/run/lowering/lowering_job.h"
#include "tests/catch2.h"
#include "tests/core/graph/graph_text.h"
#include "tests/formats/base/test_folder.h"

namespace cleave {

// ---- rule book test ----

namespace {

LowerFinding finding_of(std::size_t backend, FindingKind kind, std::vector<NodeId> nodes) {
  LowerFinding found;
  found.backend = backend;
  found.part = "p";
  found.finding.kind = kind;
  found.finding.nodes = std::move(nodes);
  found.finding.signature = "compile: bad";
  return found;
}

struct Case {
  Graph graph = graph_from_text("input x\na = f(x)\nb = g(a)\nc = f(b)\noutput c");
  OpFacts facts;
  RuleBook book{graph, facts, {"one", "two"}};
};

TEST_CASE("Nodes that fail together are denied by the name of the last, for their backend only") {
  Case made;
  std::vector<LowerFinding> findings = {
      finding_of(0, FindingKind::together, {NodeId{0}, NodeId{1}}),
      finding_of(1, FindingKind::together, {})};
  const std::vector<Rule> rules = made.book.learn(findings, 1);
  REQUIRE(rules.size() == 1);
  CHECK(rules[0].node_name == "b");
  CHECK(rules[0].why.find("one: compile: bad (together with other nodes, ") == 0);
  CHECK_FALSE(findings[0].rule.empty());
  CHECK(findings[1].rule.empty());
}

TEST_CASE(
    "What failed together beyond a limit that was found since, in the same words, is denied no "
    "more") {
  Case made;
  std::vector<LowerFinding> findings = {finding_of(0, FindingKind::together, {NodeId{2}}),
                                        finding_of(0, FindingKind::together, {NodeId{1}}),
                                        finding_of(0, FindingKind::together, {NodeId{0}})};
  findings[0].finding.within = {NodeId{0}, NodeId{1}, NodeId{2}};
  findings[1].finding.within = {NodeId{0}, NodeId{1}};
  findings[2].finding.within = findings[0].finding.within;
  findings[2].finding.signature = "compile: another";
  CHECK(made.book.learn(findings, 1).size() == 3);
  findings.push_back(finding_of(0, FindingKind::size, {}));
  findings.back().round = 2;
  findings.back().finding.limit = {.of = SizeOf::nodes, .most = 2, .refused = 3};
  const std::vector<Rule> rules = made.book.learn(findings, 2);
  REQUIRE(rules.size() == 2);
  CHECK(rules[0].node_name == "a");
  CHECK(rules[1].node_name == "b");
  CHECK(findings[0].finding.kind == FindingKind::size);
  CHECK(findings[0].rule.empty());
}

TEST_CASE("An op that two backends refuse is denied by one rule with both reasons") {
  Case made;
  made.book.add_passed(0, std::vector<NodeId>{NodeId{0}, NodeId{2}});
  made.book.add_passed(1, std::vector<NodeId>{NodeId{0}, NodeId{2}});
  std::vector<LowerFinding> findings = {finding_of(0, FindingKind::culprit, {NodeId{1}}),
                                        finding_of(1, FindingKind::culprit, {NodeId{1}})};
  const std::vector<Rule> rules = made.book.learn(findings, 1);
  REQUIRE(rules.size() == 1);
  CHECK(rules[0].op == "g");
  CHECK(rules[0].why.find("one: compile: bad") != std::string::npos);
  CHECK(rules[0].why.find("; two: compile: bad") != std::string::npos);
}

TEST_CASE("Each op that is refused is denied by a rule of its own") {
  Case made;
  std::vector<LowerFinding> findings = {finding_of(0, FindingKind::culprit, {NodeId{1}}),
                                        finding_of(0, FindingKind::culprit, {NodeId{0}})};
  const std::vector<Rule> rules = made.book.learn(findings, 1);
  REQUIRE(rules.size() == 2);
  CHECK(rules[0].op == "f");
  CHECK(rules[1].op == "g");
}

TEST_CASE("A node that fails and whose equal passes is denied by its own name") {
  Case made;  // a and c are of one case
  made.book.add_passed(0, std::vector<NodeId>{NodeId{0}});
  std::vector<LowerFinding> findings = {finding_of(0, FindingKind::culprit, {NodeId{2}})};
  const std::vector<Rule> rules = made.book.learn(findings, 1);
  REQUIRE(rules.size() == 1);
  CHECK(rules[0].node_name == "c");
  CHECK(findings[0].rule == "deny op f named c");
}

TEST_CASE(
    "A rule by the name of a node that was not asked about tells of the finding of its case") {
  // p and r are of one case, s of another of the same op; what separates p and r from q is no condition.
  const Graph graph = graph_from_text(
      "input x: float32[1,8]\ninput y: float32[1,9]\ninput z: float32[1,7]\np = f(x)\nq = f(y)\nr "
      "= "
      "f(x)\ns = f(z)\noutput p, q, r, s");
  const OpFacts facts;
  RuleBook book{graph, facts, {"one"}};
  book.add_passed(0, std::vector<NodeId>{NodeId{1}});
  std::vector<LowerFinding> findings = {finding_of(0, FindingKind::culprit, {NodeId{0}}),
                                        finding_of(0, FindingKind::culprit, {NodeId{3}})};
  findings[1].finding.signature = "compile: another";
  std::string whys;
  for (const Rule& rule : book.learn(findings, 1)) whys += rule.node_name + " " + rule.why + "\n";
  CHECK(
      whys ==
      "p one: compile: bad (1 of 2 cases refused alone, weak evidence, finding 1)\n"
      "r one: not tried alone: same op, types and attributes as \"p\", of which was said: compile: "
      "bad (1 of 2 cases refused alone, weak evidence, finding 1)\n"
      "s one: compile: another (1 of 2 cases refused alone, weak evidence, finding 2)\n");
  CHECK(findings[0].rule == "deny op f named p");
  CHECK(findings[1].rule == "deny op f named s");
}

TEST_CASE("A rule that is made of one case is known to be weak, and one of three is not") {
  const Graph graph = graph_from_text(
      "input x: float32[1,8]\na = f(x) {m=1}\nb = f(a) {m=2}\nc = f(b) {m=3}\nd = g(c)\noutput d");
  const OpFacts facts;
  RuleBook book{graph, facts, {"one"}};
  std::vector<LowerFinding> findings;
  for (std::uint32_t node = 0; node < 4; ++node) {
    findings.push_back(finding_of(0, FindingKind::culprit, {NodeId{node}}));
  }
  findings.push_back(finding_of(0, FindingKind::together, {NodeId{2}}));
  CHECK(book.learn(findings, 1).size() == 3);
  CHECK((findings[0].cases == 3 && !findings[0].is_weak));
  CHECK((findings[3].cases == 1 && findings[3].is_weak));
  CHECK((findings[4].cases == 1 && findings[4].is_weak));
}

// All that a round teaches: the rules, then of each finding its rule.
std::string learned_text(RuleBook& book, std::vector<LowerFinding>& findings, std::size_t round) {
  std::string text;
  for (const Rule& rule : book.learn(findings, round)) {
    text += rule.op + (rule.node_name.empty() ? "" : " named " + rule.node_name);
    for (const Condition& condition : rule.conditions) text += " " + condition.relation.text;
    text += ": " + rule.why + "\n";
  }
  for (const LowerFinding& found : findings) {
    text += found.part + ": " + found.rule + ", " + std::to_string(found.cases) +
            (found.is_weak ? ", weak\n" : "\n");
  }
  return text;
}

TEST_CASE("the least limit of each kind that a backend's messages state is one rule for all ops") {
  Case made;
  const auto limited = [](std::size_t backend, SizeOf of, std::uint64_t most) {
    LowerFinding found = finding_of(backend, FindingKind::size, {});
    found.part = std::to_string(backend) + " " + std::to_string(most);
    found.finding.limit = {.of = of, .most = most, .refused = 9000, .is_said = most > 500};
    return found;
  };
  std::vector<LowerFinding> findings = {
      limited(1, SizeOf::tensor_bytes, 100),   limited(0, SizeOf::nodes, 2),
      limited(0, SizeOf::tensor_bytes, 4096),  limited(0, SizeOf::tensor_bytes, 512),
      limited(0, SizeOf::tensor_bytes, 1024),  limited(0, SizeOf::axis_elements, 64),
      limited(0, SizeOf::activation_bytes, 8), limited(1, SizeOf::axis_elements, 32)};
  findings[3].finding.message = "error: tensor too large";
  findings[3].finding.how = "exit 1";
  findings[5].finding.limit.is_rough = true;
  CHECK(learned_text(made.book, findings, 1) ==
        " max(in.dim) > 64 or max(out.dim) > 64: one: compile: bad (64 elements of an axis at "
        "most; 9,000 are refused, though not every larger piece, finding 6)\n"
        " max(in.bytes) > 512 or max(out.bytes) > 512: one: exit 1: error: tensor too large (512 "
        "bytes of one tensor at most, as it says; 9,000 are refused, finding 4)\n"
        " max(in.bytes) > 100 or max(out.bytes) > 100: two: compile: bad (100 bytes of one tensor "
        "at most; 9,000 are refused, finding 1)\n"
        " max(in.dim) > 32 or max(out.dim) > 32: two: compile: bad (32 elements of an axis at "
        "most; 9,000 are refused, finding 8)\n"
        "1 100: deny where max(in.bytes) > 100 or max(out.bytes) > 100, 1\n"
        "0 2: , 0\n"
        "0 4096: , 0\n"
        "0 512: deny where max(in.bytes) > 512 or max(out.bytes) > 512, 1\n"
        "0 1024: , 0\n"
        "0 64: deny where max(in.dim) > 64 or max(out.dim) > 64, 1\n"
        "0 8: , 0\n"
        "1 32: deny where max(in.dim) > 32 or max(out.dim) > 32, 1\n");
}

TEST_CASE("what a backend leaves out of one case alone is denied by name, and of all by its op") {
  const Graph graph = graph_from_text(
      "input x\na = f(x)\nb = g(a)\nc = f(b)\nd = h(c)\ne = h(d)\ni = k(e)\noutput i");
  const OpFacts facts;
  RuleBook book{graph, facts, {"one", "two"}};
  book.add_passed(0, std::vector<NodeId>{NodeId{0}, NodeId{1}});
  book.add_passed(1, std::vector<NodeId>{NodeId{1}});
  const auto left = [&](std::size_t backend, std::vector<NodeId> nodes, const char* part) {
    LowerFinding found = finding_of(backend, FindingKind::left_out, std::move(nodes));
    found.part = part;
    found.finding.signature = "h: not here";
    return found;
  };
  std::vector<LowerFinding> findings = {left(0, {NodeId{3}, NodeId{4}}, "h"),
                                        left(0, {NodeId{2}}, "f"), left(1, {NodeId{1}}, "g of two"),
                                        finding_of(0, FindingKind::culprit, {NodeId{5}})};
  CHECK(learned_text(book, findings, 1) ==
        "f named c: one: h: not here (left out here, taken elsewhere, finding 2)\n"
        "g named b: two: h: not here (left out here, taken elsewhere, finding 3)\n"
        "h: one: h: not here (1 of 1 cases left out, finding 1)\n"
        "k: one: compile: bad (1 of 1 cases refused alone, finding 4)\n"
        "h: deny op h, 1\n"
        "f: deny op f named c, 1\n"
        "g of two: deny op g named b, 1\n"
        "p: deny op k, 1, weak\n");
}

TEST_CASE("two rounds that blame a node and then its reader erode nothing, but three do") {
  const Graph graph =
      graph_from_text("input x\na = f(x)\nb = f(a)\nc = f(b)\nd = f(a)\noutput c, d");
  const auto erodes = [&](std::vector<std::uint32_t> culprits, std::size_t rounds) {
    LowerOutcome outcome;
    outcome.rounds.resize(rounds);
    for (std::size_t i = 0; i < culprits.size(); ++i) {
      outcome.findings.push_back(finding_of(0, FindingKind::culprit, {NodeId{culprits[i]}}));
      outcome.findings.back().round = i + 1 + rounds - culprits.size();
      outcome.findings.back().rule = "deny op f";
    }
    return std::pair(is_eroding(graph, outcome), outcome);
  };
  CHECK(erodes({0, 1, 2}, 3).first);
  CHECK(erodes({0, 1, 2}, 4).first);
  CHECK_FALSE(erodes({0, 1}, 2).first);
  CHECK_FALSE(erodes({0, 1}, 3).first);
  CHECK_FALSE(erodes({0, 1, 3}, 3).first);
  CHECK_FALSE(erodes({3, 1, 2}, 3).first);
  LowerOutcome outcome = erodes({0, 1, 2}, 3).second;
  outcome.findings[2].finding.signature = "compile: another";
  CHECK_FALSE(is_eroding(graph, outcome));
  outcome = erodes({0, 1, 2}, 3).second;
  outcome.findings[0].rule.clear();
  CHECK_FALSE(is_eroding(graph, outcome));
  outcome.findings.insert(outcome.findings.begin() + 1, outcome.findings[0]);
  outcome.findings[1].rule = "deny op f";
  CHECK(is_eroding(graph, outcome));
}

TEST_CASE(
    "A node that was tried without its DequantizeLinear is denied by name, and says nothing of its "
    "op") {
  const Graph graph = graph_from_text(
      "input x\nd = DequantizeLinear(x)\nc = Conv(d)\ne = DequantizeLinear(c)\nf = Conv(e)\noutput "
      "f");
  const OpFacts facts;
  RuleBook book{graph, facts, {"one"}};
  std::vector<LowerFinding> findings = {finding_of(0, FindingKind::culprit, {NodeId{1}})};
  findings[0].finding.within = {NodeId{1}};
  const std::vector<Rule> rules = book.learn(findings, 1);
  REQUIRE(rules.size() == 1);
  CHECK(rules[0].op == "Conv");
  CHECK(rules[0].node_name == "c");
  CHECK(findings[0].is_cut_from_qdq);

  // What the backend named beside it is denied in the same round.
  RuleBook named{graph, facts, {"one"}};
  findings[0].finding.named_with = {NodeId{3}};
  const std::vector<Rule> rules_of_all = named.learn(findings, 1);
  REQUIRE(rules_of_all.size() == 2);
  CHECK(rules_of_all[1].node_name == "f");
  CHECK(findings[0].rule == "deny op Conv named c");

  RuleBook whole{graph, facts, {"one"}};
  std::vector<LowerFinding> both = {finding_of(0, FindingKind::culprit, {NodeId{1}})};
  both[0].finding.within = {NodeId{0}, NodeId{1}};
  both[0].finding.named_with = {NodeId{3}};  // the rule of its op denies it
  CHECK(whole.learn(both, 1).front().node_name.empty());
}

}  // namespace

// ---- verdict store test ----

namespace {

namespace fs = std::filesystem;

// The number of a process that is over.
pid_t ended_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

TEST_CASE("a verdict of an earlier run is found in the journal, and is no cache hit") {
  const TestFolder folder;
  const std::string journal = folder.path("journal");
  {
    VerdictStore store("");
    REQUIRE(store.open_journal(journal));
    CHECK_FALSE(store.find("k"));
    REQUIRE(store.add("k", {.verdict = LowerVerdict::refused, .message = "no Loop"}));
    CHECK(store.find("k")->is_cached);
  }
  CHECK(count_journaled(journal) == 1);
  VerdictStore store("");
  REQUIRE(store.open_journal(journal));
  const auto known = store.find("k");
  REQUIRE(known);
  CHECK(known->verdict == LowerVerdict::refused);
  CHECK(known->message == "no Loop");
  CHECK_FALSE(known->is_cached);
}

TEST_CASE("the end of a journal that was cut off in a line is dropped") {
  const TestFolder folder;
  const std::string journal = folder.path("journal");
  {
    VerdictStore store("");
    REQUIRE(store.open_journal(journal));
    REQUIRE(store.add("k", {.verdict = LowerVerdict::lowered}));
  }
  const std::string whole = folder.content("journal");
  const std::string line = whole.substr(whole.find('\n') + 1);
  folder.with_file("journal", whole + line.substr(0, line.size() / 2));
  VerdictStore store("");
  REQUIRE(store.open_journal(journal));
  CHECK(folder.content("journal") == whole);
  CHECK(store.find("k"));
}

// The verdict that the cache has for "key" when its only entry is changed to this text.
std::optional<Attempt> cached(const TestFolder& folder, const std::string& entry) {
  folder.with_file("ke/key.json", entry);
  return VerdictStore(folder.path("")).find("key");
}

TEST_CASE("an entry of the cache that cleave would not have written is no entry") {
  const TestFolder folder;
  const Attempt attempt{.verdict = LowerVerdict::refused,
                        .stage = LowerStage::check,
                        .detail = "exit 3",
                        .message = "no Loop",
                        .seconds = 0.25,
                        .artefact_bytes = 7,
                        .left = {{"norm", "aten.native_layer_norm", "not there"}},
                        .compared = {{"y", 0.125, 4, 0.5, false}}};
  REQUIRE(VerdictStore(folder.path("")).add("key", attempt));
  const std::string whole = folder.content("ke/key.json");
  const auto known = cached(folder, whole);
  REQUIRE(known);
  CHECK(known->is_cached);
  CHECK(known->verdict == LowerVerdict::refused);
  CHECK(known->stage == LowerStage::check);
  CHECK(known->detail == "exit 3");
  CHECK(known->seconds == 0.25);
  CHECK(known->artefact_bytes == 7);
  REQUIRE(known->left.size() == 1);
  CHECK(known->left[0].node == "norm");
  CHECK(known->left[0].why == "not there");
  REQUIRE(known->compared.size() == 1);
  CHECK(known->compared[0].most_apart == 0.125);
  CHECK_FALSE(known->compared[0].is_tested);
  const auto is_known_with = [&](const std::string& from, const std::string& to) {
    std::string changed = whole;
    REQUIRE(changed.find(from) != changed.npos);
    changed.replace(changed.find(from), from.size(), to);
    return cached(folder, changed).has_value();
  };
  CHECK(is_known_with("no Loop", "no \\u001b[1mLoop"));  // escaped where it is shown
  for (const char* const verdict : {"77", "256", "0", "-1", "\"\"", "\"fine\"", "\"driver\"",
                                    "\"lost\"", "\"flaky\"", "null", "[\"refused\"]"}) {
    INFO(verdict);
    CHECK_FALSE(is_known_with("\"refused\"", verdict));
  }
  CHECK_FALSE(is_known_with("\"not there\"", "7"));
  CHECK_FALSE(is_known_with(",\"not there\"", ""));
  CHECK_FALSE(is_known_with("[\"y\",0.125", "[7,0.125"));
  CHECK_FALSE(is_known_with("[\"y\",0.125", "[\"y\""));
  CHECK_FALSE(is_known_with("\"check\"", "1"));
  CHECK_FALSE(is_known_with("\"check\"", "\"\""));
  CHECK_FALSE(is_known_with("\"version\":6", "\"version\":2"));
  CHECK_FALSE(is_known_with(",\"version\":6", ""));
  CHECK_FALSE(is_known_with("0.25", "-0.25"));
  CHECK_FALSE(is_known_with("0.25", "\"0.25\""));
  CHECK_FALSE(is_known_with(":7", ":-7"));
  CHECK_FALSE(is_known_with(":7", ":0.5"));
  CHECK_FALSE(is_known_with("\"key\":\"key\"", "\"key\":\"other\""));
  CHECK_FALSE(is_known_with("exit 3", std::string(2000, 'x')));
  CHECK_FALSE(is_known_with("no Loop", std::string(50'000'000, 'x')));
  CHECK_FALSE(cached(folder, whole.substr(0, 40)));
  CHECK_FALSE(cached(folder, ""));
  fs::remove(folder.path("ke/key.json"));
  fs::create_directory(folder.path("ke/key.json"));
  CHECK_FALSE(VerdictStore(folder.path("")).find("key"));
}

TEST_CASE("what is no answer of the compiler is asked again by the run that continues") {
  const TestFolder folder;
  const std::string journal = folder.path("journal");
  {
    VerdictStore store("");
    REQUIRE(store.open_journal(journal));
    for (const LowerVerdict verdict :
         {LowerVerdict::driver, LowerVerdict::no_room, LowerVerdict::lost}) {
      REQUIRE(store.add(std::string(verdict_name(verdict)), {.verdict = verdict}));
    }
    CHECK(store.find("driver"));  // this run knows it
  }
  CHECK(count_journaled(journal) == 0);
  VerdictStore store("");
  REQUIRE(store.open_journal(journal));
  CHECK_FALSE(store.find("driver"));
}

TEST_CASE("verdicts of a run that is being stopped are not kept") {
  const TestFolder folder;
  const std::string journal = folder.path("journal");
  const pid_t child = ::fork();  // since what was ended stays ended
  if (child == 0) {
    VerdictStore store("");
    const bool is_open = store.open_journal(journal).has_value();
    end_children();
    const bool is_added = store.add("k", {.verdict = LowerVerdict::crashed}).has_value();
    ::_exit(is_open && is_added ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(count_journaled(journal) == 0);
}

TEST_CASE("each verdict and each stage is read as it was written") {
  const TestFolder folder;
  for (int i = 0; i <= static_cast<int>(LowerVerdict::driver); ++i) {
    const auto verdict = static_cast<LowerVerdict>(i);
    CHECK(verdict_named(verdict_name(verdict)) == verdict);
  }
  for (const LowerStage stage : {LowerStage::check, LowerStage::compile, LowerStage::run}) {
    CHECK(lower_stage_named(lower_stage_name(stage)) == stage);
  }
  CHECK_FALSE(verdict_named(""));
  CHECK_FALSE(lower_stage_named("link"));
}

TEST_CASE("a line of a journal that is no verdict is passed over") {
  const TestFolder folder;
  const std::string journal = folder.path("journal");
  {
    VerdictStore store("");
    REQUIRE(store.open_journal(journal));
    REQUIRE(store.add("k", {.verdict = LowerVerdict::lowered}));
  }
  folder.with_file("journal", folder.content("journal") + "notes\n{\"verdict\":77}\n");
  CHECK(count_journaled(journal) == 1);
  VerdictStore store("");
  REQUIRE(store.open_journal(journal));
  CHECK(store.find("k"));
}

TEST_CASE("a key whose verdict is never added is free for another thread when its holder ends") {
  VerdictStore store("");
  REQUIRE_FALSE(store.find("k"));
  std::thread other;
  std::optional<Attempt> known;
  {
    const AskedKey asked(store, "k");
    other = std::thread([&] { known = store.find("k"); });
  }
  other.join();
  CHECK_FALSE(known);
  REQUIRE(store.add("k", {.verdict = LowerVerdict::lowered}));
  { const AskedKey asked(store, "k"); }
  CHECK(store.find("k"));
}

TEST_CASE("one run at a time writes a journal") {
  const TestFolder folder;
  VerdictStore first(""), second("");
  REQUIRE(first.open_journal(folder.path("journal")));
  const auto refused = second.open_journal(folder.path("journal"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("another cleave lower is writing it") != std::string::npos);
}

TEST_CASE("temporary folders of a killed run are removed by the next one that uses its journal") {
  const TestFolder folder;
  const auto make = [&](const std::string& name) {
    fs::create_directory(folder.path(name));
    return folder.path(name);
  };
  const std::string killed = ".cleave-" + std::to_string(ended_process());
  const std::string running = ".cleave-" + std::to_string(::getpid());
  const std::vector<std::string> left = {make(killed), make(killed + "-b"), make(running),
                                         make("kept"), folder.path("never-made")};
  make(killed + "-other");
  {
    VerdictStore store("");
    REQUIRE(store.open_journal(folder.path("journal"), left));
  }
  CHECK(count_journaled(folder.path("journal")) == 0);
  fs::remove(folder.path(killed + "-b"));
  fs::create_directory(folder.path("new"));
  fs::rename(folder.path("new"), folder.path(killed + "-b"));  // another folder of that name
  VerdictStore store("");
  REQUIRE(store.open_journal(folder.path("journal")));
  CHECK_FALSE(fs::exists(folder.path(killed)));
  CHECK(fs::exists(folder.path(running)));
  CHECK(fs::exists(folder.path("kept")));
  CHECK(fs::exists(folder.path(killed + "-other")));
}

}  // namespace

}  // namespace cleave
