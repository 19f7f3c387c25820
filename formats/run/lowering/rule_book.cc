// Rules that were learned, and verdicts that are kept.

#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/base/words.h"
#include "core/graph/graph.h"
#include "core/lowering/lowering.h"
#include "formats/base/files.h"
#include "formats/base/process.h"
#include "formats/run/lowering/lowering_job.h"

namespace cleave {

// ---- verdict store ----

namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

bool says_something(LowerVerdict verdict) {
  using enum LowerVerdict;
  constexpr auto kSaying = std::to_array({lowered, nothing, partly, refused, no_output,
                                          wrong_values, lower_precision, tie_order, one_step});
  return contains(kSaying, verdict);
}

// False for what is no answer of the compiler: a run that continues asks again.
bool is_answer(LowerVerdict verdict) {
  return verdict != LowerVerdict::driver && verdict != LowerVerdict::no_room &&
         verdict != LowerVerdict::lost;
}

constexpr unsigned kVersion = 6;  // of the lines below, and of what counts as right
// The cache is a file that others may have written, or cut short: what is longer than line_of()
// writes is no entry.
constexpr std::size_t kMostKeyBytes = 200;
constexpr std::size_t kMostDetailBytes = 1000;
// A message is at most what is kept of an output, with a character for each byte that is none.
constexpr std::size_t kMostMessageBytes = 4 * 2 * (KeptOutput::kKept + KeptOutput::kLongestLine);
constexpr std::size_t kMostLineBytes = 6 * kMostMessageBytes;  // with escapes

std::string line_of(const std::string& key, const Attempt& attempt) {
  Json json = {{"version", kVersion},
               {"key", key},
               {"verdict", verdict_name(attempt.verdict)},
               {"stage", lower_stage_name(attempt.stage)},
               {"detail", attempt.detail},
               {"message", attempt.message},
               {"seconds", attempt.seconds},
               {"artefact_bytes", nullptr}};
  if (attempt.artefact_bytes) json["artefact_bytes"] = *attempt.artefact_bytes;
  Json& left = json["left"] = Json::array();
  for (const LeftOut& one : attempt.left) left.push_back({one.node, one.op, one.why});
  Json& compared = json["compared"] = Json::array();
  for (const ComparedOutput& one : attempt.compared) {
    compared.push_back(
        {one.name, one.most_apart, one.largest, one.rms, one.is_tested, one.is_finite});
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// A field of text of at most so many bytes.
std::optional<std::string> text_at(const Json& json, const char* key, std::size_t most_bytes) {
  const auto field = json.find(key);
  if (field == json.end() || !field->is_string()) return std::nullopt;
  auto text = field->get<std::string>();
  if (text.size() > most_bytes) return std::nullopt;
  return text;
}

// nullopt when it is not a list of three texts each.
std::optional<std::vector<LeftOut>> left_at(const Json& json) {
  const Json list = json.value("left", Json());
  if (!list.is_array()) return std::nullopt;
  std::vector<LeftOut> left;
  for (const Json& one : list) {
    const auto is_text = [](const Json& field) { return field.is_string(); };
    if (!one.is_array() || one.size() != 3 || !std::ranges::all_of(one, is_text)) {
      return std::nullopt;
    }
    left.push_back(
        {one[0].get<std::string>(), one[1].get<std::string>(), one[2].get<std::string>()});
  }
  return left;
}

// nullopt when it is not a list of outputs as line_of() writes them.
std::optional<std::vector<ComparedOutput>> compared_at(const Json& json) {
  const Json list = json.value("compared", Json());
  if (!list.is_array()) return std::nullopt;
  std::vector<ComparedOutput> compared;
  for (const Json& one : list) {
    const bool is_good = one.is_array() && one.size() == 6 && one[0].is_string() &&
                         one[1].is_number() && one[2].is_number() && one[3].is_number() &&
                         one[4].is_boolean() && one[5].is_boolean();
    if (!is_good) return std::nullopt;
    compared.push_back({one[0].get<std::string>(), one[1].get<double>(), one[2].get<double>(),
                        one[3].get<double>(), one[4].get<bool>(), one[5].get<bool>()});
  }
  return compared;
}

struct KnownVerdict {
  std::string key;
  Attempt attempt;
};

// What the line says; nullopt when it is not, in all its fields, what line_of() could have written.
std::optional<KnownVerdict> verdict_of(std::string_view line) {
  if (line.size() > kMostLineBytes) return std::nullopt;
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object() || json.value("version", Json()) != kVersion) return std::nullopt;
  auto key = text_at(json, "key", kMostKeyBytes);
  const auto verdict = verdict_named(text_at(json, "verdict", kMostDetailBytes).value_or(""));
  const auto stage = lower_stage_named(text_at(json, "stage", kMostDetailBytes).value_or(""));
  auto detail = text_at(json, "detail", kMostDetailBytes);
  auto message = text_at(json, "message", kMostMessageBytes);
  const Json seconds = json.value("seconds", Json()), bytes = json.value("artefact_bytes", Json());
  const bool has_times = seconds.is_number() && seconds.get<double>() >= 0 &&
                         (bytes.is_null() || bytes.is_number_unsigned());
  auto left = left_at(json);
  auto compared = compared_at(json);
  if (!key || !verdict || !stage || !detail || !message || !has_times || !left || !compared) {
    return std::nullopt;
  }
  Attempt attempt{.verdict = *verdict,
                  .stage = *stage,
                  .detail = *std::move(detail),
                  .message = *std::move(message),
                  .seconds = seconds.get<double>()};
  if (!bytes.is_null()) attempt.artefact_bytes = bytes.get<std::uint64_t>();
  attempt.left = *std::move(left);
  attempt.compared = *std::move(compared);
  return KnownVerdict{*std::move(key), std::move(attempt)};
}

// The line that names a temporary folder of this run; "" when it is not there.
std::string folder_line(const std::string& path) {
  const auto mark = mark_of_folder(path);
  if (!mark) return {};
  const Json json = {{"folder", mark->path}, {"device", mark->device}, {"inode", mark->inode}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// The folder that a line names.
std::optional<FolderMark> mark_of_line(std::string_view line) {
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const Json path = json.value("folder", Json()), device = json.value("device", Json()),
             inode = json.value("inode", Json());
  if (!path.is_string() || !device.is_number_unsigned() || !inode.is_number_unsigned()) {
    return std::nullopt;
  }
  return FolderMark{path.get<std::string>(), device.get<std::uint64_t>(),
                    inode.get<std::uint64_t>()};
}

}  // namespace

std::string default_verdict_cache() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && cache[0] == '/') return std::string(cache) + "/cleave/lower";
  const char* const home = std::getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.cache/cleave/lower" : "";
}

std::size_t count_journaled(const std::string& path) {
  struct stat status = {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  const std::string text = unrecorded_text(path, UINT64_MAX);
  std::size_t count = 0;
  for (const std::string_view line : lines_of(text)) count += verdict_of(line) ? 1U : 0U;
  return count;
}

// The lock of a journal is released when the process ends, however it ends: so who gets it knows
// that the runs before are over.
Status<Error> VerdictStore::open_journal(const std::string& path,
                                         const std::vector<std::string>& folders) {
  auto journal = JournalFile::open(path, "cleave lower", kVersion);
  if (!journal) return std::move(journal).error();
  journal_.emplace(*std::move(journal));
  for (const std::string_view line : lines_of(journal_->lines())) {
    if (auto known = verdict_of(line)) {
      if (!is_answer(known->attempt.verdict)) continue;
      journaled_.emplace(std::move(known->key), std::move(known->attempt));
    } else if (const auto left = mark_of_line(line)) {
      remove_left_folder(*left);
    }
  }
  std::string lines;
  for (const std::string& folder : folders) lines += folder_line(folder);
  return journal_->add(lines);
}

std::string VerdictStore::cache_path(const std::string& key) const {
  return cache_ + "/" + key.substr(0, 2) + "/" + key + ".json";
}

std::optional<Attempt> VerdictStore::find_in_cache(const std::string& key) const {
  if (cache_.empty()) return std::nullopt;
  auto known = verdict_of(unrecorded_text(cache_path(key), kMostLineBytes));
  if (!known || known->key != key) return std::nullopt;
  if (!says_something(known->attempt.verdict) && !is_refusal(known->attempt.verdict)) {
    return std::nullopt;
  }
  return std::move(known->attempt);
}

std::optional<Attempt> VerdictStore::find(const std::string& key, bool may_be_kept) {
  std::unique_lock lock(mutex_);
  added_.wait(lock, [&] { return !asked_.contains(key); });
  if (const auto known = seen_.find(key); known != seen_.end()) {
    Attempt attempt = known->second;
    attempt.is_cached = true;
    return attempt;
  }
  if (const auto event = journaled_.find(key); event != journaled_.end()) {
    Attempt attempt = event->second;
    seen_.emplace(key, attempt);
    journaled_.erase(event);
    return attempt;
  }
  auto cached = may_be_kept ? find_in_cache(key) : std::nullopt;
  if (!cached) {
    asked_.insert(key);
    return std::nullopt;
  }
  cached->is_cached = true;
  seen_.emplace(key, *cached);
  return cached;
}

bool VerdictStore::is_worth_keeping(LowerVerdict verdict) const {
  return says_something(verdict) || (trusts_failures_ && is_refusal(verdict));
}

void VerdictStore::release(const std::string& key) {
  const std::lock_guard lock(mutex_);
  if (asked_.erase(key) > 0) added_.notify_all();
}

Status<Error> VerdictStore::add(const std::string& key, const Attempt& attempt) {
  const std::lock_guard lock(mutex_);
  seen_.insert_or_assign(key, attempt);
  asked_.erase(key);
  added_.notify_all();
  // While the run is being stopped, compilers are killed and their files removed.
  if (!is_answer(attempt.verdict) || has_ended_children()) return Done{};
  if (journal_) {
    if (auto kept = journal_->add(line_of(key, attempt)); !kept) return kept;
  }
  keep(key, attempt);
  return Done{};
}

void VerdictStore::replace_kept(const std::string& key, const Attempt& attempt) {
  const auto kept = find_in_cache(key);
  if (kept && is_refusal(kept->verdict) && is_success(attempt.verdict)) keep(key, attempt);
}

// The cache is a convenience: what cannot be kept is computed again.
void VerdictStore::keep(const std::string& key, const Attempt& attempt) const {
  if (cache_.empty() || !is_worth_keeping(attempt.verdict)) return;
  const std::string line = line_of(key, attempt);
  const std::string path = cache_path(key);
  std::error_code error;
  fs::create_directories(fs::path(path).parent_path(), error);
  const std::string hidden = path + "." + std::to_string(::getpid());
  std::ofstream(hidden, std::ios::binary) << line;
  fs::rename(hidden, path, error);
}

// ---- rule book ----

namespace {

std::string rule_words(const Rule& rule) {
  if (rule.op.empty()) return "deny where " + rule.conditions.front().relation.text;
  std::string text = "deny op " + op_text(rule.domain, rule.op);
  if (!rule.node_name.empty()) text += " named " + rule.node_name;
  const bool has_conditions =
      !rule.conditions.empty() || !rule.inputs.empty() || !rule.outputs.empty();
  if (has_conditions) text += " under conditions";
  return text;
}

// True for a finding that is evidence against a node by itself.
bool speaks_of_each(FindingKind kind) {
  return kind == FindingKind::culprit || kind == FindingKind::left_out;
}

bool is_within(const Finding& finding, NodeId node) { return contains(finding.within, node); }

// True when the node was tried without a DequantizeLinear that makes an input of it, or a QuantizeLinear that reads
// an output: what is quantised with these was not tried.
bool is_cut_from_qdq(const Graph& graph, const Finding& finding, NodeId node) {
  if (finding.kind != FindingKind::culprit) return false;
  for (const Operand& operand : graph.operands(node)) {
    const NodeId maker = graph.value(operand.value).producer;
    if (maker == kNone<NodeId> || graph.is_parameter(operand.value)) continue;
    if (quant_role(graph, maker) == QuantRole::dequantize && !is_within(finding, maker))
      return true;
  }
  const auto readers = graph.readers(node);
  return std::ranges::any_of(readers, [&](NodeId reader) {
    return quant_role(graph, reader) == QuantRole::quantize && !is_within(finding, reader);
  });
}

std::string_view size_name(SizeOf of) {
  constexpr std::array<std::string_view, kSizeCount> kNames = {"nodes",
                                                               "bytes of parameters",
                                                               "inputs",
                                                               "outputs",
                                                               "bytes of activations",
                                                               "bytes of one tensor",
                                                               "elements of an axis"};
  return kNames[static_cast<std::size_t>(of)];
}

// How it failed, in the compiler's own words where there are any.
std::string words_of(const LowerFinding& found) {
  constexpr std::size_t kMostColumns = 200;
  const Finding& finding = found.finding;
  const bool is_said = finding.kind != FindingKind::left_out && !finding.message.empty();
  if (!is_said) return finding.signature;
  return (finding.how.empty() ? "" : finding.how + ": ") +
         lasting_line(finding.message, kMostColumns);
}

std::string finding_text(std::size_t index) { return "finding " + std::to_string(index + 1); }

}  // namespace

std::optional<PartLimit> part_limit_of(SizeOf of) {
  if (static_cast<std::size_t>(of) >= kPartLimitCount) return std::nullopt;
  return static_cast<PartLimit>(of);
}

std::string limit_text(const SizeLimit& limit) {
  const std::string name = " " + std::string(size_name(limit.of));
  return count_text(limit.most) + name + (limit.is_said ? " at most, as it says; " : " at most; ") +
         count_text(limit.refused) + " are refused" +
         (limit.is_rough ? ", though not every larger piece" : "");
}

namespace {

// Rules that deny the same nodes, learned from several backends, become one with all their reasons.
std::vector<Rule> merged(std::vector<Rule> rules) {
  std::map<std::string, std::size_t> place;  // by the rule's words
  std::vector<Rule> result;
  for (Rule& rule : rules) {
    const auto [found, is_new] = place.emplace(rule_words(rule), result.size());
    if (is_new) {
      result.push_back(std::move(rule));
    } else {
      result[found->second].why += "; " + rule.why;
    }
  }
  return result;
}

}  // namespace

std::vector<Rule> RuleBook::learn(std::vector<LowerFinding>& findings, std::size_t round) {
  std::vector<std::size_t> all(backends_.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return learn(findings, round, all);
}

std::vector<Rule> RuleBook::learn(std::vector<LowerFinding>& findings, std::size_t round,
                                  std::span<const std::size_t> backends) {
  rules_.clear();
  for (const std::size_t backend : backends) learn_from(backend, findings, round);
  std::ranges::sort(rules_, [](const Rule& a, const Rule& b) {
    return std::tie(a.domain, a.op, a.node_name, a.why) <
           std::tie(b.domain, b.op, b.node_name, b.why);
  });
  return merged(std::move(rules_));
}

// A node that fails alone, or is left out, is evidence. One that only fails together with others is denied by name, as is
// one that is wrong as it is quantised, and one that was tried without its QuantizeLinear and DequantizeLinear, with all
// that the backend named beside it: each of them would take a round of its own.
void RuleBook::learn_from(std::size_t backend, std::vector<LowerFinding>& findings,
                          std::size_t round) {
  take_back(backend, findings);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    LowerFinding& found = findings[i];
    if (found.backend != backend || found.finding.nodes.empty()) continue;
    const NodeId node = found.finding.nodes.back();
    const bool is_quantised = found.is_wrong_as_quantised();
    found.is_cut_from_qdq = !is_quantised && is_cut_from_qdq(graph_, found.finding, node);
    if (found.round == round && found.finding.kind == FindingKind::culprit && !is_quantised &&
        !found.is_cut_from_qdq) {
      evidence_[backend].add_failed(graph_, node, found.finding.signature);
    }
    if (found.round == round && found.finding.kind == FindingKind::left_out) {
      const std::string& said = found.finding.signature;  // "Conv: ..."
      for (const NodeId one : found.finding.nodes) {
        evidence_[backend].add_failed(graph_, one,
                                      said.substr(std::min(said.find(": "), said.size())));
      }
    }
    if (found.finding.kind != FindingKind::together && !is_quantised && !found.is_cut_from_qdq)
      continue;
    std::vector<NodeId> denied = {found.necessary.value_or(node)};
    if (found.is_cut_from_qdq) {
      const auto& others = found.finding.named_with;
      denied.insert(denied.end(), others.begin(), others.end());
    }
    for (Rule& rule : rules_by_name(graph_, denied)) {
      rule.why = backends_[backend] + ": " + words_of(found) +
                 (found.is_cut_from_qdq ? " (without its QuantizeLinear and DequantizeLinear, "
                  : is_quantised        ? " (as it is quantised here, "
                                        : " (together with other nodes, ") +
                 (found.has_open_shapes ? "with open shapes, " : "") + finding_text(i) + ")";
      if (rule.node_name == graph_.node(denied.front()).name) found.rule = rule_words(rule);
      found.cases = 1;
      found.is_weak = true;
      rules_.push_back(std::move(rule));
    }
  }
  learn_ops(backend, findings, round);
  deny_left(backend, findings);
  deny_large(backend, findings);
}

// What failed together with others in a piece beyond a limit that was found since, in the same words, failed for its size:
// its nodes are allowed again, and tried within the limit.
void RuleBook::take_back(std::size_t backend, std::vector<LowerFinding>& findings) const {
  for (const LowerFinding& size : findings) {
    if (size.backend != backend || size.finding.kind != FindingKind::size) continue;
    const SizeLimit limit = size.finding.limit;
    for (LowerFinding& found : findings) {
      Finding& finding = found.finding;
      const bool is_alike = found.backend == backend && finding.kind == FindingKind::together &&
                            finding.signature == size.finding.signature;
      const auto of = static_cast<std::size_t>(limit.of);
      if (!is_alike || sizes_of(graph_, finding.within)[of] <= limit.most) continue;
      finding.kind = FindingKind::size;
      finding.limit = limit;
      finding.nodes.clear();
      found.necessary.reset();
      found.rule.clear();
    }
  }
}

// A limit of one tensor or axis, as a message states it, is one rule for all ops: the least that was found.
void RuleBook::deny_large(std::size_t backend, std::vector<LowerFinding>& findings) {
  std::map<SizeOf, std::size_t> least;  // the finding
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const Finding& finding = findings[i].finding;
    const SizeLimit& limit = finding.limit;
    if (findings[i].backend != backend || finding.kind != FindingKind::size ||
        part_limit_of(limit.of))
      continue;
    const auto known = least.emplace(limit.of, i).first;
    if (limit.most < findings[known->second].finding.limit.most) known->second = i;
  }
  for (const auto& [of, i] : least) {
    LowerFinding& found = findings[i];
    Rule rule;
    rule.add(larger_than(of, found.finding.limit.most));
    rule.why = backends_[backend] + ": " + words_of(found) + " (" +
               limit_text(found.finding.limit) + ", " + finding_text(i) + ")";
    found.rule = rule_words(rule);
    found.cases = 1;
    rules_.push_back(std::move(rule));
  }
}

// A node that is left out here, though its case was taken elsewhere, is denied by name: else the next
// round would have it again.
void RuleBook::deny_left(std::size_t backend, std::vector<LowerFinding>& findings) {
  std::set<std::pair<std::string, std::string>> named;     // op and name
  std::map<std::string, std::vector<std::size_t>> others;  // by op: rules without a name
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    const Rule& rule = rules_[i];
    if (rule.node_name.empty()) {
      others[rule.op].push_back(i);
    } else {
      named.emplace(rule.op, rule.node_name);
    }
  }
  const auto is_denied = [&](NodeId node) {
    const auto rules = others.find(std::string(graph_.op(node)));
    return rules != others.end() && std::ranges::any_of(rules->second, [&](std::size_t i) {
             return holds_of(rules_[i], {.graph = &graph_, .node = node}, facts_);
           });
  };
  for (std::size_t i = 0; i < findings.size(); ++i) {
    LowerFinding& found = findings[i];
    if (found.backend != backend || found.finding.kind != FindingKind::left_out) continue;
    for (const NodeId node : found.finding.nodes) {
      if (is_denied(node) || !named.emplace(graph_.op(node), graph_.node(node).name).second)
        continue;
      Rule rule = rules_by_name(graph_, std::span(&node, 1)).front();
      rule.why = backends_[backend] + ": " + found.finding.signature +
                 " (left out here, taken elsewhere, " + finding_text(i) + ")";
      if (found.rule.empty()) {
        found.rule = rule_words(rule);
        found.cases = 1;
      }
      rules_.push_back(std::move(rule));
    }
  }
}

// A rule has the words of the last finding of the nodes that it is made of; those of this round get its words.
void RuleBook::learn_ops(std::size_t backend, std::vector<LowerFinding>& findings,
                         std::size_t round) {
  std::map<NodeId, std::vector<std::size_t>> failures;  // by node: its findings
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const Finding& finding = findings[i].finding;
    if (findings[i].backend != backend || !speaks_of_each(finding.kind)) continue;
    if (findings[i].is_cut_from_qdq || findings[i].is_wrong_as_quantised() || finding.nodes.empty())
      continue;
    if (finding.kind == FindingKind::culprit) {
      failures[finding.nodes.back()].push_back(i);
    } else {
      for (const NodeId node : finding.nodes) failures[node].push_back(i);
    }
  }
  for (LearnedRule& learned : learn_rules(evidence_[backend], {graph_, facts_})) {
    Rule& rule = learned.rule;
    std::size_t failure = 0;
    for (const NodeId node : learned.failing) {
      failure = std::max(failure, failures.at(node).back());
    }
    const bool is_left_out = findings[failure].finding.kind == FindingKind::left_out;
    const std::string size = learned.limit ? ", " + limit_text(*learned.limit) : "";
    // A name stands for its case: of those that are left out each node has a name of its own below.
    if (is_left_out && !rule.node_name.empty()) continue;
    const std::string untried = rule.why.empty() ? "" : rule.why + ", of which was said: ";
    rule.why = backends_[backend] + ": " + untried + words_of(findings[failure]) + " (" +
               std::to_string(learned.failed) + " of " +
               std::to_string(learned.failed + learned.passed) +
               (is_left_out ? " cases left out" : " cases refused alone") + size +
               (learned.is_weak() ? ", weak evidence" : "") +
               (findings[failure].has_open_shapes ? ", with open shapes" : "") + ", " +
               finding_text(failure) + ")";
    const std::string words = rule_words(rule);
    for (const NodeId node : learned.failing) {
      for (const std::size_t i : failures.at(node)) {
        LowerFinding& found = findings[i];
        if (found.round != round || !found.rule.empty()) continue;
        found.rule = words;
        found.cases = learned.failed;
        found.is_weak = !is_left_out && (learned.is_weak() || learned.failed == 1);
      }
    }
    rules_.push_back(std::move(rule));
  }
}

bool is_eroding(const Graph& graph, const LowerOutcome& outcome) {
  // Two rounds in a row that blame a node and then its reader may be two faults. Three are a
  // compiler that refuses wherever the partition now ends, and denying nodes would go on until none
  // is left.
  constexpr std::size_t kRounds = 3;
  const std::size_t now = outcome.rounds.size();
  if (now < kRounds) return false;
  std::vector<const Finding*> firsts;
  for (std::size_t round = now - kRounds + 1; round <= now; ++round) {
    const auto first = std::ranges::find_if(outcome.findings, [&](const LowerFinding& one) {
      return one.round == round && !one.rule.empty() && !one.finding.nodes.empty();
    });
    if (first == outcome.findings.end()) return false;
    firsts.push_back(&first->finding);
  }
  for (std::size_t i = 1; i < firsts.size(); ++i) {
    if (firsts[i]->signature != firsts[i - 1]->signature) return false;
    const auto readers = graph.readers(firsts[i - 1]->nodes.back());
    const NodeId culprit = firsts[i]->nodes.back();
    if (!contains(readers, culprit)) return false;
  }
  return true;
}

}  // namespace cleave
