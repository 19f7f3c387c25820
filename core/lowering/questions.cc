#include "core/lowering/questions.h"

#include <algorithm>
#include <tuple>

namespace cleave {
namespace {

auto fields_of(const Remedies& r) {
  return std::make_tuple(r.pin_shapes, r.freeze_values, r.constants_inside, r.opset);
}

}  // namespace

bool Questions::Asked::operator<(const Asked& other) const {
  // Compares sizes first: most sets differ there, so long ones are rarely compared.
  const auto key = std::make_tuple(items.size(), fields_of(remedies));
  const auto other_key = std::make_tuple(other.items.size(), fields_of(other.remedies));
  return key != other_key ? key < other_key : items < other.items;
}

const JudgedAnswer& Questions::know(const ItemSet& items, const Remedies& remedies, Answer answer) {
  JudgedAnswer judged{.answer = std::move(answer)};
  if (judged.fails()) judged.signature = failure_signature(judged.answer, names_);
  return known_.insert_or_assign({items, remedies}, std::move(judged)).first->second;
}

const JudgedAnswer& Questions::ask(const ItemSet& items, const Remedies& remedies) {
  Asked asked{items, remedies};
  const auto known = known_.find(asked);
  if (known != known_.end()) return known->second;
  if (is_spent()) {
    static const JudgedAnswer kNotAsked = {.answer = {.runs = 0}};
    return kNotAsked;
  }
  return known_.emplace(std::move(asked), call({nodes_of(order_, items), remedies})).first->second;
}

JudgedAnswer Questions::ask_again(const ItemSet& items, const Remedies& remedies,
                                  std::uint32_t attempt) {
  return call({nodes_of(order_, items), remedies, attempt});
}

JudgedAnswer Questions::ask_tolerantly(const ItemSet& items, const Remedies& remedies,
                                       double tolerance) {
  if (is_spent()) return {.answer = {.runs = 0}};
  return call({.nodes = nodes_of(order_, items), .remedies = remedies, .tolerance = tolerance});
}

JudgedAnswer Questions::call(const Piece& piece) {
  JudgedAnswer judged{.answer = oracle_(piece)};
  runs_ += judged.answer.runs;
  if (judged.fails()) judged.signature = failure_signature(judged.answer, names_);
  return judged;
}

bool Questions::has_passed(std::uint32_t item, const Remedies& remedies) const {
  return std::any_of(known_.begin(), known_.end(), [&](const auto& entry) {
    return entry.second.passes() && entry.first.remedies == remedies &&
           std::binary_search(entry.first.items.begin(), entry.first.items.end(), item);
  });
}

bool Questions::is_spent() const {
  return runs_ >= limits_.most_runs || (limits_.is_time_up && limits_.is_time_up());
}

Judgement judge(const JudgedAnswer& answer, const std::string& signature) {
  if (answer.passes()) return Judgement::pass;
  const bool is_same = answer.fails() && (signature.empty() || answer.signature == signature);
  return is_same ? Judgement::same : Judgement::other;
}

}  // namespace cleave
