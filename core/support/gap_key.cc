#include "core/support/gap_key.h"

#include "core/base/decimal.h"

namespace cleave {
namespace {

void append(std::int64_t number, std::string& key) { key += std::to_string(number) + ','; }
void append(double number, std::string& key) { key += shortest_text(number) + ','; }
// Writes the length first, so that no two sequences of texts give the same key.
void append(const std::string& text, std::string& key) {
  key += std::to_string(text.size()) + ':' + text;
}
void append(const std::vector<Literal>& list, std::string& key) {
  key += '[';
  for (const Literal& item : list) {
    std::visit([&](const auto& value) { append(value, key); }, item);
  }
  key += ']';
}

void append_found(const FailedType& failed, std::string& key) {
  append(static_cast<std::int64_t>(failed.type), key);
  if (failed.type == ValueType::tensor) append(static_cast<std::int64_t>(failed.dtype), key);
}

void append_found(const FailedAttribute& failed, std::string& key) {
  if (failed.wanted.accepted.empty()) return;
  if (!failed.value) return append(static_cast<std::int64_t>(failed.origin), key);
  std::visit([&](const auto& value) { append(value, key); }, *failed.value);
}

void append_found(const FailedShape& failed, std::string& key) {
  if (!std::holds_alternative<WantedRank>(failed.wanted)) return;
  append(static_cast<std::int64_t>(failed.found.index()), key);
  if (const auto* const other = std::get_if<FoundNoTensor>(&failed.found)) {
    append(static_cast<std::int64_t>(other->type), key);
  } else if (const auto* const found = std::get_if<FoundRank>(&failed.found)) {
    append(static_cast<std::int64_t>(found->rank), key);
  }
}

void append_found(const FailedOpset&, std::string&) {}

void append_found(const UnmetCondition& failed, std::string& key) {
  append(static_cast<std::int64_t>(failed.found.index()), key);
  const auto* const rank = std::get_if<FoundRank>(&failed.found);
  if (rank != nullptr && std::holds_alternative<RankCondition>(failed.wanted)) {
    append(static_cast<std::int64_t>(rank->rank), key);
  }
}

}  // namespace

void append_key(const FailedCondition& failed, const FailedPart& part, std::string& key) {
  append(static_cast<std::int64_t>(failed.what), key);
  append(std::int64_t{failed.item}, key);
  append(std::int64_t{failed.clause}, key);
  std::visit([&](const auto& alternative) { append_found(alternative, key); }, part);
  key += '\n';
}

}  // namespace cleave
