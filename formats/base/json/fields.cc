#include "formats/base/json/fields.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace cleave {

std::string JsonSubject::text() const {
  std::string text;
  for (const JsonSubject* at = this; at != nullptr && !at->is_outermost(); at = at->owner) {
    if (!text.empty()) text += " of ";
    if (at->list.empty()) {
      text += at->kind;
    } else if (at->name.empty()) {
      text += std::string(at->list) + '[' + std::to_string(at->position) + ']';
    } else {
      text += std::string(at->kind) + ' ' + escaped_in_quotes(at->name);
    }
  }
  return text.empty() ? "the graph" : text;
}

void JsonFaults::add(std::uint64_t offset, std::string message, std::vector<std::string> notes) {
  if (!is_full()) faults_.push_back({offset, std::move(message), std::move(notes)});
}

void JsonFaults::add(std::string message, std::vector<std::string> notes) {
  if (!is_full()) faults_.push_back({std::nullopt, std::move(message), std::move(notes)});
}

void JsonFaults::warn_of_unknown(JsonString key, const JsonSubject& subject,
                                 std::string_view suggestion) {
  if (warned_.size() >= kMost) return;
  std::string name = unescaped(key);
  if (std::find(warned_.begin(), warned_.end(), name) != warned_.end()) return;
  Fault warning{
      key.offset,
      "unknown field " + escaped_in_quotes(name) + " of " + subject.text() + " is not read",
      {}};
  if (!suggestion.empty())
    warning.notes.push_back("did you mean " + escaped_in_quotes(suggestion) + "?");
  warnings_.push_back(std::move(warning));
  warned_.push_back(std::move(name));
}

Diagnostic JsonFaults::diagnostic_for(const Fault& fault) const {
  Diagnostic diagnostic =
      fault.offset ? diagnostic_at(source_.path(), source_.bytes(), *fault.offset, fault.message)
                   : diagnostic_of(source_.path(), fault.message);
  diagnostic.notes = fault.notes;
  return diagnostic;
}

std::string JsonFaults::place_of(std::uint64_t offset) const {
  const Diagnostic place = diagnostic_at(source_.path(), source_.bytes(), offset, {});
  return std::to_string(place.line) + ':' + std::to_string(place.column);
}

Diagnostics JsonFaults::errors() const {
  std::vector<const Fault*> order;
  for (const Fault& fault : faults_) order.push_back(&fault);
  std::stable_sort(order.begin(), order.end(), [](const Fault* a, const Fault* b) {
    return a->offset.value_or(0) < b->offset.value_or(0);
  });
  Diagnostics errors;
  errors.reserve(order.size());
  for (const Fault* fault : order) errors.push_back(diagnostic_for(*fault));
  return errors;
}

Diagnostics JsonFaults::warnings() const {
  Diagnostics warnings;
  for (const Fault& warning : warnings_) {
    warnings.push_back(diagnostic_for(warning));
    warnings.back().severity = Severity::warning;
  }
  return warnings;
}

JsonFields::JsonFields(JsonCursor& cursor, JsonFaults& faults,
                       std::span<const std::string_view> known, const JsonSubject& subject,
                       JsonFieldOrder* order)
    : cursor_(cursor), faults_(faults), known_(known), subject_(subject), order_(order) {
  assert(known.size() <= 32);
  cursor.enter();
}

std::optional<std::size_t> JsonFields::find(std::string_view key) const {
  const auto found = std::find(known_.begin(), known_.end(), key);
  if (found == known_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - known_.begin());
}

std::optional<std::size_t> JsonFields::look_for_next() {
  while (const auto key = cursor_.next_key()) {
    key_offset_ = key->offset;
    const auto field = key->has_escapes ? find(unescaped(*key)) : find(key->text);
    if (!field) {
      const std::vector<std::string_view> names(known_.begin(), known_.end());
      faults_.warn_of_unknown(*key, subject_, nearest_name(unescaped(*key), names));
      cursor_.skip();
    } else if (has(*field)) {
      faults_.add(key->offset,
                  escaped_in_quotes(known_[*field]) + " is given twice in " + subject_.text());
      cursor_.skip();
    } else {
      if (order_ != nullptr) order_->learn(last_, *field);
      seen_ |= 1U << *field;
      last_ = field;
      return field;
    }
  }
  return std::nullopt;
}

std::string JsonFields::field_text() const {
  const std::string field = escaped_in_quotes(known_[last_.value_or(0)]);
  return subject_.is_outermost() ? field : field + " of " + subject_.text();
}

void JsonFields::refuse(std::string_view wanted) {
  const JsonType found = cursor_.type();
  if (found == JsonType::none) return;
  faults_.add(cursor_.offset(), field_text() + " must be " + std::string(wanted) + ", not " +
                                    std::string(json_type_name(found)));
  cursor_.skip();
}

void JsonFields::refuse_item(std::string_view wanted) {
  const JsonType found = cursor_.type();
  if (found == JsonType::none) return;
  faults_.add(cursor_.offset(), "an item of " + field_text() + " must be " + std::string(wanted) +
                                    ", not " + std::string(json_type_name(found)));
  cursor_.skip();
}

bool JsonFields::is_refused(JsonType wanted) {
  refuse(json_type_name(wanted));
  return false;
}

void JsonKeys::report_repeated(JsonFaults& faults, const JsonFields& fields) {
  const auto report = [&](const Key& key) {
    faults.add(key.offset,
               escaped_in_quotes(key.text) + " is given twice in " + fields.field_text());
  };
  if (keys_.size() <= 8) {  // nearly always: no need to sort
    for (std::size_t i = 1; i < keys_.size(); ++i) {
      const auto here = keys_.begin() + static_cast<std::ptrdiff_t>(i);
      const auto same = [&](const Key& key) { return key.text == here->text; };
      if (std::any_of(keys_.begin(), here, same)) report(*here);
    }
    return;
  }
  std::sort(keys_.begin(), keys_.end(), [](const Key& a, const Key& b) {
    return std::pair(a.text, a.offset) < std::pair(b.text, b.offset);
  });
  for (std::size_t i = 1; i < keys_.size(); ++i) {
    if (keys_[i].text == keys_[i - 1].text) report(keys_[i]);
  }
}

}  // namespace cleave
