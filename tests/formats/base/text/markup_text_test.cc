#include "formats/base/text/markup_text.h"

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
