#include "formats/run/backend/kept_output.h"

#include "tests/catch2.h"

using namespace cleave;

TEST_CASE("short output is kept whole") {
  KeptOutput kept;
  kept.add("one ");
  kept.add("two");
  CHECK(kept.text() == "one two");
}

TEST_CASE("both ends of long output are kept, and the rest is counted") {
  KeptOutput kept;
  const std::string block(100000, 'x');
  kept.add("begin");
  for (int i = 0; i < 50; ++i) kept.add(block);
  kept.add("end");
  const std::string text = kept.text();
  CHECK(kept.total() == 5000008);
  CHECK(text.starts_with("beginx"));
  CHECK(text.ends_with("xend"));
  CHECK(text.find("[4475720 bytes left out]") != text.npos);
  CHECK(text.size() < 2 * KeptOutput::kKept + 100);
}
