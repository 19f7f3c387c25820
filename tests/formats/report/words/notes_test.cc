#include "formats/report/words/notes.h"

#include <vector>

#include "tests/catch2.h"

namespace cleave {
namespace {

TEST_CASE("notes are a list in JSON, with the given first notes in front") {
  JsonText json;
  json.begin_object();
  write_notes(json, std::vector<std::string>{"b"}, std::vector<std::string>{"a"});
  json.end_object();
  CHECK(std::move(json).finish() == "{\n \"notes\": [\n  \"a\",\n  \"b\"\n ]\n}\n");
}

TEST_CASE("notes follow a blank line in text, a line each; without notes there is no text") {
  CHECK(notes_text(std::vector<std::string>{"one", "two\x1b"}) == "\nnote: one\nnote: two\\x1B\n");
  CHECK(notes_text({}).empty());
}

}  // namespace
}  // namespace cleave
