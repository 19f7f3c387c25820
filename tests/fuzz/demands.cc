#include "tests/fuzz/demands.h"

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

namespace cleave::fuzz {
namespace {

constexpr std::size_t kMostErrors = 32;  // readers stop at 20, and add a line that counts the rest

}  // namespace

void demand(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

void demand_printable(std::string_view text, std::string_view what) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (escaped(line) != line) {
      std::fprintf(stderr, "line: %s\n", escaped(line).c_str());
      demand(false, std::string(what) + " is fit for a terminal");
    }
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
}

void demand_json(std::string_view text, std::string_view what) {
  demand(nlohmann::json::accept(text), std::string(what) + " is JSON");
}

void demand_good_warnings(const Diagnostics& warnings) {
  for (const Diagnostic& warning : warnings) {
    demand(!warning.message.empty(), "a diagnostic has a message");
    demand_printable(format_diagnostic(warning), "a diagnostic");
  }
}

void demand_good_errors(const Diagnostics& errors) {
  demand(!errors.empty(), "what is refused has an error");
  demand(errors.size() <= kMostErrors, "errors are not endless");
  demand_good_warnings(errors);
}

}  // namespace cleave::fuzz
