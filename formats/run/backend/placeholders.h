// Placeholders in the words of a backend's command: {model} is the piece to compile, {out} a path
// prefix for its results. A placeholder for a list repeats the word that contains it:
//
//   --input=@{inputs}   ->   --input=@in_0.npy --input=@in_1.npy
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

struct PlaceholderValues {
  std::string model = {}, out = {}, workdir = {}, here = {};
  std::string cleave = {};  // the folder with cleave's scripts; "": not known, and the word stays
  std::vector<std::string> inputs = {}, outputs = {};            // paths of tensor files
  std::vector<std::string> input_names = {}, output_names = {};  // of the piece's values
  std::vector<std::string> shapes = {};                          // of the inputs: "2x3"
  std::uint64_t seed = 0;
};

// The first {word} that is not a placeholder: its offset in `text`; npos when there is none. Braces
// around anything but letters and underscores are plain text.
std::size_t find_unknown_placeholder(std::string_view text);

// "{model}, {out}, ...": all placeholders, for messages.
std::string placeholder_list();

// The words with placeholders replaced by values. A word with a list has one copy per item, none
// for an empty list; several lists in one word advance together.
std::vector<std::string> expand_words(const std::vector<std::string>& words,
                                      const PlaceholderValues& values);

}  // namespace cleave
