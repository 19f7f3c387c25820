#include "formats/run/jobs/tune_journal.h"

#include <filesystem>

#include "tests/catch2.h"
#include "tests/formats/base/io/test_folder.h"

namespace cleave {
namespace {

TuneJournal opened(const std::string& path, const std::string& command) {
  auto journal = TuneJournal::open(path, command);
  if (!journal) FAIL(journal.error().message);
  return *std::move(journal);
}

const std::string kHash(64, 'a'), kOther(64, 'b');
const std::string kHead = "{\"format\":\"cleave tune journal\",\"version\":2}\n";

TEST_CASE("the journal keeps times for the same command only") {
  const TestFolder folder;
  const std::string path = folder.path("j");
  {
    TuneJournal first = opened(path, "run {model}");
    CHECK_FALSE(first.find(kHash));
    REQUIRE(first.add(kHash, 12.5));
    CHECK(first.find(kHash) == 12.5);
    CHECK(first.used_before() == 0);
  }
  {
    TuneJournal again = opened(path, "run {model}");
    CHECK(again.find(kHash) == 12.5);
    CHECK(again.find(kHash) == 12.5);
    CHECK_FALSE(again.find("other"));
    CHECK(again.used_before() == 1);
  }
  TuneJournal other = opened(path, "run --fast {model}");
  CHECK_FALSE(other.find(kHash));
  CHECK(other.used_before() == 0);
}

TEST_CASE("a file that is not a journal of times is refused, and stays as it is") {
  const TestFolder folder;
  const auto is_refused = [&](const std::string& content) {
    const std::string path = folder.with_file("j", content);
    const auto journal = TuneJournal::open(path, "run");
    const bool is_told =
        !journal && journal.error().message ==
                        path +
                            ": is not a journal of cleave tune, which would write one here: "
                            "move it, or write elsewhere";
    CHECK(folder.content("j") == content);
    return is_told;
  };
  CHECK(is_refused("Conv\nRelu\n"));
  CHECK(is_refused("my notes"));
  CHECK(is_refused("notes 7\n"));
  CHECK(is_refused(kHash + " 7\n"));  // of an earlier version
}

TEST_CASE("a time is read as it was written, with all its digits") {
  const TestFolder folder;
  const double us = 1234567.0 / 3;
  REQUIRE(opened(folder.path("j"), "run").add(kHash, us));
  CHECK(opened(folder.path("j"), "run").find(kHash) == us);
}

TEST_CASE("a line that is no time of this command is passed over") {
  const TestFolder folder;
  const std::string path = folder.path("j");
  REQUIRE(opened(path, "run").add(kHash, 7));
  const std::string whole = folder.content("j");
  const std::string key = whole.substr(kHead.size(), 2 * 64 + 1);
  for (const std::string time : {"-5", "0x10", "5 6", "1e300", "nan", "inf", "", "\x1b[1m5"}) {
    folder.with_file("j", kHead + "notes\n" + key + " " + time + "\n" + kOther + " 5\n");
    INFO(time);
    CHECK_FALSE(opened(path, "run").find(kHash));
  }
  folder.with_file("j", whole + "notes\n");
  CHECK(opened(path, "run").find(kHash) == 7);
}

TEST_CASE("a line of times that was cut off is dropped, and an unused journal removed") {
  const TestFolder folder;
  const std::string whole = kHead + kHash + "." + kOther + " 7\n";
  const std::string path = folder.with_file("j", whole + kHash + ".0");
  { opened(path, "run"); }
  CHECK(folder.content("j") == whole);
  { opened(folder.path("unused"), "run"); }
  CHECK_FALSE(std::filesystem::exists(folder.path("unused")));
}

}  // namespace
}  // namespace cleave
