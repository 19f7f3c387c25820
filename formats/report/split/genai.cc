// genai_config.json: the phases of a model as a "decoder-pipeline" of onnxruntime-genai.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>

#include "core/base/words.h"
#include "core/graph/state.h"
#include "formats/base/json.h"
#include "formats/base/text.h"
#include "formats/onnx/write/writer.h"
#include "formats/report/split/split_texts.h"

namespace cleave {

namespace {

// What the runtime cannot know, with what most models have. Several ids may end a text.
struct Default {
  std::string_view key;
  std::uint64_t value;
  bool may_be_list = false;
};
constexpr std::array<Default, 4> kDefaults = {{{"bos_token_id", 1},
                                               {"eos_token_id", 2, true},
                                               {"pad_token_id", 0},
                                               {"context_length", 2048}}};

// Whether the text is a number as JSON has it, of 32 bits as the runtime reads it; or several, between commas.
bool is_number_or_list(std::string_view text, bool may_be_list) {
  for (bool is_last = false; !is_last;) {
    const std::size_t comma = may_be_list ? text.find(',') : text.npos;
    const std::string_view number = text.substr(0, comma);
    const bool is_plain = number == "0" || number.find_first_of("123456789") == 0;
    if (!is_plain || !parse_number<std::int32_t>(number)) return false;
    is_last = comma == text.npos;
    if (!is_last) text.remove_prefix(comma + 1);
  }
  return true;
}

// "past_key_values.0.key": the layer, and the name with %d in its place.
struct LayerName {
  std::string pattern;
  std::uint64_t layer = 0;
};

std::optional<LayerName> layer_name(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789";
  const std::size_t begin = name.find_first_of(kDigits);
  if (begin == name.npos) return std::nullopt;
  const std::size_t end = std::min(name.find_first_not_of(kDigits, begin), name.size());
  LayerName found;
  found.pattern = std::string(name.substr(0, begin)) + "%d" + std::string(name.substr(end));
  const auto read = std::from_chars(name.data() + begin, name.data() + end, found.layer);
  return read.ec == std::errc{} ? std::optional(found) : std::nullopt;
}

// The past and present of keys, or of values.
struct CacheNames {
  std::string past, present;
  std::vector<std::uint64_t> layers = {};
};

// Of "past_key_values.%d.key" and "past_%d_k", not of their values'.
bool says_key(std::string pattern) {
  constexpr std::string_view kBoth = "key_values";
  if (const std::size_t both = pattern.find(kBoth); both != pattern.npos) {
    pattern.erase(both, kBoth.size());
  }
  return pattern.find("key") != pattern.npos || pattern.find("_k") != pattern.npos ||
         pattern.find("k_") != pattern.npos || pattern.ends_with(".k");
}

class GenaiWriter {
 public:
  GenaiWriter(const PhasesReport& report, std::span<const std::string> given)
      : report_(report), given_(given), graph_(report.phases.front().graph) {}

  Result<GenaiConfig, Error> write() {
    if (auto fine = check_phases(); !fine) return std::move(fine).error();
    if (auto fine = read_given(); !fine) return std::move(fine).error();
    if (auto fine = find_caches(); !fine) return std::move(fine).error();
    if (auto fine = find_names(); !fine) return std::move(fine).error();
    return GenaiConfig{text(), note()};
  }

 private:
  // One for prompts of any length, one for new tokens; caches that grow as they like.
  Status<> check_phases() {
    std::size_t prompts = 0, tokens = 0;
    for (const Report& phase : report_.phases) {
      const std::string name = "phase " + phase.phase->spec.name;
      if (!phase.phase->tokens) {
        ++prompts;
      } else if (*phase.phase->tokens == 1) {
        ++tokens;
      } else {
        return Error{
            "--pipeline genai: " + name + " takes " + count_text(*phase.phase->tokens) +
                " tokens at a time, and onnxruntime-genai gives the parts of a prompt all of it",
            std::nullopt,
            {"leave the number of tokens open in the phase of the prompt"}};
      }
      for (const StatePair& pair : phase.graph.state().pairs) {
        const auto shape = phase.graph.shape(pair.input);
        if (pair.kind != StateKind::grows || pair.axis >= shape.size()) continue;
        if (!shape[pair.axis].is_fixed()) continue;
        return Error{"--pipeline genai: " + name + " fixes the size of the cache " +
                         escaped_in_quotes(phase.graph.value(pair.input).name) +
                         ", and onnxruntime-genai gives a cache of the size that it has",
                     std::nullopt,
                     {"leave that size open"}};
      }
    }
    if (prompts == 1 && tokens == 1) return Done{};
    return Error{
        "--pipeline genai takes a phase for the prompt, of any number of tokens, and one for a new "
        "token: without either ids would be wrong",
        std::nullopt,
        {"give --phase prompt: --phase token:T=1, where T is the number of tokens"}};
  }

  Status<> read_given() {
    for (const Default& known : kDefaults) values_[known.key] = std::to_string(known.value);
    for (const std::string& text : given_) {
      const std::string key = text.substr(0, text.find('='));
      const auto* const known = std::ranges::find(kDefaults, key, &Default::key);
      const std::string value = text.substr(std::min(key.size() + 1, text.size()));
      if (known == kDefaults.end() || !is_number_or_list(value, known->may_be_list)) {
        return Error{"--pipeline genai: " + in_quotes(text) +
                     " is none of bos_token_id=1, eos_token_id=2 or 2,3, pad_token_id=0 and "
                     "context_length=2048"};
      }
      values_[known->key] = value;
      given_keys_.push_back(known->key);
    }
    return Done{};
  }

  Status<> find_caches() {
    const Error refusal{
        "--pipeline genai: onnxruntime-genai takes one key and one value of each layer that grow, "
        "and the state of the model is not that",
        std::nullopt,
        {"--state IN=OUT says which outputs are the next values of which inputs"}};
    for (const StatePair& pair : graph_.state().pairs) {
      if (pair.kind != StateKind::grows) return refusal;
      const auto past = layer_name(graph_.value(pair.input).name);
      const auto present = layer_name(graph_.value(pair.output).name);
      if (!past || !present || past->layer != present->layer) return refusal;
      const auto same = std::ranges::find(caches_, past->pattern, &CacheNames::past);
      if (same == caches_.end()) {
        caches_.push_back({past->pattern, present->pattern, {past->layer}});
      } else {
        same->layers.push_back(past->layer);
      }
    }
    if (caches_.size() != 2) return refusal;
    for (CacheNames& cache : caches_) {
      std::ranges::sort(cache.layers);
      for (std::size_t i = 0; i < cache.layers.size(); ++i) {
        if (cache.layers[i] != i) return refusal;
      }
    }
    if (caches_[0].layers.size() != caches_[1].layers.size()) return refusal;
    if (!says_key(caches_[0].past) && says_key(caches_[1].past)) {
      std::swap(caches_[0], caches_[1]);
    }
    return Done{};
  }

  Status<> find_names() {
    for (const ValueId input : graph_.inputs()) {
      if (graph_.state_of(input) != nullptr) continue;
      const std::string_view name = graph_.value(input).name;
      const std::string_view role = name.find("mask") != name.npos       ? "attention_mask"
                                    : name.find("position") != name.npos ? "position_ids"
                                    : name.find("ids") != name.npos      ? "input_ids"
                                                                         : "";
      if (role.empty() || !inputs_.emplace(role, name).second) {
        return Error{"--pipeline genai: onnxruntime-genai has nothing to give to the input " +
                     escaped_in_quotes(name)};
      }
    }
    for (const ValueId output : graph_.outputs()) {
      if (graph_.state_of(output) != nullptr) continue;
      const auto shape = graph_.shape(output);
      const bool is_logits = !shape.empty() && shape.back().is_fixed();
      if (is_logits && logits_ == kNone<ValueId>) logits_ = output;
    }
    if (!inputs_.contains("input_ids") || logits_ == kNone<ValueId>) {
      return Error{
          "--pipeline genai: the model has no input of token ids, or no output of logits whose "
          "last size, the vocabulary, is known"};
    }
    return Done{};
  }

  // `read`: the values that partitions of the phase read.
  static void write_part(JsonText& json, const Report& phase, PartId part, const ValueSet& read) {
    const std::string& file = phase.part_files[index(part)];
    const Boundaries& boundaries = phase.split.boundaries;
    json.begin_object();
    json.key(file.substr(0, file.rfind('.')));
    json.begin_object();
    json.text("filename", file);
    json.begin_list("inputs", kOneLine);
    for (const ValueId input : boundaries.inputs[part]) {
      json.text(name_for_readers(phase.graph, input));
    }
    json.end_list();
    json.begin_list("outputs", kOneLine);
    for (const ValueId output : boundaries.outputs[part]) {
      json.text(phase.graph.value(output).name);
      const std::string other = name_for_readers(phase.graph, output);
      if (read.contains(output) && other != phase.graph.value(output).name) json.text(other);
    }
    json.end_list();
    const bool is_prompt = !phase.phase->tokens;
    json.flag("run_on_prompt", is_prompt);
    json.flag("run_on_token_gen", !is_prompt);
    json.end_object();
    json.end_object();
  }

  void write_ids(JsonText& json, std::string_view key) const {
    const std::string& value = values_.at(key);
    json.key(key);
    json.document(value.find(',') == value.npos ? value : "[" + value + "]");
  }

  std::string text() const {
    JsonText json;
    json.begin_object();
    json.begin_object("model");
    json.text("type", "decoder-pipeline");
    for (const Default& known : kDefaults) write_ids(json, known.key);
    json.number("vocab_size", graph_.shape(logits_).back().size());
    json.begin_object("decoder");
    json.begin_object("session_options");
    json.begin_list("provider_options", kOneLine);
    json.end_list();
    json.end_object();
    json.number("num_hidden_layers", caches_[0].layers.size());
    const auto cache = graph_.shape(graph_.state().pairs.front().input);
    if (cache.size() == 4 && cache[1].is_fixed() && cache[3].is_fixed()) {
      json.number("num_key_value_heads", cache[1].size());
      json.number("head_size", cache[3].size());
    }
    json.begin_object("inputs");
    for (const auto& [role, name] : inputs_) json.text(role, name);
    json.text("past_key_names", caches_[0].past);
    json.text("past_value_names", caches_[1].past);
    json.end_object();
    json.begin_object("outputs");
    json.text("logits", graph_.value(logits_).name);
    json.text("present_key_names", caches_[0].present);
    json.text("present_value_names", caches_[1].present);
    json.end_object();
    json.begin_list("pipeline");
    for (const Report& phase : report_.phases) {
      ValueSet read(phase.graph.value_count());
      for (const ValueId input : phase.split.boundaries.inputs.items) read.insert(input);
      for (const PartId part : phase.split.partition.parts()) {
        if (phase.split.boundaries.outputs[part].empty()) continue;
        write_part(json, phase, part, read);
      }
    }
    json.end_list();
    json.end_object();
    json.end_object();
    json.begin_object("search");
    json.flag("do_sample", false);
    json.flag("past_present_share_buffer", false);
    json.end_object();
    json.end_object();
    return std::move(json).finish();
  }

  std::string note() const {
    std::string assumed;
    for (const Default& known : kDefaults) {
      if (contains(given_keys_, known.key)) continue;
      assumed +=
          (assumed.empty() ? "" : ", ") + std::string(known.key) + "=" + values_.at(known.key);
    }
    return assumed.empty() ? ""
                           : "genai_config.json assumes " + assumed +
                                 ": --pipeline genai:KEY=VALUE says what they are";
  }

  const PhasesReport& report_;
  std::span<const std::string> given_;
  const Graph& graph_;  // of the first phase
  std::map<std::string_view, std::string> values_;
  std::vector<std::string_view> given_keys_;
  std::vector<CacheNames> caches_;                       // keys, then values
  std::map<std::string_view, std::string_view> inputs_;  // by what onnxruntime-genai calls them
  ValueId logits_ = kNone<ValueId>;
};

}  // namespace

Result<GenaiConfig, Error> genai_config(const PhasesReport& report,
                                        std::span<const std::string> given) {
  return GenaiWriter(report, given).write();
}

}  // namespace cleave
