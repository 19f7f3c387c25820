#include "formats/report/words/open_size_words.h"

#include "tests/catch2.h"

namespace cleave {
namespace {

OpenSizes sizes_of_two() {
  OpenSizes sizes;
  sizes.names = {"N", "H"};
  sizes.grid = {.first = {1, 32}, .step = {1, 8}};
  return sizes;
}

using Terms = std::vector<Polynomial::Term>;

std::string text_of(const Terms& terms, const OpenSizes& sizes = sizes_of_two()) {
  return open_flops_text(sizes, {.at_first = 5e6, .exact = Polynomial{terms}});
}

TEST_CASE("open FLOPs are a sum of products of sizes, with each size as often as its power") {
  CHECK(text_of({{2000, {1, 0}}}) == "2 kFLOP x N");
  CHECK(text_of({{2000, {1, 2}}, {300, {0, 1}}, {7, {0, 0}}}) ==
        "2 kFLOP x N x H x H + 300 FLOP x H + 7 FLOP");
  CHECK(text_of({{-2000, {1, 0}}, {-300, {0, 1}}}) == "-2 kFLOP x N - 300 FLOP x H");
  CHECK(text_of({}) == "0 FLOP");
  OpenSizes pinned = sizes_of_two();
  pinned.pinned = {{"C", 3}, {"D", 4}};
  CHECK(text_of({{2000, {1, 0}}}, pinned) == "2 kFLOP x N at C=3, D=4");
}

TEST_CASE(
    "where a product is none, too long, or of small fractions, FLOPs are at the first sizes") {
  const std::string at_first = "5 MFLOP at N=1, H=32";
  CHECK(open_flops_text(sizes_of_two(), {.at_first = 5e6}) == at_first);
  const Polynomial::Term term{200, {1, 0}};
  CHECK(text_of({term, term, term}) != at_first);
  CHECK(text_of({term, term, term, term}) == at_first);
  CHECK(text_of({{99.5, {1, 0}}}) == at_first);
  CHECK(text_of({{-99.5, {1, 0}}}) == at_first);
  CHECK(text_of({{100.5, {1, 0}}}) != at_first);
  CHECK(text_of({{99, {1, 0}}}) == "99 FLOP x N");
  CHECK(open_flops_text(sizes_of_two(), {.at_first = 5e6, .is_partial = true}) ==
        "at least " + at_first);
  OpenSizes pinned = sizes_of_two();
  pinned.pinned = {{"C", 3}};
  CHECK(first_sizes_text(pinned) == "C=3, N=1, H=32");
}

TEST_CASE("cells of tables have one product, or a number that is marked") {
  const OpenSizes sizes = sizes_of_two();
  OpenNumber number{.at_first = 4096, .exact = Polynomial{{{2048, {0, 1}}}}};
  CHECK(open_flops_cell(number, sizes) == "2.05 kFLOP x H");
  CHECK(open_bytes_cell(number, sizes) == "2 KiB x H");
  number.is_partial = true;
  CHECK(open_bytes_cell(number, sizes) == "2 KiB x H+");
  number.exact->terms.push_back({1024, {0, 0}});
  CHECK(open_bytes_cell(number, sizes) == "4 KiB @+");
  number.is_partial = false;
  CHECK(open_bytes_cell(number, sizes) == "4 KiB @");
  number.exact = std::nullopt;
  CHECK(open_flops_cell(number, sizes) == "4.1 kFLOP @");
}

TEST_CASE("sizes in steps are told where the products hold for these only") {
  OpenSizes sizes = sizes_of_two();
  CHECK(steps_text(sizes).empty());
  sizes.is_for_steps = true;
  CHECK(steps_text(sizes) == "H in steps of 8");
  sizes.grid.step[0] = 2;
  CHECK(steps_text(sizes) == "N in steps of 2, H in steps of 8");
}

TEST_CASE("open numbers and dims in JSON have what is known") {
  OpenSizes sizes = sizes_of_two();
  sizes.pinned = {{"C", 3}};
  JsonText json;
  json.begin_object();
  write_open_number(json, "a", {.at_first = 7, .exact = Polynomial{{{2, {1, 0}}}}}, sizes);
  write_open_number(json, "b", {.at_first = 7, .is_partial = true}, sizes);
  write_open_dims(json, sizes);
  json.end_object();
  const std::string text = std::move(json).finish();
  CHECK(text.find("\"b\": {\"expression\": null, \"at_first\": 7, \"is_partial\": true}") !=
        std::string::npos);
  CHECK(text.find("\"at_first\": 7, \"is_partial\": false}") != std::string::npos);
  CHECK(text.find("\"N\": {\"first\": 1, \"step\": 1}") != std::string::npos);
  CHECK(text.find("\"H\": {\"first\": 32, \"step\": 8}") != std::string::npos);
  CHECK(text.find("\"C\": {\"first\": 3, \"step\": 0}") != std::string::npos);
}

}  // namespace
}  // namespace cleave
