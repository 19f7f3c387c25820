// A baseline made from a report: what tests of checks start from.
#pragma once

#include "formats/report/check/baseline_file.h"
#include "tests/formats/report/report_case.h"

namespace cleave {

// What a check reads of the report once it was written as a baseline.
EarlierResult earlier(const ReportCase& result);

}  // namespace cleave
