#include "formats/base/text/gzip_text.h"

#include <zlib.h>

#include "tests/catch2.h"

using namespace cleave;

namespace {

std::string bytes_of_base64(std::string_view text) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t word = 0;
  std::size_t bits = 0;
  for (const char c : text.substr(0, text.find('='))) {
    REQUIRE(kDigits.find(c) != std::string_view::npos);
    word = word << 6U | static_cast<std::uint32_t>(kDigits.find(c));
    if ((bits += 6) < 8) continue;
    bits -= 8;
    bytes += static_cast<char>(word >> bits & 255U);
  }
  return bytes;
}

std::string unzipped(std::string packed, std::size_t size) {
  std::string text(size + 1, '\0');
  z_stream stream = {};
  REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  REQUIRE(inflate(&stream, Z_FINISH) == Z_STREAM_END);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

}  // namespace

TEST_CASE("compressed text is the text again, whatever its length") {
  for (const std::size_t size : {0U, 1U, 2U, 3U, 1000U, 300'000U}) {
    std::string text;
    std::uint32_t state = 1;
    while (text.size() < size) {
      text += static_cast<char>((state = state * 1'664'525U + 1'013'904'223U) >> 24U);
    }
    const std::string packed = gzip_base64(text);
    CHECK(packed.size() % 4 == 0);
    CHECK(unzipped(bytes_of_base64(packed), size) == text);
    CHECK(gzip_base64(text) == packed);
  }
}

TEST_CASE("text that repeats becomes short") {
  CHECK(gzip_base64(std::string(1'000'000, 'x')).size() < 2000);
}

TEST_CASE("What was compressed is read again, and nothing that is damaged, more or too much") {
  const std::string text = std::string(100000, 'a') + "end";
  const std::string packed = gzipped(text);
  CHECK(packed.size() < 1000);
  CHECK(packed == gzipped(text));
  CHECK(is_gzipped(packed));
  CHECK_FALSE(is_gzipped("{"));
  CHECK(ungzipped(packed, text.size()) == text);
  CHECK(ungzipped(gzipped(""), 0) == "");
  CHECK_FALSE(ungzipped(packed, text.size() - 1));
  CHECK_FALSE(ungzipped(packed + "x", text.size()));
  for (std::size_t size = 0; size < packed.size(); ++size) {
    CHECK_FALSE(ungzipped(packed.substr(0, size), text.size()));
  }
  std::string damaged = packed;
  damaged[packed.size() - 6] ^= 1;  // the sum of the text
  CHECK_FALSE(ungzipped(damaged, text.size()));
}
