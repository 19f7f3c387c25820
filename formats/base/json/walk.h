// JsonWalk: a JsonCursor for files that people write by hand. Walks objects and lists, takes values
// of the wanted type, and reports repeated keys and values of another type.
//
// Every function that takes a value leaves the cursor after it, also after a fault, so that reading
// can go on and find more faults.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "formats/base/json/cursor.h"
#include "formats/base/text/faults.h"

namespace cleave {

class JsonWalk {
 public:
  // `text` must have JsonCursor::kPadding readable bytes after its end. Offsets in faults count
  // from the start of `text`, plus `base`.
  JsonWalk(std::string_view text, TextFaults& faults, std::size_t base = 0)
      : cursor_(text), faults_(faults), base_(base) {}

  JsonType type() { return cursor_.type(); }
  std::size_t offset() const { return base_ + cursor_.offset(); }
  TextFaults& faults() { return faults_; }
  void skip() { cursor_.skip(); }
  JsonNumber take_number() { return cursor_.take_number(); }  // only when type() is number

  // True when reading must stop: the text is not JSON from here on, or there are too many faults.
  bool is_over() const { return cursor_.fault().has_value() || faults_.is_full(); }
  // Call last: reports where the text stops being JSON, or what follows the value.
  void finish();

  // Enters the object at the cursor and calls visit(key, its offset) for each field; visit takes
  // the value. `what` names the value in faults, `wanted` says what it should be.
  template <class Visit>
  void each_field(std::string_view what, std::string_view wanted, Visit visit);
  // The same for the items of a list.
  template <class Visit>
  void each_item(std::string_view what, std::string_view wanted, Visit visit);

  std::optional<std::string> take_text(std::string_view what);
  std::optional<bool> take_flag(std::string_view what);
  std::optional<double> take_real(std::string_view what);
  std::optional<std::int64_t> take_integer(std::string_view what, std::int64_t least);

  // Reports "<what> must be <wanted>, not a string", and skips the value.
  void refuse(std::string_view what, std::string_view wanted);
  // Warns of a field that `where` does not have, and skips its value.
  void pass_unknown(std::size_t at, std::string_view key, std::string_view where,
                    const std::vector<std::string_view>& known);

 private:
  JsonCursor cursor_;
  TextFaults& faults_;
  std::size_t base_;
};

template <class Visit>
void JsonWalk::each_field(std::string_view what, std::string_view wanted, Visit visit) {
  if (type() != JsonType::object) return refuse(what, wanted);
  std::unordered_set<std::string> seen;
  cursor_.enter();
  while (!is_over()) {
    const auto key = cursor_.next_key();
    if (!key) return;
    const std::string name = unescaped(*key);
    if (seen.insert(name).second) {
      visit(name, base_ + key->offset);
    } else {
      faults_.error(base_ + key->offset, escaped_in_quotes(name) + " is given twice");
      skip();
    }
  }
}

template <class Visit>
void JsonWalk::each_item(std::string_view what, std::string_view wanted, Visit visit) {
  if (type() != JsonType::list) return refuse(what, wanted);
  cursor_.enter();
  while (!is_over() && cursor_.next_item()) visit();
}

}  // namespace cleave
