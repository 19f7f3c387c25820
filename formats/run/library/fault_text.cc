#include "formats/run/library/fault_text.h"

#include "formats/base/text/version.h"

#define CLEAVE_TEXT_OF(number) #number
#define CLEAVE_TEXT(number) CLEAVE_TEXT_OF(number)

namespace cleave {

std::string fault_text(const Fault& fault) { return warning_text(fault.faults); }

std::string warning_text(const Diagnostics& warnings) {
  std::string text;
  for (const Diagnostic& warning : warnings) text += format_diagnostic(warning);
  return text;
}

std::string_view linked_version() {
  return CLEAVE_TEXT(CLEAVE_VERSION_MAJOR) "." CLEAVE_TEXT(CLEAVE_VERSION_MINOR) "." CLEAVE_TEXT(
      CLEAVE_VERSION_PATCH);
}

}  // namespace cleave
