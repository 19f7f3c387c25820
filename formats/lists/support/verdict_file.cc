#include "formats/lists/support/verdict_file.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "core/base/white_space.h"
#include "formats/base/io/source_file.h"
#include "formats/base/json/text.h"
#include "formats/base/text/csv_rows.h"
#include "formats/base/text/faults.h"
#include "formats/base/text/utf8.h"
#include "formats/lists/support/support_file.h"

namespace cleave {
namespace {

std::optional<bool> parse_verdict(std::string_view text) {
  for (const std::string_view yes : {"true", "True", "yes", "1"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"false", "False", "no", "0"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

struct NodeVerdict {
  std::string_view node;
  bool is_supported;
  std::string_view why;
};

void add(const NodeVerdict& verdict, std::size_t offset, PlaceCounter& places, SupportList& list) {
  Rule& rule = (verdict.is_supported ? list.allow : list.deny).emplace_back();
  rule.node_name = verdict.node;
  rule.is_exact_name = true;
  rule.why = verdict.why;
  places.mark(rule, offset);
}

void write_verdicts(JsonText& json, const std::vector<Rule>& rules, bool is_supported) {
  for (const Rule& rule : rules) {
    json.text_key(rule.node_name);
    if (rule.why.empty()) {
      json.flag(is_supported);
      continue;
    }
    json.begin_object(JsonText::Layout::one_line);
    json.flag("supported", is_supported);
    json.text("why", rule.why);
    json.end_object();
  }
}

struct ReadVerdict {
  std::optional<bool> is_supported;
  std::string why;
};

ReadVerdict read_verdict_object(JsonWalk& json, const std::string& node, std::size_t at) {
  ReadVerdict read;
  json.each_field("a verdict", "true, false or an object",
                  [&](const std::string& key, std::size_t place) {
                    if (key == "supported") {
                      read.is_supported = json.take_flag("\"supported\"");
                    } else if (key == "why") {
                      read.why = json.take_text("\"why\"").value_or("");
                    } else {
                      json.pass_unknown(place, key, "a verdict", {"supported", "why"});
                    }
                  });
  if (!read.is_supported && !json.is_over()) {
    json.faults().error(at, "the verdict on " + escaped_in_quotes(node) + " has no \"supported\"");
  }
  return read;
}

ReadVerdict read_device(JsonWalk& json) {
  const auto device = json.take_text("a device");
  if (!device) return {};
  return {!is_cpu_device(*device), "assigned to " + *device};
}

ReadVerdict read_verdict(JsonWalk& json, const std::string& node, std::size_t at) {
  if (json.type() == JsonType::object) return read_verdict_object(json, node, at);
  if (json.type() == JsonType::string) return read_device(json);
  return {json.take_flag("the verdict on " + escaped_in_quotes(node)), {}};
}

void read_json(std::string_view bytes, PlaceCounter& places, SupportList& list,
               TextFaults& faults) {
  std::string padded;  // with the zero bytes that JsonCursor needs
  padded.reserve(bytes.size() + JsonCursor::kPadding);
  padded.append(bytes).append(JsonCursor::kPadding, '\0');
  JsonWalk json(std::string_view(padded).substr(0, bytes.size()), faults);
  read_verdicts(json, places, list);
  json.finish();
}

void read_rows(std::string_view bytes, PlaceCounter& places, SupportList& list,
               TextFaults& faults) {
  CsvRows rows(bytes, faults);
  std::unordered_set<std::string> seen;
  while (const CsvRow* const row = rows.next()) {
    const auto& cells = row->cells;
    if (row->offset == 0 && !cells.empty() && cells[0] == "node") continue;
    if (cells.size() < 2 || cells.size() > 3) {
      faults.error(row->offset, "expected a node, true or false, and perhaps why");
      continue;
    }
    const auto is_supported = parse_verdict(trimmed(cells[1]));
    if (!is_supported) {
      faults.error(row->offset, escaped_in_quotes(cells[1]) + " is neither true nor false");
    } else if (!seen.emplace(cells[0]).second) {
      faults.error(row->offset, escaped_in_quotes(cells[0]) + " is given twice");
    } else {
      const std::string_view why = cells.size() > 2 ? cells[2] : std::string_view();
      add({cells[0], *is_supported, why}, row->offset, places, list);
    }
  }
}

}  // namespace

bool is_cpu_device(std::string_view device) {
  return device.empty() || device == "CPU" || device == "cpu" || device == "CPUExecutionProvider";
}

std::string verdicts_text(const SupportList& list) {
  JsonText json;
  json.begin_object();
  json.text("format", "cleave.support");
  json.number("version", 1);
  json.begin_object("verdicts");
  write_verdicts(json, list.allow, true);
  write_verdicts(json, list.deny, false);
  json.end_object();
  json.end_object();
  return std::move(json).finish();
}

void read_verdicts(JsonWalk& json, PlaceCounter& places, SupportList& list) {
  list.role = ListRole::verdicts;
  json.each_field("verdicts", "an object {\"node\": true, ...}",
                  [&](const std::string& node, std::size_t at) {
                    const ReadVerdict read = read_verdict(json, node, at);
                    if (read.is_supported)
                      add({node, *read.is_supported, read.why}, at, places, list);
                  });
}

namespace {

// True for a native list, as `cleave lists import` makes one of verdicts.
bool is_native_list(std::string_view bytes) {
  return trimmed(bytes).starts_with('{') && bytes.find("\"cleave.support\"") != bytes.npos;
}

Loaded<SupportList> verdicts_of_native_list(const std::string& path, std::string_view bytes) {
  auto loaded = parse_support(path, bytes);
  if (!loaded) return std::move(loaded).error();
  if (loaded->list.role == ListRole::verdicts) return std::move(loaded->list);
  return Diagnostics{
      diagnostic_of(path, "is a support list without \"verdicts\": give it with --support")};
}

}  // namespace

Loaded<SupportList> parse_verdicts(const std::string& path, std::string_view bytes) {
  TextFaults faults(path, bytes);
  const std::size_t bad = std::min(bytes.find('\0'), first_invalid_utf8(bytes));
  if (bad != bytes.npos) {
    faults.error(bad, "a verdict file is text in UTF-8, and this is not");
    return std::move(faults.errors());
  }
  if (is_native_list(bytes)) return verdicts_of_native_list(path, bytes);
  SupportList list;
  list.name = "verdicts";
  list.path = path;
  list.role = ListRole::verdicts;
  PlaceCounter places(bytes);
  const bool is_json = !trimmed(bytes).empty() && trimmed(bytes).front() == '{';
  is_json ? read_json(bytes, places, list, faults) : read_rows(bytes, places, list, faults);
  if (!faults.errors().empty()) return std::move(faults.errors());
  list.text = verdicts_text(list);
  return list;
}

Loaded<SupportList> read_verdict_file(const std::string& path) {
  const auto source = SourceFile::open(path);
  if (!source) return source.error();
  return parse_verdicts(source->path(), source->bytes());
}

}  // namespace cleave
