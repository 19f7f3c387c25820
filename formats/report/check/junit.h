// JUnit XML for CI servers: a test suite for each model and list, a test case for each gate, the
// numbers as properties. Field list: github.com/testmoapp/junitxml.
#pragma once

#include <string>

#include "formats/report/check/check.h"

namespace cleave {

// Gates that cannot be judged fail; gates without anything to compare with are skipped. There are
// no times: the same check gives the same bytes.
std::string check_junit(const Check& check);

}  // namespace cleave
