// Prints the types that cleave infers for every value of ONNX models, for check_shapes.py.
//
// Reads paths from standard input, one a line. Prints `<path> TAB <value> TAB <type>` a value of
// the main graph, the type as onnx_type_text has it or `proto:` and the hex digits of a TypeProto,
// names with `\` and control characters escaped; and `<path> TAB ! TAB <what>` for a file that is
// refused.
#include <iostream>
#include <map>
#include <numeric>
#include <string>

#include "formats/onnx_reader.h"
#include "formats/onnx_shapes.h"

namespace {

std::string escaped(std::string_view text) {
  static const char* const kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || c == '\\') {
      out += "\\x";
      out += kDigits[byte >> 4U];
      out += kDigits[byte & 15U];
    } else {
      out += c;
    }
  }
  return out;
}

std::string hex(std::string_view bytes) {
  static const char* const kDigits = "0123456789abcdef";
  std::string out = "proto:";
  for (const char c : bytes) {
    out += kDigits[static_cast<unsigned char>(c) >> 4U];
    out += kDigits[static_cast<unsigned char>(c) & 15U];
  }
  return out;
}

int dump(const std::string& path) {
  const auto fail = [&](const cleave::Diagnostics& faults) {
    std::cout << path << "\t!\t" << escaped(faults.at(0).message) << '\n';
    return 1;
  };
  cleave::Loaded<cleave::SourceFile> file = cleave::SourceFile::open(path);
  if (!file) return fail(file.error());
  cleave::Loaded<cleave::OnnxModel> model = cleave::index_onnx(*file);
  if (!model) return fail(model.error());
  std::vector<std::uint32_t> order(model->graph.nodes.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto types = cleave::infer_onnx_types(*file, *model, order, {});
  if (!types) return fail(types.error());
  const std::map<std::string_view, cleave::OnnxType> sorted(types->main.types.begin(),
                                                            types->main.types.end());
  for (const auto& [name, type] : sorted) {
    std::cout << path << '\t' << escaped(name) << '\t'
              << (type.full.empty() ? escaped(cleave::onnx_type_text(type)) : hex(type.full))
              << '\n';
  }
  for (const std::string& note : types->notes) std::cerr << path << ": " << note << '\n';
  return 0;
}

}  // namespace

int main() {
  int status = 0;
  for (std::string path; std::getline(std::cin, path);) status |= dump(path);
  return status;
}
