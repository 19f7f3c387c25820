// Mutator: damaged and mixed copies of seeds, the same for the same number on every machine.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace cleave::fuzz {

class Mutator {
 public:
  // `words` are inserted whole, besides single bytes. Without seeds, inputs are words and bytes.
  Mutator(std::vector<std::string> seeds, std::vector<std::string> words)
      : seeds_(std::move(seeds)), words_(std::move(words)) {}

  // The input of that number: a seed after one to eight changes.
  std::string input(std::uint64_t number);

 private:
  std::size_t below(std::size_t bound) { return rng_() % bound; }
  std::size_t place(const std::string& text) { return below(text.size() + 1); }
  std::string piece_of(const std::string& text);
  void change(std::string& text);

  std::vector<std::string> seeds_, words_;
  std::mt19937_64 rng_;
};

}  // namespace cleave::fuzz
