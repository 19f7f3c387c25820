#include <zlib.h>
#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "formats/base/text.h"
#include "tests/catch2.h"
#include "tests/formats/base/utf8_encoding.h"

namespace cleave {

// ---- ci text test ----

namespace {

TEST_CASE("no line begins with a command, whatever blanks are before it") {
  CHECK(without_ci_commands("::error::x\n") == "\\x3a:error::x\n");
  CHECK(without_ci_commands("a\n  \t::set-env::x") == "a\n  \t\\x3a:set-env::x");
  CHECK(without_ci_commands("\u00a0\u2003::stop") == "\u00a0\u2003\\x3a:stop");
  CHECK(without_ci_commands("a\r::stop") == "a\r\\x3a:stop");
  CHECK(without_ci_commands("aten::add :: b\n\n") == "aten::add :: b\n\n");
  CHECK(without_ci_commands("") == "");
}

TEST_CASE("no line contains a command of the older kind") {
  CHECK(without_ci_commands("a ##[error]b ##[x") == "a ##\\x5berror]b ##\\x5bx");
  CHECK(without_ci_commands("###[") == "###\\x5b");
  CHECK(without_ci_commands("# #[ ##") == "# #[ ##");
}

TEST_CASE("JSON reads back as the same") {
  CHECK(without_ci_commands("{\n \"n\": \"##[error]\"\n}\n") ==
        "{\n \"n\": \"##\\u005berror]\"\n}\n");
}

}  // namespace

// ---- csv rows test ----

namespace {

using Cells = std::vector<std::vector<std::string>>;

// The cells of all rows; the first fault as a row of its own: {"!", line, column, message}.
Cells cells_of(const std::string& text) {
  TextFaults faults("t.csv", text);
  CsvRows rows(text, faults);
  Cells all;
  while (const CsvRow* const row = rows.next()) {
    all.emplace_back();
    for (const std::string_view cell : row->cells) all.back().emplace_back(cell);
  }
  if (!faults.errors().empty()) {
    const Diagnostic& fault = faults.errors().front();
    all.push_back({"!", std::to_string(fault.line), std::to_string(fault.column), fault.message});
  }
  return all;
}

TEST_CASE(
    "cells stand between separators, which the first line shows, without blanks around them") {
  CHECK(cells_of("a,b\n1, 2 \n") == Cells{{"a", "b"}, {"1", "2"}});
  CHECK(cells_of("a;b\n1;2,3") == Cells{{"a", "b"}, {"1", "2,3"}});
  CHECK(cells_of("a,b;c\n1;2,3") == Cells{{"a", "b;c"}, {"1;2", "3"}});
  CHECK(cells_of("a\tb\n1\t2,3") == Cells{{"a", "b"}, {"1", "2,3"}});
  CHECK(cells_of("a,b\tc\n1\t2,3") == Cells{{"a,b", "c"}, {"1", "2,3"}});
  CHECK(cells_of("a\n1;2,3") == Cells{{"a"}, {"1;2", "3"}});
  CHECK(cells_of("a,b\r\n1,2\r\n") == Cells{{"a", "b"}, {"1", "2"}});
}

TEST_CASE("lines without a cell are passed over, those with empty cells are rows") {
  CHECK(cells_of("").empty());
  CHECK(cells_of("\n\n  \n").empty());
  CHECK(cells_of("a\n\nb\n") == Cells{{"a"}, {"b"}});
  CHECK(cells_of("a,b\n,\n") == Cells{{"a", "b"}, {"", ""}});
  CHECK(cells_of("a,b,\nc") == Cells{{"a", "b", ""}, {"c"}});
}

TEST_CASE("cells in quotes hold separators, line ends, blanks and doubled quotes") {
  CHECK(cells_of("\"a,b\",\" c \"\n\"d\ne\",f") == Cells{{"a,b", " c "}, {"d\ne", "f"}});
  CHECK(cells_of("\"a\"\"b\"\"\",c") == Cells{{"a\"b\"", "c"}});
  CHECK(cells_of("\"\"\"\",\"\"") == Cells{{"\"", ""}});
  CHECK(cells_of("\"a\"  \r\nb") == Cells{{"a"}, {"b"}});
  CHECK(cells_of("\"a\" ,b") == Cells{{"a", "b"}});
  CHECK(cells_of("\"a\"") == Cells{{"a"}});
}

TEST_CASE("a quote that is not closed, and what follows a closing one, are faults at their place") {
  CHECK(cells_of("x,y\na,\"b\nc") ==
        Cells{{"x", "y"}, {"a", "\"b\nc"}, {"!", "2", "3", "the quote is not closed"}});
  CHECK(cells_of("x,y\n\"a\" z,b\nc,d") ==
        Cells{{"x", "y"},
              {"a", "b"},
              {"c", "d"},
              {"!", "2", "5", "only a separator may follow the closing quote"}});
}

TEST_CASE("what is written with quotes where they are needed is read back") {
  std::mt19937 random(5);
  for (const char separator : {',', ';', '\t'}) {
    for (int round = 0; round < 200; ++round) {
      Cells cells = {{"head", "other"}};
      std::string text = std::string("head") + separator + "other\n";
      for (std::size_t rows = random() % 4; rows > 0; --rows) {
        cells.emplace_back();
        for (std::size_t count = 2 + random() % 3; count > 0; --count) {
          std::string cell;
          for (std::size_t size = random() % 6; size > 0; --size)
            cell += "ab,;\t\n\" "[random() % 8];
          std::string quoted = "\"";
          for (const char c : cell) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
          text +=
              (cells.back().empty() ? std::string() : std::string(1, separator)) + quoted + "\"";
          cells.back().push_back(cell);
        }
        text += random() % 2 == 0 ? "\n" : "\r\n";
      }
      CAPTURE(text);
      CHECK(cells_of(text) == cells);
    }
  }
}

}  // namespace

}  // namespace cleave

// ---- gzip text test ----

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

// ---- markup text test ----

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

namespace cleave {

// ---- shell word test ----

namespace {

TEST_CASE("a word with characters that a shell reads is quoted") {
  CHECK(shell_word("height=SIZE") == "height=SIZE");
  CHECK(shell_word("/model.0/conv:0") == "/model.0/conv:0");
  CHECK(shell_word("floor(height/2) + 1=SIZE") == "'floor(height/2) + 1=SIZE'");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK(shell_word("") == "''");
}

TEST_CASE("only letters, digits and a few marks are plain, of all bytes") {
  const std::string plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,+@%";
  for (int byte = 1; byte < 256; ++byte) {
    const std::string word(1, static_cast<char>(byte));
    CAPTURE(byte);
    CHECK((shell_word(word) == word) == (plain.find(word) != plain.npos));
  }
  CHECK(shell_word(plain) == plain);
  CHECK(shell_word(plain + " ") == "'" + plain + " '");
}

}  // namespace

// ---- text layout test ----

namespace {

TEST_CASE("a text is one line, whatever its length, and of a word at most 1,000 columns") {
  CHECK(as_line("a text", 2) == "  a text\n");
  CHECK(as_line("") == "\n");
  CHECK(as_line("two  blanks stay ", 1) == " two  blanks stay\n");
  const std::string name(120, 'n');
  CHECK(as_line("why: " + name + ": no rule", 2) == "  why: " + name + ": no rule\n");
  CHECK(text_columns(as_line(std::string(1200, 'x'))) == 1000 + 1);  // and a line end
}

TEST_CASE("a word longer than a line continues on the next, without loss") {
  const std::string name(120, 'n');
  CHECK(wrapped("  why: " + name + ": no rule\n", 100) ==
        "  why:\n    " + name.substr(0, 96) + "\n    " + name.substr(0, 24) + ": no rule\n");
  CHECK(wrapped(name, 100) == name.substr(0, 100) + "\n  " + name.substr(0, 20) + "\n");
  std::string umlauts = "\u00e4";
  for (int i = 0; i < 7; ++i) umlauts += umlauts;  // 128 characters of two bytes
  CHECK(wrapped(umlauts, 100) == umlauts.substr(0, 200) + "\n  " + umlauts.substr(0, 56) + "\n");
  CHECK(wrapped(name, 0) == wrapped(name, 4));
  const std::string wide = "\u4E2D";  // a character of two columns
  CHECK(wrapped("x" + wide + wide, 4) == "x" + wide + "\n  " + wide + "\n");
}

TEST_CASE("a text behind a label continues below itself, one in cells two columns further in") {
  CHECK(wrapped("label   one two\n\nshort\n", 12) == "label   one\n  two\n\nshort\n");
  CHECK(wrapped("a   one two six ten\n", 12) == "a   one two\n    six ten\n");
  CHECK(wrapped("a  b  one two six\n", 12) == "a  b  one\n  two six\n");
  CHECK(wrapped("     one two six\n", 12) == "     one two\nsix\n");
  const std::string label(40, 'l'), text(50, 't');
  CHECK(wrapped(label + "  " + text + " " + text + "\n", 100) ==
        label + "  " + text + "\n" + std::string(30, ' ') + text + "\n");
}

// The lines of a text.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST_CASE("lines hold as many words as fit, and all words in order") {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (std::size_t words = 1 + random() % 40; words > 0; --words) {
      text += (text.empty() ? "" : " ") + std::string(1 + random() % 30, 'w');
    }
    const std::size_t first = random() % 8, rest = first + 2;
    const std::vector<std::string> lines =
        lines_of(wrapped(std::string(first, ' ') + text + "\n", 100));
    std::string all;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const std::size_t indent = i == 0 ? first : rest;
      CHECK(lines[i].size() <= 100);
      CHECK(lines[i].find_first_not_of(' ') == indent);
      if (i > 0) {  // its first word did not fit into the line before
        const std::size_t word = std::min(lines[i].find(' ', indent), lines[i].size()) - indent;
        CHECK(lines[i - 1].size() + 1 + word > 100);
      }
      all += (i == 0 ? "" : " ") + lines[i].substr(indent);
    }
    CHECK(all == text);
  }
}

TEST_CASE("a text that fits is whole, and one that does not ends with dots in the last column") {
  for (std::size_t columns = 4; columns < 12; ++columns) {
    for (std::size_t size = 0; size < 20; ++size) {
      const std::string text = std::string("abcdefghijklmnopqrst").substr(0, size);
      CHECK(fitted(text, columns) ==
            (size <= columns ? text : text.substr(0, columns - 3) + "..."));
    }
  }
}

TEST_CASE("as many items are named as fit with the dots that stand for the rest") {
  for (std::size_t count = 1; count < 6; ++count) {
    for (std::size_t columns = 4; columns < 40; ++columns) {
      const std::vector<std::string> items(count, "nnnn");
      // By the definition: the largest number of items, the first among them, that fits.
      std::size_t best = 1;
      for (std::size_t named = 2; named <= count; ++named) {
        const std::size_t width = 4 * named + 2 * (named - 1) + (named < count ? 5 : 0);
        if (width <= columns) best = named;
      }
      std::string expected = "nnnn";
      for (std::size_t i = 1; i < best; ++i) expected += ", nnnn";
      if (best < count) expected += ", ...";
      CAPTURE(count, columns);
      CHECK(some_of(items, columns) == expected);
    }
  }
}

TEST_CASE("columns of a table are as wide as their widest cell, two blanks apart") {
  TextTable table({"a", "bb", "c"}, {Align::left, Align::right, Align::left});
  table.add_row({"1234", "5", "x"});
  table.add_row({"", "", ""});
  table.add_row({"6", "789", ""});
  CHECK(table.text() == "a      bb  c\n1234    5  x\n\n6     789\n");
}

TEST_CASE("a long first cell of a table does not widen its column, one as long as allowed does") {
  TextTable table({"a", "b"}, {Align::left, Align::left});
  table.limit_first(4);
  table.add_row({"1234", "x"});
  table.add_row({"12345", "y"});
  CHECK(table.text() == "a     b\n1234  x\n12345  y\n");
}

TEST_CASE("wide characters take two columns, marks none") {
  CHECK(text_columns("\u4E2D\u6587") == 4);
  CHECK(text_columns("\uFF21\uFF71") == 3);  // a full-width letter, a half-width one
  CHECK(text_columns("e\u0301\U0001F600") == 3);
  CHECK(text_columns("\xFF"
                     "a") == 2);
  CHECK(fitted("\u4E2D\u6587\u4E2D", 6) == "\u4E2D\u6587\u4E2D");
  CHECK(fitted("\u4E2D\u6587\u4E2D\u6587", 6) == "\u4E2D...");
  TextTable table({"name", "n"}, {Align::left, Align::right});
  table.add_row({"\u4E2D\u6587\u4E2D", "1"});
  CHECK(table.text() == "name    n\n\u4E2D\u6587\u4E2D  1\n");
}

TEST_CASE("a text of marks alone is cut, too") {
  std::string marks;
  for (int i = 0; i < 10'000; ++i) marks += "\u0301";
  CHECK(fitted("e" + marks, 10).size() < 200);
  CHECK(as_line(marks).size() < 17'000);
}

TEST_CASE("the first name of a list is shown in full, however long") {
  const std::string name(60, 'n');
  CHECK(some_of({name, "b"}, 40) == name + ", ...");
  CHECK(some_of({"a", name}, 40) == "a, ...");
  CHECK(some_of({"a", "b"}, 40) == "a, b");
}

TEST_CASE("a wide first cell does not make others wide if the table asks for it") {
  TextTable table({"part", "nodes"}, {Align::left, Align::right});
  table.limit_first(6);
  table.add_row({"short", "12"});
  table.add_row({"rather_long", "3"});
  CHECK(table.text() ==
        "part   nodes\n"
        "short     12\n"
        "rather_long      3\n");
}

TEST_CASE("items that fit into the columns are named as if all texts were at hand") {
  for (std::size_t count = 0; count < 8; ++count) {
    for (std::size_t columns = 4; columns < 60; ++columns) {
      std::vector<std::string> names;
      for (std::size_t i = 0; i < count; ++i) names.emplace_back(3 + 7 * i % 11, 'n');
      CAPTURE(count, columns);
      CHECK(some_of(names, columns, [](const std::string& item) { return item; }) ==
            some_of(names, columns));
    }
  }
}

TEST_CASE("texts are made for items that fit and for one more, not for all") {
  std::size_t made = 0;
  const auto count = [&](const std::string& item) {
    ++made;
    return item;
  };
  CHECK(some_of(std::vector<std::string>(1000, "name"), 16, count) == "name, name, ...");
  CHECK(made <= 4);
}

}  // namespace

// ---- utf8 test ----

namespace {

// Character by character, without looking at words.
std::size_t first_invalid_slowly(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_character(text.substr(at));
    if (length == 0) return at;
    at += length;
  }
  return std::string_view::npos;
}

TEST_CASE("a character of UTF-8 has one to four bytes, and only its shortest form is valid") {
  CHECK(utf8_character("a") == 1);
  CHECK(utf8_character("\xC3\xA9x") == 2);
  CHECK(utf8_character("\xE2\x82\xACx") == 3);
  CHECK(utf8_character("\xF0\x9F\x98\x80x") == 4);
  for (const std::string_view bad : {"", "\x80", "\xC0\xAF", "\xC3", "\xE0\x80\xAF", "\xED\xA0\x80",
                                     "\xF0\x80\x80\xAF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80"}) {
    CHECK(utf8_character(bad) == 0);
  }
}

// By the definition: the number of a character, encoded again, gives the same bytes.
TEST_CASE("valid characters are those of Unicode, and no others") {
  std::set<std::string> valid;
  for (std::uint32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code <= 0xDFFF) continue;  // halves of UTF-16
    // The bytes after the second one are all alike: two of each are enough.
    const std::uint32_t low = code & 0x3FU;
    if (code >= 0x800 && low != 0 && low != 0x3F) continue;
    valid.insert(utf8_of(code));
  }
  for (const std::string& character : valid) {
    if (utf8_character(character) != character.size()) FAIL(character.size());
  }
  for (unsigned first = 0; first < 256; ++first) {
    for (unsigned second = 0; second < 256; ++second) {
      for (std::size_t length = 1; length <= 4; ++length) {
        std::string text = {static_cast<char>(first), static_cast<char>(second), '\x80', '\x80'};
        text.resize(length);
        if ((utf8_character(text) == length) != valid.contains(text)) FAIL(first << ' ' << second);
      }
    }
  }
}

TEST_CASE("the first byte that is not UTF-8 is found at every place of texts of every size") {
  for (std::size_t size = 1; size <= 40; ++size) {
    CHECK(first_invalid_utf8(std::string(size, 'a')) == std::string_view::npos);
    for (std::size_t at = 0; at < size; ++at) {
      std::string text(size, 'a');
      text[at] = '\xFF';
      CHECK(first_invalid_utf8(text) == at);
    }
  }
}

TEST_CASE("words and single characters give the same answer on random texts") {
  std::mt19937 random(1);
  const std::string_view pieces[] = {"a",    "name", "\xC3\xA9",     "\xE2\x82\xAC",
                                     "\xFF", "\xC3", "conv1.weight", "\xF0\x9F\x98\x80"};
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (unsigned count = random() % 8; count > 0; --count) text += pieces[random() % 8];
    INFO(text);
    CHECK(first_invalid_utf8(text) == first_invalid_slowly(text));
  }
}

}  // namespace

}  // namespace cleave
