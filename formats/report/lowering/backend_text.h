// The output of `cleave backend`.
#pragma once

#include <string>
#include <vector>

#include "formats/run/backend/backend_file.h"
#include "formats/run/backend/self_test.h"

namespace cleave {

// The result first, then one line per step. At most 100 columns.
std::string self_test_text(const Backend& backend, const SelfTest& test);

// A table: name, stages, file.
std::string backend_list_text(const std::vector<Backend>& backends);

}  // namespace cleave
