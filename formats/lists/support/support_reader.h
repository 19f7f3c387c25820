// Shared by the readers of the three formats of support lists: positions of rules, names of types,
// and the readers' entry points.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/support/support_list.h"
#include "formats/base/text/diagnostic.h"
#include "formats/base/text/faults.h"

namespace cleave {

// Line and column of offsets that do not decrease. All calls together walk over the text once.
class PlaceCounter {
 public:
  explicit PlaceCounter(std::string_view text) : text_(text) {}
  // Writes the position into a rule or a pattern.
  template <class Placed>
  void mark(Placed& placed, std::size_t offset) {
    go_to(offset);
    placed.line = line_;
    placed.column = column_;
  }

 private:
  void go_to(std::size_t offset);

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1;
  std::uint32_t column_ = 1;
};

// Adds the dtype, or the type of non-tensors, to the set. Otherwise returns a message about what is
// wrong with the name, with the likely intended name if there is one.
Status<std::string> add_type(TypeSet& types, std::string_view name);

// Sets the rule's op, and its domain where the text names one: `Gelu`, `com.microsoft::Gelu`. A fault
// where a part is missing, or where the rule has another domain already.
void set_op(std::string_view text, std::size_t at, TextFaults& faults, Rule& rule);
void set_domain(std::string_view domain, std::size_t at, TextFaults& faults, Rule& rule);

// Each appends the rules that it reads to the list; a list with faults must not be used.
void read_support_json(std::string_view text, SupportList& list, TextFaults& faults);
void read_support_text(std::string_view text, SupportList& list, TextFaults& faults);
void read_required_operators(std::string_view text, SupportList& list, TextFaults& faults);

}  // namespace cleave
