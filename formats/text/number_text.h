// Numbers as people read them: thousands separated, bytes, FLOPs and times with a unit.
#pragma once

#include <cstdint>
#include <string>

namespace cleave {

// "2,431"
std::string count_text(std::uint64_t count);

// "512 B", "9.19 MiB": three digits and a binary unit.
std::string bytes_text(std::uint64_t bytes);

// "64 FLOP", "3.63 GFLOP": three digits and a decimal unit. Below 0 or not finite: "? FLOP".
std::string flops_text(double flops);

// "12.3 ms", "450 us", "2.1 s": three digits. Below 0 or not finite: "? s".
std::string duration_text(double microseconds);

}  // namespace cleave
