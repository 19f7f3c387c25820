// Numbers that depend on open dims, in words and as fields of reports.
#pragma once

#include <string>
#include <string_view>

#include "core/measures/open_sizes.h"
#include "formats/base/json/text.h"

namespace cleave {

// `2.33 MFLOP x N`, `108 kFLOP x N x H + 2 kFLOP x N`; where it is no polynomial of at most three terms,
// `3.6 GFLOP at N=1, H=224`; "at least" before it where something is left out.
std::string open_flops_text(const OpenSizes& sizes, const OpenNumber& flops);

// The same for a cell of a table, which has room for one term: `12 KiB x N`, or `588 KiB @`, which
// first_sizes_text() explains.
std::string open_flops_cell(const OpenNumber& flops, const OpenSizes& sizes);
std::string open_bytes_cell(const OpenNumber& bytes, const OpenSizes& sizes);

// "N=1, H=224": where numbers are given that are no polynomials.
std::string first_sizes_text(const OpenSizes& sizes);

// "H and W in steps of 32": between which sizes products do not hold; "" where they hold for all.
std::string steps_text(const OpenSizes& sizes);

// Writes {"expression": "2331136*N", "at_first": 2331136, "is_partial": false}; the expression is null
// where the number is no polynomial of degree 3 at most.
void write_open_number(JsonText& json, std::string_view key, const OpenNumber& number,
                       const OpenSizes& sizes);

// Writes the field "dims" of the object "open_sizes": for each dim the first size that was tried, and the
// step between sizes.
void write_open_dims(JsonText& json, const OpenSizes& sizes);

}  // namespace cleave
