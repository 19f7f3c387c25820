// The one main() of all Catch2 tests.
#define CATCH_CONFIG_MAIN
#include "tests/catch2.h"

// Graphviz's text plugin and the font libraries below it keep their caches until the process ends.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libfontconfig\nleak:libpango\nleak:libgvplugin_pango\nleak:libglib\nleak:libgvc\n";
}
