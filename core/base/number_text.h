// Numbers as people read them: thousands separated; bytes, FLOPs and times with a unit; shares and
// rates.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cleave {

// "2,431"
std::string count_text(std::uint64_t count);

// "512 B", "9.19 MiB": three digits and a binary unit.
std::string bytes_text(std::uint64_t bytes);

// "64 FLOP", "3.63 GFLOP": three digits and a decimal unit. Below 0 or not finite: "? FLOP".
std::string flops_text(double flops);

// "12.3 ms", "450 us", "2.1 s": three digits. Below 0 or not finite: "? s".
std::string duration_text(double microseconds);

// The same of energy: "3.2 mJ", "45 uJ".
std::string joules_text(double millijoules);

// "1 node", "1,024 nodes"
std::string counted(std::uint64_t count, std::string_view one, std::string_view many);
// The same of a word whose plural ends in s.
std::string counted(std::uint64_t count, std::string_view thing);

// "87.1%". Never rounds to 100% or to 0%.
std::string percent_text(double ratio);

// "35,000", "7.25": inferences a second.
std::string rate_text(double rate);

}  // namespace cleave
