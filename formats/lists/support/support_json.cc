// Native support lists: the object around the rules.
#include "core/base/quantity.h"
#include "core/support/support.h"
#include "formats/base/json/walk.h"
#include "formats/lists/support/list_target.h"
#include "formats/lists/support/support_reader.h"
#include "formats/lists/support/support_rule.h"
#include "formats/lists/support/verdict_file.h"

namespace cleave {
namespace {

constexpr std::int64_t kVersion = 1;

// Reads the rules; returns the fields that each one states.
std::vector<StatedFields> read_rules(JsonWalk& json, Verdict verdict, PlaceCounter& places,
                                     std::vector<Rule>& rules) {
  const std::string_view what = verdict == Verdict::allow ? "\"allow\"" : "\"deny\"";
  std::vector<StatedFields> stated;
  json.each_item(what, "a list of rules", [&] {
    Rule& rule = rules.emplace_back();
    places.mark(rule, json.offset());
    stated.push_back(read_rule(json, verdict, rule));
  });
  return stated;
}

class ListReader {
 public:
  ListReader(std::string_view text, SupportList& list, TextFaults& faults)
      : json_(text, faults), faults_(faults), list_(list), places_(text) {}

  void read() {
    json_.each_field("a support list", "an object",
                     [&](const std::string& key, std::size_t at) { read_field(key, at); });
    if (!is_other_) json_.finish();
    for (std::size_t i = 0; i < stated_.size(); ++i) {
      apply_defaults(defaults_, stated_[i], list_.allow[i]);
    }
    for (std::size_t i = 0; i < stated_by_ops_.size(); ++i) {
      std::vector<Rule>& ops = list_.patterns[i].ops;
      for (std::size_t op = 0; op < stated_by_ops_[i].size(); ++op) {
        apply_defaults(defaults_, stated_by_ops_[i][op], ops[op]);
      }
    }
    if (is_other_ || json_.is_over() || has_format_) return;
    refuse(0,
           "no \"format\": a support list is JSON with \"format\": \"cleave.support\", plain text "
           "with one op per line, or ONNX Runtime's required-operators config");
  }

 private:
  // Refuses the file as a whole: earlier errors only follow from the file being something else.
  void refuse(std::size_t at, std::string message) {
    faults_.errors().clear();
    faults_.warnings().clear();
    faults_.error(at, std::move(message));
    is_other_ = true;
  }

  void read_field(const std::string& key, std::size_t at) {
    if (is_other_) return json_.skip();
    if (key == "format") return read_format();
    if (key == "version") return read_version();
    if (key == "link") return read_link();
    if (key == "target") return read_target();
    if (key == "verdicts") return read_verdicts(json_, places_, list_);
    if (key == "defaults") return read_defaults(json_, defaults_);
    if (key == "allow") {
      stated_ = read_rules(json_, Verdict::allow, places_, list_.allow);
      return;
    }
    if (key == "deny") {
      read_rules(json_, Verdict::deny, places_, list_.deny);
      return;
    }
    if (key == "patterns") return read_patterns();
    if (key == "part") return read_part(at);
    if (key == "as") return read_view();
    if (key == "keep_qdq") {
      list_.keeps_qdq = json_.take_flag("\"keep_qdq\"").value_or(false);
      return;
    }
    for (std::size_t i = 0; i < kPartLimitCount; ++i) {
      if (key == part_limit_name(static_cast<PartLimit>(i)))
        return read_limit(key, list_.limits.most[i]);
    }
    for (const auto& [text_key, text] :
         {std::pair("name", &list_.name), {"source", &list_.source}}) {
      if (key != text_key) continue;
      if (auto taken = json_.take_text("\"" + key + "\"")) *text = *std::move(taken);
      return;
    }
    json_.pass_unknown(
        at, key, "the list",
        {"format", "version", "name", "source", "link", "target", "as", "keep_qdq", "defaults",
         "allow", "deny", "patterns", "part", "verdicts", "max_nodes", "max_parameter_bytes",
         "max_inputs", "max_outputs", "max_activation_bytes"});
  }

  void read_patterns() {
    json_.each_item("\"patterns\"", "a list of patterns", [&] {
      stated_by_ops_.push_back(read_pattern(json_, places_, list_.patterns.emplace_back()));
    });
  }

  // The graph that the list is about.
  void read_view() {
    const std::size_t place = json_.offset();
    const auto name = json_.take_text("\"as\"");
    if (!name) return;
    if (const auto view = parse_graph_view(*name)) {
      list_.view = *view;
    } else {
      faults_.error(place, escaped_in_quotes(*name) + " is not model or onnxruntime");
    }
  }

  void read_part(std::size_t at) {
    constexpr std::string_view kWanted =
        R"(an object like {"min_ops": {"Conv": 2}, "not_only": ["Reshape"]})";
    places_.mark(list_.part, at);
    json_.each_field("\"part\"", kWanted, [&](const std::string& key, std::size_t field) {
      if (key == "min_ops") return read_min_ops();
      if (key == "not_only") return read_not_only();
      json_.pass_unknown(field, key, "\"part\"", {"min_ops", "not_only"});
    });
  }

  void read_min_ops() {
    json_.each_field("\"min_ops\"", R"(an object like {"Conv": 2})",
                     [&](const std::string& op, std::size_t) {
                       const auto count = json_.take_integer(escaped_in_quotes(op), 1);
                       if (!count) return;
                       list_.part.min_ops.push_back({op, static_cast<std::uint64_t>(*count)});
                     });
  }

  void read_not_only() {
    json_.each_item("\"not_only\"", "a list of ops", [&] {
      if (auto op = json_.take_text("an op of \"not_only\"")) {
        list_.part.not_only.push_back(*std::move(op));
      }
    });
  }

  void read_format() {
    const std::size_t at = json_.offset();
    const auto format = json_.take_text("\"format\"");
    has_format_ = true;
    if (!format || *format == "cleave.support") return;
    refuse(at, "the format is " + escaped_in_quotes(*format) + ", not \"cleave.support\"" +
                   (*format == "cleave.graph" ? ": this is a model" : ""));
  }

  void read_version() {
    const std::size_t at = json_.offset();
    const auto version = json_.take_integer("\"version\"", 1);
    if (!version || *version <= kVersion) return;
    refuse(at, "version " + std::to_string(*version) +
                   " of the format is newer than this program, which reads version " +
                   std::to_string(kVersion));
    has_format_ = true;
  }

  void read_link() {
    constexpr std::string_view kWanted = "an object like {\"bandwidth\": \"gen4x16\"}";
    json_.each_field("\"link\"", kWanted, [&](const std::string& key, std::size_t at) {
      if (key != "bandwidth") return json_.pass_unknown(at, key, "\"link\"", {"bandwidth"});
      const std::size_t place = json_.offset();
      const auto bandwidth = json_.take_text("\"bandwidth\"");
      if (!bandwidth) return;
      list_.link = parse_link(*bandwidth);
      if (list_.link) return;
      faults_.error(place, escaped_in_quotes(*bandwidth) + bandwidth_refusal(*bandwidth));
    });
  }

  void read_limit(const std::string& key, std::optional<std::uint64_t>& limit) {
    const auto most = json_.take_integer(escaped_in_quotes(key), 0);
    if (most) limit = static_cast<std::uint64_t>(*most);
  }

  // Only checks the numbers: the list does not keep them, and list_target() reads them again.
  void read_target() { read_target_numbers(json_, faults_); }

  JsonWalk json_;
  TextFaults& faults_;
  SupportList& list_;
  PlaceCounter places_;
  Rule defaults_;
  std::vector<StatedFields> stated_;                      // of each allow rule
  std::vector<std::vector<StatedFields>> stated_by_ops_;  // of each pattern
  bool has_format_ = false;
  bool is_other_ = false;  // the file was refused as a whole
};

}  // namespace

void read_support_json(std::string_view text, SupportList& list, TextFaults& faults) {
  ListReader(text, list, faults).read();
}

}  // namespace cleave
