// Descriptions of compilers, and what their answers mean.
#include "formats/run/backend/backend.h"

#include <unistd.h>
#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <re2/re2.h>

#include "core/base/quantity.h"
#include "core/base/words.h"
#include "formats/base/files.h"
#include "formats/base/json.h"

namespace cleave {

// ---- line pattern ----

Result<LinePattern, std::string> LinePattern::parse(std::string_view text) {
  RE2::Options options(RE2::Latin1);  // in UTF-8 a dot would not match a byte that is no character
  options.set_log_errors(false);
  auto pattern = std::make_shared<const RE2>(re2::StringPiece(text.data(), text.size()), options);
  if (pattern->ok()) return LinePattern(std::move(pattern));
  return "is not a regular expression of RE2: " + pattern->error();
}

bool LinePattern::matches(std::string_view line) const {
  return RE2::PartialMatch(re2::StringPiece(line.data(), line.size()), *pattern_);
}

// ---- lower verdict ----

std::string_view verdict_name(LowerVerdict verdict) {
  static constexpr std::array<std::string_view, 18> kNames = {"lowered",
                                                              "nothing to lower",
                                                              "partly lowered",
                                                              "refused",
                                                              "no output",
                                                              "crashed",
                                                              "timed out",
                                                              "out of memory",
                                                              "too large",
                                                              "wrong values",
                                                              "lower precision",
                                                              "order of ties",
                                                              "one quantisation step",
                                                              "not run",
                                                              "flaky",
                                                              "lost",
                                                              "no room",
                                                              "driver"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::optional<LowerVerdict> verdict_named(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(LowerVerdict::driver); ++i) {
    if (verdict_name(static_cast<LowerVerdict>(i)) == name) return static_cast<LowerVerdict>(i);
  }
  return std::nullopt;
}

bool is_refusal(LowerVerdict verdict) {
  using enum LowerVerdict;
  constexpr auto kRefusals = std::to_array(
      {partly, refused, no_output, crashed, timed_out, out_of_memory, too_large, wrong_values});
  return contains(kRefusals, verdict);
}

bool is_success(LowerVerdict verdict) {
  return verdict == LowerVerdict::lowered || verdict == LowerVerdict::nothing ||
         verdict == LowerVerdict::tie_order || verdict == LowerVerdict::one_step ||
         verdict == LowerVerdict::lower_precision || verdict == LowerVerdict::not_run;
}

bool may_be_chance(LowerVerdict verdict) { return verdict == LowerVerdict::crashed; }

// ---- placeholders ----

namespace {

constexpr auto kScalars =
    std::to_array<std::string_view>({"model", "out", "workdir", "here", "cleave", "seed"});
constexpr auto kLists =
    std::to_array<std::string_view>({"inputs", "outputs", "input_names", "output_names", "shapes"});

// The name of the placeholder that begins at `at`, which is a '{'.
std::optional<std::string_view> name_at(std::string_view text, std::size_t at) {
  const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", at + 1);
  if (end == text.npos || end == at + 1 || text[end] != '}') return std::nullopt;
  return text.substr(at + 1, end - at - 1);
}

const std::vector<std::string>* list_named(std::string_view name, const PlaceholderValues& values) {
  const std::array<const std::vector<std::string>*, kLists.size()> lists = {
      &values.inputs, &values.outputs, &values.input_names, &values.output_names, &values.shapes};
  for (std::size_t i = 0; i < kLists.size(); ++i) {
    if (kLists[i] == name) return lists[i];
  }
  return nullptr;
}

std::string scalar_named(std::string_view name, const PlaceholderValues& values) {
  const std::array<std::string, kScalars.size()> texts = {
      values.model,
      values.out,
      values.workdir,
      values.here,
      values.cleave.empty() ? "{cleave}" : values.cleave,
      std::to_string(values.seed)};
  for (std::size_t i = 0; i < kScalars.size(); ++i) {
    if (kScalars[i] == name) return texts[i];
  }
  return "{" + std::string(name) + "}";
}

// How often the word is repeated: the length of its first list; nullopt when it has none.
std::optional<std::size_t> repeats(std::string_view word, const PlaceholderValues& values) {
  for (std::size_t at = word.find('{'); at != word.npos; at = word.find('{', at + 1)) {
    const auto name = name_at(word, at);
    if (!name) continue;
    if (const auto* const list = list_named(*name, values)) return list->size();
  }
  return std::nullopt;
}

std::string expand_word(std::string_view word, const PlaceholderValues& values, std::size_t item) {
  std::string out;
  for (std::size_t at = 0; at < word.size();) {
    const auto name = word[at] == '{' ? name_at(word, at) : std::nullopt;
    if (!name) {
      out += word[at++];
      continue;
    }
    const auto* const list = list_named(*name, values);
    if (list == nullptr) out += scalar_named(*name, values);
    if (list != nullptr && item < list->size()) out += (*list)[item];
    at += name->size() + 2;
  }
  return out;
}

}  // namespace

std::size_t find_unknown_placeholder(std::string_view text) {
  for (std::size_t at = text.find('{'); at != text.npos; at = text.find('{', at + 1)) {
    const auto name = name_at(text, at);
    if (!name) continue;
    const bool is_known = contains(kScalars, *name) || contains(kLists, *name);
    if (!is_known) return at;
  }
  return text.npos;
}

std::string placeholder_list() {
  std::string text;
  const auto add = [&](std::string_view name) {
    text += (text.empty() ? "{" : ", {") + std::string(name) + "}";
  };
  for (const std::string_view name : kScalars) add(name);
  for (const std::string_view name : kLists) add(name);
  return text;
}

std::vector<std::string> expand_words(const std::vector<std::string>& words,
                                      const PlaceholderValues& values) {
  std::vector<std::string> out;
  for (const std::string& word : words) {
    const auto count = repeats(word, values);
    for (std::size_t i = 0; i < count.value_or(1); ++i) out.push_back(expand_word(word, values, i));
  }
  return out;
}

// ---- backend ----

double CompareTolerance::atol_of(double largest) const {
  return std::min(atol, std::max(atol * largest, rounding));
}

double rounding_of(std::string_view compute) {
  if (compute == "float16") return 0x1p-10;
  if (compute == "bfloat16") return 0x1p-7;
  // float32: of 2^-23, what long sums of numbers near 1 add up to in another order of the terms.
  return 0x1p-17;
}

std::string_view lower_stage_name(LowerStage stage) {
  static constexpr std::array<std::string_view, 3> kNames = {"check", "compile", "run"};
  return kNames[static_cast<std::size_t>(stage)];
}

std::optional<LowerStage> lower_stage_named(std::string_view name) {
  for (const LowerStage stage : {LowerStage::check, LowerStage::compile, LowerStage::run}) {
    if (lower_stage_name(stage) == name) return stage;
  }
  return std::nullopt;
}

bool BackendServe::does(std::string_view op) const { return contains(ops, op); }

const BackendCommand* Backend::command(LowerStage stage) const {
  const std::optional<BackendCommand>* const commands[] = {&check, &compile, &run};
  const auto& wanted = *commands[static_cast<std::size_t>(stage)];
  return wanted ? &*wanted : nullptr;
}

bool Backend::has(LowerStage stage) const {
  return command(stage) != nullptr || (serve && serve->does(lower_stage_name(stage)));
}

bool Backend::may_take(std::string_view format) const {
  return takes.empty() || contains(takes, format);
}

std::string Backend::title(std::string_view identity_text) const {
  return name + (identity_text.empty() ? "" : " " + std::string(identity_text));
}

// ---- backend file ----

// 1. Read the fields of the object, in any order; warn of unknown ones.
// 2. Check that placeholders in words exist and that patterns are regular expressions.
// 3. Finally check conditions on several fields.

namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 20U;

class BackendReader {
 public:
  BackendReader(std::string_view text, Backend& backend, TextFaults& faults)
      : json_(text, faults), faults_(faults), backend_(backend) {}

  void read() {
    json_.each_field("a backend file", "an object",
                     [&](const std::string& key, std::size_t at) { read_field(key, at); });
    json_.finish();
    backend_.tolerance.rounding = rounding_of(backend_.compute);
    if (json_.is_over() || !faults_.errors().empty()) return;
    check_whole();
  }

 private:
  void check_whole() {
    if (!has_format_)
      faults_.error(0, "no \"format\": a backend file has \"format\": \"cleave.backend\"");
    if (backend_.name.empty()) faults_.error(0, "no \"name\": reports name the backend by it");
    if (!backend_.compile && !backend_.serve && !backend_.check) {
      faults_.error(0, "neither \"compile\" nor \"serve\": there is no way to compile a model");
    }
  }

  void read_field(const std::string& key, std::size_t at) {
    if (key == "format") return read_format();
    if (key == "version") return read_version();
    if (key == "name") return take(key, backend_.name);
    if (key == "identity") return read_words(key, backend_.identity);
    if (key == "check") return read_command(key, backend_.check);
    if (key == "compile") return read_command(key, backend_.compile);
    if (key == "run") return read_command(key, backend_.run);
    if (key == "serve") return read_serve();
    if (key == "env") return read_environment();
    if (key == "failed_if") return read_patterns();
    if (key == "message") return read_message();
    if (key == "compare") return read_compare();
    if (key == "jobs") return read_jobs();
    if (key == "max_model") return read_bytes(key, backend_.model_bytes);
    if (key == "max_file") return read_bytes(key, backend_.file_bytes);
    if (key == "opset") return read_opset();
    if (key == "takes") return read_takes();
    json_.pass_unknown(
        at, key, "the backend",
        {"format", "version", "name", "identity", "check", "compile", "run", "serve", "env",
         "failed_if", "message", "compare", "jobs", "max_model", "max_file", "opset", "takes"});
  }

  void take(const std::string& key, std::string& field) {
    if (auto text = json_.take_text(escaped_in_quotes(key))) field = *std::move(text);
  }

  void read_format() {
    const std::size_t at = json_.offset();
    const auto format = json_.take_text("\"format\"");
    has_format_ = true;
    if (!format || *format == "cleave.backend") return;
    faults_.error(at, "the format is " + escaped_in_quotes(*format) + ", not \"cleave.backend\"");
  }

  void read_version() {
    const std::size_t at = json_.offset();
    const auto version = json_.take_integer("\"version\"", 1);
    if (!version || *version <= kVersion) return;
    faults_.error(at, "version " + std::to_string(*version) +
                          " of the format is newer than this program, which reads version 1");
  }

  void check_word(std::size_t at, std::string_view word) {
    const std::size_t unknown = find_unknown_placeholder(word);
    if (unknown == word.npos) return;
    const std::string_view name = word.substr(unknown, word.find('}', unknown) + 1 - unknown);
    faults_.error(at, escaped_in_quotes(name) + " is not a placeholder",
                  {"there are " + placeholder_list()});
  }

  void read_words(const std::string& key, std::vector<std::string>& words) {
    const std::size_t at = json_.offset();
    const std::string what = escaped_in_quotes(key);
    json_.each_item(what, "a list of words, the program first", [&] {
      const std::size_t place = json_.offset();
      auto word = json_.take_text("a word of " + what);
      if (!word) return;
      check_word(place, *word);
      words.push_back(*std::move(word));
    });
    if (words.empty() && faults_.errors().empty()) {
      faults_.error(at, what + " is empty: the first word is the program");
    }
  }

  void read_duration(const std::string& key, double& seconds) {
    const std::size_t at = json_.offset();
    if (json_.type() == JsonType::number) {
      if (const auto number = json_.take_real(escaped_in_quotes(key))) seconds = *number;
    } else if (const auto text = json_.take_text(escaped_in_quotes(key))) {
      const auto parsed = parse_duration(*text);
      if (!parsed)
        faults_.error(at, escaped_in_quotes(*text) + " is not a time: write \"60s\" or \"5min\"");
      seconds = parsed.value_or(seconds);
    }
    if (seconds <= 0) faults_.error(at, escaped_in_quotes(key) + " must be above 0");
  }

  void read_bytes(const std::string& key, std::uint64_t& bytes) {
    const std::size_t at = json_.offset();
    const auto text = json_.take_text(escaped_in_quotes(key));
    if (!text) return;
    const auto parsed = parse_bytes(*text);
    if (!parsed) faults_.error(at, escaped_in_quotes(*text) + " is not a size: write \"8GiB\"");
    bytes = parsed.value_or(0);
  }

  void read_command(const std::string& key, std::optional<BackendCommand>& command) {
    const std::size_t at = json_.offset();
    command.emplace();
    const auto read_one = [&](const std::string& field, std::size_t place) {
      if (field == "argv") return read_words(field, command->argv);
      if (field == "produces") return read_words(field, command->produces);
      if (field == "timeout") return read_duration(field, command->timeout_seconds);
      if (field == "memory") return read_bytes(field, command->memory_bytes);
      if (field == "tensors" && key == "run") return read_tensors();
      json_.pass_unknown(place, field, escaped_in_quotes(key),
                         {"argv", "produces", "timeout", "memory", "tensors"});
    };
    json_.each_field(escaped_in_quotes(key), "an object like {\"argv\": [...]}", read_one);
    if (command->argv.empty() && faults_.errors().empty()) {
      faults_.error(at, escaped_in_quotes(key) + " has no \"argv\"");
    }
  }

  void read_tensors() {
    const std::size_t at = json_.offset();
    const auto text = json_.take_text("\"tensors\"");
    if (!text) return;
    if (*text == "pb") {
      backend_.tensors = TensorFormat::pb;
    } else if (*text == "npy") {
      backend_.tensors = TensorFormat::npy;
    } else if (*text == "raw") {
      backend_.tensors = TensorFormat::raw;
    } else {
      faults_.error(at, escaped_in_quotes(*text) + " is not one of \"pb\", \"npy\", \"raw\"");
    }
  }

  void read_serve() {
    const std::size_t at = json_.offset();
    BackendServe& serve = backend_.serve.emplace();
    const auto read_one = [&](const std::string& field, std::size_t place) {
      if (field == "argv") return read_words(field, serve.argv);
      if (field == "start_timeout") return read_duration(field, serve.start_timeout_seconds);
      if (field == "timeout") return read_duration(field, serve.timeout_seconds);
      if (field == "memory") return read_bytes(field, serve.memory_bytes);
      if (field == "restart_after") {
        const auto calls = json_.take_integer("\"restart_after\"", 1);
        if (calls) serve.restart_after = static_cast<std::uint32_t>(*calls);
        return;
      }
      if (field == "ops") {
        serve.ops.clear();
        return read_words(field, serve.ops);
      }
      json_.pass_unknown(place, field, "\"serve\"",
                         {"argv", "ops", "start_timeout", "timeout", "memory", "restart_after"});
    };
    json_.each_field("\"serve\"", "an object like {\"argv\": [...]}", read_one);
    if (serve.argv.empty() && faults_.errors().empty())
      faults_.error(at, "\"serve\" has no \"argv\"");
  }

  void read_environment() {
    json_.each_field("\"env\"", "an object", [&](const std::string& field, std::size_t place) {
      if (field == "set") return read_variables();
      if (field != "pass") return json_.pass_unknown(place, field, "\"env\"", {"set", "pass"});
      backend_.environment.pass.clear();
      json_.each_item("\"pass\"", "a list of names of variables", [&] {
        if (auto name = json_.take_text("a name")) {
          backend_.environment.pass.push_back(*std::move(name));
        }
      });
    });
  }

  void read_variables() {
    json_.each_field("\"set\"", "an object of strings", [&](const std::string& name, std::size_t) {
      if (auto value = json_.take_text(escaped_in_quotes(name))) {
        backend_.environment.set.emplace_back(name, *std::move(value));
      }
    });
  }

  void read_pattern(const std::string& what, std::string& pattern) {
    const std::size_t at = json_.offset();
    auto text = json_.take_text(what);
    if (!text) return;
    if (const auto parsed = LinePattern::parse(*text); !parsed) {
      faults_.error(at, escaped_in_quotes(*text) + " " + escaped(parsed.error()));
    }
    pattern = *std::move(text);
  }

  void read_patterns() {
    json_.each_item("\"failed_if\"", "a list of regular expressions", [&] {
      read_pattern("a pattern of \"failed_if\"", backend_.failed_if.emplace_back());
    });
  }

  void read_message() {
    json_.each_field("\"message\"", "an object", [&](const std::string& field, std::size_t place) {
      if (field == "begin") return read_pattern("\"begin\"", backend_.message_begin);
      if (field == "drop") return read_pattern("\"drop\"", backend_.message_drop);
      json_.pass_unknown(place, field, "\"message\"", {"begin", "drop"});
    });
  }

  void read_tolerance(const std::string& key, double& number) {
    const std::size_t at = json_.offset();
    const auto read = json_.take_real(escaped_in_quotes(key));
    if (read && *read < 0) faults_.error(at, escaped_in_quotes(key) + " must not be below 0");
    if (read) number = *read;
  }

  void read_compute() {
    const std::size_t at = json_.offset();
    take("compute", backend_.compute);
    CompareTolerance& tolerance = backend_.tolerance;
    if (backend_.compute == "float16") {
      tolerance = {.rtol = 1e-2, .atol = 1e-3, .integers = tolerance.integers};
    } else if (backend_.compute == "bfloat16") {
      tolerance = {.rtol = 2e-2, .atol = 2e-2, .integers = tolerance.integers};
    } else if (backend_.compute != "float32") {
      faults_.error(at, escaped_in_quotes(backend_.compute) +
                            " is not one of \"float32\", \"float16\", \"bfloat16\"");
    }
  }

  void read_compare() {
    std::optional<double> rtol, atol;
    json_.each_field("\"compare\"", "an object", [&](const std::string& field, std::size_t place) {
      if (field == "rtol") return read_tolerance(field, rtol.emplace(0));
      if (field == "atol") return read_tolerance(field, atol.emplace(0));
      if (field == "compute") return read_compute();
      if (field == "float32") return take("float32", backend_.float32_backend);
      if (field == "int_tolerance") {
        const auto number = json_.take_integer("\"int_tolerance\"", 0);
        if (number) backend_.tolerance.integers = *number;
        return;
      }
      json_.pass_unknown(place, field, "\"compare\"",
                         {"rtol", "atol", "compute", "float32", "int_tolerance"});
    });
    backend_.tolerance.rtol = rtol.value_or(backend_.tolerance.rtol);
    backend_.tolerance.atol = atol.value_or(backend_.tolerance.atol);
  }

  void read_jobs() {
    const auto jobs = json_.take_integer("\"jobs\"", 1);
    if (jobs) backend_.jobs = static_cast<unsigned>(*jobs);
  }

  void read_opset() {
    const std::size_t at = json_.offset();
    std::vector<std::int64_t> range;
    json_.each_item("\"opset\"", "a list of the lowest and the highest", [&] {
      if (const auto number = json_.take_integer("an opset", 1)) range.push_back(*number);
    });
    if (range.size() != 2 || range[0] > range[1]) {
      return faults_.error(at, "\"opset\" must be the lowest and the highest, as in [13, 21]");
    }
    backend_.lowest_opset = range[0];
    backend_.highest_opset = range[1];
  }

  void read_takes() {
    json_.each_item("\"takes\"", "a list of formats of models", [&] {
      const std::size_t at = json_.offset();
      auto format = json_.take_text("a format");
      if (!format) return;
      if (!contains(kTakenFormats, *format)) {
        faults_.error(at,
                      escaped_in_quotes(*format) + " is not one of \"onnx\", \"pt2\", \"tflite\"");
      }
      backend_.takes.push_back(*std::move(format));
    });
  }

  JsonWalk json_;
  TextFaults& faults_;
  Backend& backend_;
  bool has_format_ = false;
};

// Absolute, since backends have their own working directories.
std::string folder_of(const std::string& path) {
  std::array<char, 4096> room;
  const bool is_relative = !path.starts_with('/') && ::getcwd(room.data(), room.size()) != nullptr;
  const std::string whole = is_relative ? std::string(room.data()) + "/" + path : path;
  const std::size_t slash = whole.rfind('/');
  return slash == 0 ? "/" : whole.substr(0, slash);
}

}  // namespace

Loaded<LoadedBackend> parse_backend(const std::string& path, std::string_view bytes) {
  LoadedBackend loaded;
  loaded.backend.path = path;
  loaded.backend.folder = folder_of(path);
  loaded.backend.text = bytes;
  const PaddedJson padded(bytes);
  const std::string_view text = padded.text();
  TextFaults faults(path, text);
  BackendReader(text, loaded.backend, faults).read();
  if (!faults.errors().empty()) return std::move(faults.errors());
  loaded.warnings = std::move(faults.warnings());
  return loaded;
}

Loaded<LoadedBackend> read_backend_file(const std::string& path) {
  const auto source = SourceFile::open(path, kMostBytes);
  if (!source) return source.error();
  return parse_backend(path, source->bytes());
}

namespace fs = std::filesystem;

bool is_short_backend(std::string_view text) {
  const std::size_t equals = text.find('=');
  return equals != text.npos && text.substr(0, equals).find('/') == text.npos;
}

Result<Backend, std::string> parse_short_backend(std::string_view text) {
  const std::size_t equals = text.find('=');
  Backend backend;
  backend.name = text.substr(0, equals);
  backend.text = text;
  backend.folder = ".";
  if (backend.name.empty()) return std::string("has no name before \"=\"");
  const auto words = shell_words(text.substr(equals + 1));
  if (!words) return std::string("has a quote that is not closed");
  if (words->empty()) return std::string("has no command after \"=\"");
  for (const std::string& word : *words) {
    const std::size_t unknown = find_unknown_placeholder(word);
    if (unknown == word.npos) continue;
    return escaped_in_quotes(word.substr(unknown, word.find('}', unknown) + 1 - unknown)) +
           " is not a placeholder: there are " + placeholder_list();
  }
  backend.compile = BackendCommand{.argv = *words};
  // The command runs in a folder of its own: files of this one are named in full. A program by its name alone is on PATH.
  std::error_code error;
  auto& argv = backend.compile->argv;
  for (std::string& word : argv) {
    const bool is_program = &word == &argv.front() && word.find('/') == word.npos;
    if (!is_program && fs::is_regular_file(word, error)) word = fs::absolute(word, error).string();
  }
  return backend;
}

std::optional<std::vector<std::string>> shell_words(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  char quote = '\0';
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool is_blank = c == ' ' || c == '\t' || c == '\n';
    if (quote == '\0' && is_blank) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (quote == '\0' && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = '\0';
    } else if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      words.back() += text[++i];
    } else {
      words.back() += c;
    }
  }
  if (quote != '\0') return std::nullopt;
  return words;
}

namespace {

std::string name_of(const std::string& path) { return fs::path(path).stem().string(); }

Diagnostics unknown_backend(const std::string& text) {
  Diagnostic fault =
      diagnostic_of(text, "is not a backend file, and no backend of that name is known");
  const std::vector<std::string> known = backend_files();
  const std::string names = capped_list(known, known.size(), name_of);
  fault.notes.push_back(names.empty() ? "no folder of backend files is known: set CLEAVE_BACKENDS "
                                        "to samples/backends of cleave's sources"
                                      : "there are " + names);
  fault.notes.emplace_back("a command is given as NAME='program {model} -o {out}'");
  return {fault};
}

}  // namespace

std::vector<std::string> backend_folders() {
  auto folders = named_file_folders("CLEAVE_BACKENDS", "../share/cleave/samples/backends");
  std::error_code error;
  // The sources, where the program is in build/PRESET below them.
  for (std::string& folder : named_file_folders(nullptr, "../../samples/backends")) {
    const bool is_known = std::ranges::any_of(
        folders, [&](const std::string& one) { return fs::equivalent(one, folder, error); });
    if (!is_known) folders.push_back(std::move(folder));
  }
  return folders;
}

std::string cleave_folder(const std::string& here) {
  std::vector<std::string> folders = backend_folders();
  folders.push_back(here);
  for (const std::string& folder : folders) {
    std::error_code error;
    const fs::path root = fs::weakly_canonical(folder, error).parent_path().parent_path();
    if (!error && fs::is_directory(root / "scripts" / "backends", error)) return root.string();
  }
  return {};
}

std::vector<std::string> backend_files() { return json_files_in(backend_folders()); }

Loaded<LoadedBackend> find_backend(const std::string& text) {
  if (is_short_backend(text)) {
    auto backend = parse_short_backend(text);
    if (!backend) return Diagnostics{diagnostic_of(text, backend.error())};
    return LoadedBackend{*std::move(backend), {}};
  }
  std::error_code error;
  const bool is_file = fs::exists(text, error);
  // A command without NAME= before it is no file, whatever is in it.
  if (!is_file && text.find('{') != text.npos) return unknown_backend(text);
  if (text.find('/') != text.npos || (is_file && text.ends_with(".json"))) {
    return read_backend_file(text);
  }
  for (const std::string& path : backend_files()) {
    if (name_of(path) == text) return read_backend_file(path);
  }
  // The list shows the names within the files.
  for (const std::string& path : backend_files()) {
    auto loaded = read_backend_file(path);
    if (loaded && loaded->backend.name == text) return loaded;
  }
  // Last, so that no file of the working folder is taken for a known backend.
  return is_file ? read_backend_file(text) : unknown_backend(text);
}

}  // namespace cleave
