// A baseline made from a report, for tests of checks.
#pragma once

#include "formats/report/check/check.h"
#include "tests/formats/report/report_case.h"

namespace cleave {

// What a check reads from the report after it was written as a baseline.
EarlierResult earlier(const ReportCase& result);

}  // namespace cleave
