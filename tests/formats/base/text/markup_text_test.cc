#include "formats/base/text/markup_text.h"

#include <string>

#include "tests/catch2.h"

using namespace cleave;

TEST_CASE("text in XML contains no markup and no control characters") {
  CHECK(xml_text("a<b> & \"c\"\x01") == "a&lt;b&gt; &amp; &quot;c&quot;\\x01");
  CHECK(xml_attribute("name", "a\"b") == " name=\"a&quot;b\"");
  CHECK(xml_lines("a\nb") == "a\nb\n");
}

TEST_CASE("text in Markdown is not markup, and names are shown as code") {
  CHECK(markdown_text("a|b*") == "a&#124;b&#42;");
  CHECK(markdown_code("/layer/Conv") == "`/layer/Conv`");
  CHECK(markdown_code("a`b") == "<code>a&#96;b</code>");
}

TEST_CASE("paths in URIs and text in commands keep only what is plain") {
  CHECK(uri_text("/a b/c.onnx") == "file:///a%20b/c.onnx");
  CHECK(uri_text("m.onnx") == "m.onnx");
  CHECK(github_text("a:b,c", ":,") == "a%3Ab%2Cc");
}

TEST_CASE("of all bytes only letters, digits and a few marks are plain in a URI") {
  const std::string plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
  const std::string digits = "0123456789ABCDEF";
  for (unsigned byte = 1; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const std::string path = {'m', c};
    CAPTURE(byte);
    CHECK(uri_text(path) == (plain.find(c) != plain.npos
                                 ? path
                                 : std::string("m%") + digits[byte / 16] + digits[byte % 16]));
  }
}

TEST_CASE("names with blanks at an end are no plain code in Markdown, and long ones are cut") {
  CHECK(markdown_code("a b") == "`a b`");
  CHECK(markdown_code(" a") == "<code> a</code>");
  CHECK(markdown_code("a ") == "<code>a </code>");
  CHECK(markdown_code("") == "<code></code>");
  CHECK(markdown_code(std::string(80, 'n')) == "`" + std::string(80, 'n') + "`");
  CHECK(markdown_code(std::string(81, 'n')) == "`" + std::string(77, 'n') + "...`");
  CHECK(xml_lines("a\n\nb\n") == "a\n\nb\n");
}
