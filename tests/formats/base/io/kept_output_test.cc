#include "formats/base/io/kept_output.h"

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

TEST_CASE("the first line with error or fatal is kept, wherever it is, once") {
  const std::string noise(2 * KeptOutput::kKept, '.');
  for (const std::size_t piece : {std::size_t{1}, std::size_t{1000}, std::size_t{1} << 30U}) {
    KeptOutput kept;
    const std::string all = noise + "\nnote\nFATAL: a\nerror: b\n" + noise;
    for (std::size_t at = 0; at < all.size(); at += piece) {
      kept.add(std::string_view(all).substr(at, piece));
    }
    CHECK(kept.text() == noise.substr(0, KeptOutput::kKept) +
                             "\n[262150 bytes left out]\nFATAL: a\n" +
                             "\n[262153 bytes left out]\n" + noise.substr(0, KeptOutput::kKept));
  }
}

TEST_CASE("a line that begins in what is kept is not left out twice") {
  const std::string noise(KeptOutput::kKept, '.');
  KeptOutput kept([](std::string_view line) { return line.ends_with("wanted"); });
  kept.add(noise.substr(4) + "\nan error that is wanted\n" + noise + noise);
  const std::string text = kept.text();
  CHECK(text.find("\nan \nan error that is wanted\n\n[262144 bytes left out]\n") != text.npos);
}
