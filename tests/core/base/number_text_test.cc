#include "core/base/number_text.h"

#include <limits>

#include "tests/catch2.h"

using namespace cleave;

TEST_CASE("counts have their thousands separated") {
  CHECK(count_text(0) == "0");
  CHECK(count_text(999) == "999");
  CHECK(count_text(1000) == "1,000");
  CHECK(count_text(1234567) == "1,234,567");
  CHECK(count_text(std::numeric_limits<std::uint64_t>::max()) == "18,446,744,073,709,551,615");
}

TEST_CASE("bytes have three digits and a binary unit") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(1023) == "1023 B");
  CHECK(bytes_text(1024) == "1 KiB");
  CHECK(bytes_text(1536) == "1.5 KiB");
  CHECK(bytes_text(602112) == "588 KiB");
  CHECK(bytes_text(9633792) == "9.19 MiB");
  CHECK(bytes_text(1048575) == "1 MiB");
  CHECK(bytes_text(std::numeric_limits<std::uint64_t>::max()) == "16 EiB");
}

TEST_CASE("FLOPs have three digits and a decimal unit") {
  CHECK(flops_text(0) == "0 FLOP");
  CHECK(flops_text(64) == "64 FLOP");
  CHECK(flops_text(3.628e9) == "3.63 GFLOP");
  CHECK(flops_text(999.9e6) == "1 GFLOP");
  CHECK(flops_text(5e20) == "500 EFLOP");
}

TEST_CASE("FLOPs that are not a number are shown as a question mark") {
  CHECK(flops_text(-1) == "? FLOP");
  CHECK(flops_text(std::numeric_limits<double>::infinity()) == "? FLOP");
  CHECK(flops_text(std::numeric_limits<double>::quiet_NaN()) == "? FLOP");
}

TEST_CASE("FLOPs, energy and times are shown up to the most that has a unit") {
  CHECK(flops_text(9.99e23) == "999000 EFLOP");
  CHECK(flops_text(1e24) == "? FLOP");
  CHECK(joules_text(9.99e23).ends_with(" J"));
  CHECK(joules_text(9.99e23) != "? J");
  CHECK(joules_text(1e24) == "? J");
  CHECK(duration_text(9.99e23) == "999000000000000000 s");
  CHECK(duration_text(1e24) == "? s");
}

TEST_CASE("energy has three digits and a decimal unit, from picojoules on") {
  CHECK(joules_text(0) == "0 pJ");
  CHECK(joules_text(1e-9) == "1 pJ");
  CHECK(joules_text(1e-6) == "1 nJ");
  CHECK(joules_text(0.045) == "45 uJ");
  CHECK(joules_text(3.2) == "3.2 mJ");
  CHECK(joules_text(12345) == "12.3 J");
  CHECK(joules_text(-1e-9) == "? J");
  CHECK(joules_text(std::numeric_limits<double>::infinity()) == "? J");
  CHECK(joules_text(std::numeric_limits<double>::quiet_NaN()) == "? J");
}

TEST_CASE("times have three digits and a unit, from nanoseconds on") {
  CHECK(duration_text(0) == "0 ns");
  CHECK(duration_text(0.001) == "1 ns");
  CHECK(duration_text(450) == "450 us");
  CHECK(duration_text(999.4) == "999 us");
  CHECK(duration_text(999.5) == "1 ms");
  CHECK(duration_text(12300) == "12.3 ms");
  CHECK(duration_text(2.1e6) == "2.1 s");
  CHECK(duration_text(-1) == "? s");
  CHECK(duration_text(std::numeric_limits<double>::quiet_NaN()) == "? s");
}

TEST_CASE("only one is counted as one") {
  CHECK(counted(0, "node") == "0 nodes");
  CHECK(counted(1, "node") == "1 node");
  CHECK(counted(1024, "node") == "1,024 nodes");
  CHECK(counted(0, "is", "are") == "0 are");
  CHECK(counted(1, "is", "are") == "1 is");
  CHECK(counted(2, "is", "are") == "2 are");
}

TEST_CASE("a share is 0% or 100% only if it is nothing or all") {
  CHECK(percent_text(0) == "0%");
  CHECK(percent_text(1e-9) == "<0.1%");
  CHECK(percent_text(0.000999) == "<0.1%");
  CHECK(percent_text(0.001) == "0.1%");
  CHECK(percent_text(0.871) == "87.1%");
  CHECK(percent_text(0.25) == "25%");
  CHECK(percent_text(0.9999999) == "99.9%");
  CHECK(percent_text(1) == "100%");
  CHECK(percent_text(1.5) == "150%");
}

TEST_CASE("rates have three digits, from a hundred on they are whole") {
  CHECK(rate_text(7.254) == "7.25");
  CHECK(rate_text(99.96) == "100");
  CHECK(rate_text(100) == "100");
  CHECK(rate_text(100.4) == "100");
  CHECK(rate_text(35000.4) == "35,000");
  CHECK(rate_text(1234567.8) == "1,234,568");
  CHECK(rate_text(9.99e14) == "999,000,000,000,000");
  CHECK(rate_text(1e15).find(',') == std::string::npos);
}
