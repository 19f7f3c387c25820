// Plain text: one op per line, `#` comments, optional `domain::op`.
#include <algorithm>

#include "core/base/white_space.h"
#include "core/graph/domain.h"
#include "formats/lists/support/support_reader.h"

namespace cleave {
namespace {

class TextReader {
 public:
  TextReader(std::string_view text, SupportList& list, TextFaults& faults)
      : text_(text), list_(list), faults_(faults), places_(text) {}

  void read() {
    std::size_t begin = 0;
    while (begin < text_.size() && !faults_.is_full()) {
      const std::size_t end = std::min(text_.find('\n', begin), text_.size());
      const std::string_view line = text_.substr(begin, end - begin);
      const std::string_view entry = trimmed(line.substr(0, line.find('#')));
      if (!entry.empty()) read_entry(entry);
      begin = end + 1;
    }
  }

 private:
  void read_entry(std::string_view entry) {
    const std::size_t separator = entry.find("::");
    const bool has_domain = separator != entry.npos;
    const std::string_view op = has_domain ? entry.substr(separator + 2) : entry;
    const std::string_view domain = has_domain ? entry.substr(0, separator) : std::string_view{};
    if (const std::size_t bad = entry.find_first_of(" \t,;{}[]\"'"); bad != entry.npos) {
      faults_.error(offset_of(entry) + bad, fault_of(entry, entry[bad]));
      return;
    }
    if (op.empty() || (has_domain && domain.empty())) {
      faults_.error(offset_of(entry), escaped_in_quotes(entry) + " lacks the " +
                                          (op.empty() ? "op" : "domain") +
                                          ": write domain::op, or the op alone");
      return;
    }
    Rule rule;
    rule.op = op;
    rule.domain = plain_domain(domain);
    places_.mark(rule, offset_of(entry));
    list_.allow.push_back(std::move(rule));
  }

  static std::string fault_of(std::string_view entry, char bad) {
    if (bad == ';') {
      return "expected one op per line, or domain;opset;op1,op2 throughout: found " +
             escaped_in_quotes(entry);
    }
    if (std::string_view("{}[]\"'").find(bad) != std::string_view::npos) {
      return "expected the bare name of an op, found " + escaped_in_quotes(entry) +
             ": a JSON list is an object with \"format\": \"cleave.support\"";
    }
    return "expected one op per line, found " + escaped_in_quotes(entry) +
           ": put each op on its own line";
  }

  std::size_t offset_of(std::string_view part) const {
    return static_cast<std::size_t>(part.data() - text_.data());
  }

  std::string_view text_;
  SupportList& list_;
  TextFaults& faults_;
  PlaceCounter places_;
};

}  // namespace

void read_support_text(std::string_view text, SupportList& list, TextFaults& faults) {
  TextReader(text, list, faults).read();
}

}  // namespace cleave
