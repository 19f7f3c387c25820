#include "formats/jobs/tune_journal.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/catch2.h"

namespace cleave {
namespace {

TEST_CASE("the journal keeps times for the same command only") {
  const std::string path =
      (std::filesystem::temp_directory_path() / "cleave_tune_journal_test").string();
  std::remove(path.c_str());
  std::ofstream(path) << "piece 7\n";  // without a command, from an earlier version
  TuneJournal first(path, "run {model}");
  CHECK_FALSE(first.find("piece"));
  first.add("piece", 12.5);
  CHECK(first.find("piece") == 12.5);
  CHECK(first.used_before() == 0);

  TuneJournal again(path, "run {model}");
  CHECK(again.find("piece") == 12.5);
  CHECK(again.find("piece") == 12.5);
  CHECK_FALSE(again.find("other"));
  CHECK(again.used_before() == 1);

  TuneJournal other(path, "run --fast {model}");
  CHECK_FALSE(other.find("piece"));
  CHECK(other.used_before() == 0);
  std::remove(path.c_str());
}

}  // namespace
}  // namespace cleave
