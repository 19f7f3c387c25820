// The one main() of all Catch2 tests.
#define CATCH_CONFIG_MAIN
#include "tests/catch2.h"
