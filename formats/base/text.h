// Text: UTF-8, layout, CSV, gzip, markup, words of a shell, messages for CI.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/base.h"
#include "formats/base/faults.h"

namespace cleave {

// ---- utf8 ----
//
// UTF-8: the lengths of characters, the first byte that is not UTF-8, and how terminals show characters,
// by the tables of Unicode in utf8proc.

// Bytes of the first character of `text`; 0 when there is none: the text is empty, or the bytes are
// cut off, overlong, a surrogate or past U+10FFFF.
std::size_t utf8_character(std::string_view text);

// The columns that the first character of `text` takes in a terminal: 0 for a mark on the character
// before, 2 for wide ones, as those of East Asia; 1 for others, and for a byte that is none.
std::size_t utf8_columns(std::string_view text);

// True when the character, a valid one, shows as nothing or changes how the text around it is shown:
// controls, format characters such as direction marks, and those that are ignored where no font has
// them. Also for U+FFFE and U+FFFF, which are no characters: XML refuses them.
bool is_hidden(std::string_view character);

// Offset of the first byte that is not part of a valid character; npos when all is UTF-8.
std::size_t first_invalid_utf8(std::string_view text);

// ---- ci text ----
//
// Text for the log of a CI that reads commands from it. GitHub's runner treats a line that begins
// with "::" (after blanks) as a command (workflow commands, `::error ...::`), and also whatever
// follows "##[" anywhere in a line. A node may have such a name, and a model may come from
// anywhere.
//
// Source: the runner's ActionCommand.cs, TryParseV2 and TryParse.

// The text with the characters that would make commands of names escaped as \xNN; in a JSON
// document, which begins with '{' and ends with '}', as \u00NN, so that it reads back the same.
// Linear.
std::string without_ci_commands(std::string_view text);

// ---- csv rows ----
//
// Rows of a CSV or TSV text, as in RFC 4180: a cell in quotes may contain separators, line ends,
// and doubled quotes. The first line decides the separator: a tab, else a comma, else a semicolon.
// White space around unquoted cells is dropped; empty lines are skipped.

struct CsvRow {
  std::size_t offset = 0;               // of its first byte
  std::vector<std::string_view> cells;  // views into the text, or into the reader's own memory
};

class CsvRows {
 public:
  CsvRows(std::string_view text, TextFaults& faults);

  // The next row, valid until the next call; its cells live as long as the text and this object.
  // Null at the end of the text, and after too many faults.
  const CsvRow* next();
  char separator() const { return separator_; }
  // The memory of cells that are not in the text, for callers that keep using them.
  StringArena take_kept() && { return std::move(kept_); }

 private:
  void take_row();
  std::string_view take_cell();
  std::string_view take_quoted_cell();
  void skip_to_separator();
  bool at_cell_end() const {
    return at_ == text_.size() || text_[at_] == separator_ || text_[at_] == '\n';
  }

  std::string_view text_;
  TextFaults& faults_;
  char separator_ = ',';
  std::size_t at_ = 0;
  CsvRow row_;
  StringArena kept_;  // cells with doubled quotes
};

// ---- gzip text ----
//
// Compressed text, and such text inside a file that must stay text, as a page: gzip, then base64.

// The text compressed (RFC 1952, no file name, no time). The same text gives the same bytes with the
// same zlib.
std::string gzipped(std::string_view text);

// Whether a file begins as gzip's do.
bool is_gzipped(std::string_view bytes);

// The text of such a file; nullopt if it is damaged, cut short, followed by something else, or has more
// than `most` bytes, of which no more are made.
std::optional<std::string> ungzipped(std::string_view bytes, std::size_t most);

// gzipped() in base64 (RFC 4648), one line.
std::string gzip_base64(std::string_view text);

// ---- markup text ----
//
// Escapes text for XML, Markdown, URIs and commands of GitHub's runners. Names come from models and
// compilers, and must not act as markup or commands.

// The text with what HTML gives a meaning escaped.
std::string html_text(std::string_view text);
// Text for an XML attribute or element. A character that XML does not allow becomes \xNN: see
// escaped().
std::string xml_text(std::string_view text);
// The same for a text of several lines.
std::string xml_lines(std::string_view text);
// ` name="value"`
std::string xml_attribute(std::string_view name, std::string_view value);

// Text without Markdown: characters that could be markup become entities, which Markdown shows as
// plain characters.
std::string markdown_text(std::string_view text);
// A name in the font of code, cut to 80 columns: between backticks, or in <code> when it contains
// characters that would end these.
std::string markdown_code(std::string_view name);

// A path as a URI: every byte that is not a letter, a digit or one of -._~/ becomes %NN. An
// absolute path gets "file://" in front.
std::string uri_text(std::string_view path);

// Text for a command of GitHub's runners, with the characters in `special` as %NN.
std::string github_text(std::string_view text, std::string_view special);

// ---- shell word ----
//
// Words of a shell: options that a message suggests can be pasted into a command line.

// The text as one word of a POSIX shell: as it is if no character of it has a meaning to the shell,
// else in single quotes.
std::string shell_word(std::string_view text);

// ---- take text ----
//
// TakeText: what a long text is given to, piece by piece, while it is made. A report on a million nodes
// is hundreds of megabytes: it goes to its file as it is written, and is never held.

using TakeText = std::function<void(std::string_view piece)>;
// Makes a whole text and hands it over, in order.
using MakeText = std::function<void(const TakeText& take)>;

// ---- text layout ----
//
// Plain text: lines, tables with aligned columns. Reports are made without a thought of how wide they are shown: in a
// pipe and in a file each fact is one line, and only a terminal breaks it.

// The columns that lists of names and the like are cut to.
inline constexpr std::size_t kTextColumns = 100;

// The columns that UTF-8 text takes in a terminal: see utf8_columns().
std::size_t text_columns(std::string_view text);

// The text, or its start and "..." when it is longer than `columns` (4 at least).
std::string fitted(std::string_view text, std::size_t columns);

// The text as a line, `indent` columns in. A word of more than 1,000 columns is cut.
std::string as_line(std::string_view text, std::size_t indent = 0);

// Breaks the lines of a text that are longer than `columns` (4 at least), at spaces. What continues a line begins below
// its text where a label stands before it, else two columns further in. A word longer than a line continues on the next
// ones, so that no part of a name is lost.
std::string wrapped(std::string_view text, std::size_t columns);

// As many items as fit into `columns`, joined by ", ", then "..." when there are more. At least one
// item, complete.
std::string some_of(const std::vector<std::string>& items, std::size_t columns);
// The same of texts that are made here, of those that fit and one more.
template <class Items, class TextOf>
std::string some_of(const Items& items, std::size_t columns, TextOf text_of) {
  std::vector<std::string> texts;
  std::size_t used = 0;
  for (const auto& item : items) {
    if (used > columns && texts.size() > 1) break;
    texts.push_back(text_of(item));
    used += text_columns(texts.back()) + (texts.size() > 1 ? 2 : 0);
  }
  return some_of(texts, columns);
}

enum class Align { left, right };

// Rows of cells under a heading, two spaces between columns, no spaces at the ends of lines.
class TextTable {
 public:
  // The first column is to the left, the others to the right, as names and numbers are.
  explicit TextTable(std::vector<std::string> headings);
  TextTable(std::vector<std::string> headings, std::vector<Align> aligns);
  void add_row(std::vector<std::string> cells);
  // A first cell that is wider than this does not make the others wider.
  void limit_first(std::size_t columns) { widest_first_ = columns; }
  std::string text() const;

 private:
  std::size_t widest_first_ = static_cast<std::size_t>(-1);
  std::vector<Align> aligns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace cleave
