#include "formats/base/fields.h"

#include "tests/catch2.h"

namespace cleave {

namespace {

struct Cost {
  double us = 0;
  std::optional<std::uint64_t> bytes;
};

struct Part {
  std::string name;
  std::vector<Cost> costs;
  const Cost* whole = nullptr;
  bool is_marked = false;
  std::vector<std::string> notes;
};

const Fields<Cost> kCostFields = {
    kOneLine, {{"time_us", the<&Cost::us>, "Of one run."}, {"bytes", the<&Cost::bytes>}}, "cost"};

const Fields<Part> kPartFields = {
    kLines,
    {{"name", the<&Part::name>, "", {.words = "first second"}},
     {"costs", the<&Part::costs>, "One a run.", kCostFields},
     {"whole", the<&Part::whole>, "null: none.", kCostFields},
     {"first_us", [](auto& part) { return part.costs.at(0).us; }},
     {"is_marked", the<&Part::is_marked>, "", {.left_out = true}},
     {"notes", the<&Part::notes>, "", {.left_out = true, .one_line = true}},
     {"sizes",
      [](const Part& part) {
        return Entries<std::size_t>{{{part.name, part.costs.size()}}};
      }},
     {"own",
      [](JsonText& json, const Part& part) { json.text(part.name + "!"); },
      "",
      {.schema = [] { return std::string(R"({"type": "string"})"); }}},
     {"files", WrittenElsewhere{}, "Of the folder."}}};

TEST_CASE("fields: one row writes the JSON of a struct, of lists and of what may be missing") {
  const Cost cost{2.5, 7};
  CHECK(document_text("part", kPartFields, {"first", {cost, {1, {}}}, &cost, true, {"a", "b"}}) ==
        R"({
 "format": "cleave.part",
 "version": 1,
 "name": "first",
 "costs": [
  {"time_us": 2.5, "bytes": 7},
  {"time_us": 1, "bytes": null}
 ],
 "whole": {"time_us": 2.5, "bytes": 7},
 "first_us": 2.5,
 "is_marked": true,
 "notes": ["a", "b"],
 "sizes": {
  "first": 2
 },
 "own": "first!"
}
)");
  const std::string least =
      document_text("part", kPartFields, {"second", {cost}, nullptr, false, {}});
  CHECK(least.find("is_marked") == least.npos);
  CHECK(least.find("notes") == least.npos);
  CHECK(least.find("\"whole\": null") != least.npos);
}

TEST_CASE("fields: the same row makes the schema") {
  CHECK(schema_text({"part", "A part.", kPartFields.table()}) == R"({
 "$schema": "https://json-schema.org/draft/2020-12/schema",
 "title": "cleave.part, version 1",
 "description": "A part.",
 "type": "object",
 "additionalProperties": false,
 "required": ["format", "version", "name", "costs", "whole", "first_us", "sizes", "own"],
 "properties": {
  "format": {"const": "cleave.part"},
  "version": {"const": 1},
  "name": {"enum": ["first", "second"]},
  "costs": {"description": "One a run.", "type": "array", "items": {"$ref": "#/$defs/cost"}},
  "whole": {"description": "null: none.", "anyOf": [{"$ref": "#/$defs/cost"}, {"type": "null"}]},
  "first_us": {"description": "Microseconds.", "type": "number"},
  "is_marked": {"type": "boolean"},
  "notes": {"type": "array", "items": {"type": "string"}},
  "sizes": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}},
  "own": {"type": "string"},
  "files": {"description": "Of the folder."}
 },
 "$defs": {
  "cost": {
   "type": "object",
   "additionalProperties": false,
   "required": ["time_us", "bytes"],
   "properties": {
    "time_us": {"description": "Of one run. Microseconds.", "type": "number"},
    "bytes": {"description": "null: not known.", "type": ["integer", "null"], "minimum": 0}
   }
  }
 }
}
)");
}

}  // namespace

}  // namespace cleave
