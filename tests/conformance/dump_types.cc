// Prints the types that cleave infers for every value of ONNX models, for check_shapes.py.
//
// Reads paths from standard input, one a line, each optionally followed by shapes of inputs:
// `<path> TAB <input>=<dim>,<dim>...`. Prints `<path> TAB <value> TAB <type>` for each value of the
// main graph, with the type in the form of onnx_type_text, or `proto:` and the hex digits of a
// TypeProto, and names with `\` and control characters escaped; and `<path> TAB ! TAB <what>` for a
// file that is refused. With `--each-node`, each node is inferred by itself, see OnnxTypeReuse.
#include <algorithm>
#include <iostream>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/onnx/index/index.h"
#include "formats/onnx/infer/infer.h"

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

// The fields of a line, but for the first: shapes of inputs.
cleave::ShapeBindings bindings_of(std::string_view fields) {
  cleave::ShapeBindings bindings;
  while (!fields.empty()) {
    fields.remove_prefix(1);  // the tab
    const std::string_view field = fields.substr(0, fields.find('\t'));
    fields.remove_prefix(field.size());
    const std::size_t equals = field.rfind('=');
    std::vector<std::int64_t> dims;
    std::string_view list = field.substr(equals + 1);
    while (!list.empty()) {
      const std::string_view dim = list.substr(0, list.find(','));
      dims.push_back(std::stoll(std::string(dim)));
      list.remove_prefix(std::min(list.size(), dim.size() + 1));
    }
    bindings.inputs.emplace_back(field.substr(0, equals), std::move(dims));
  }
  return bindings;
}

int dump(const std::string& line, cleave::OnnxTypeReuse reuse) {
  const std::string path = line.substr(0, line.find('\t'));
  const cleave::ShapeBindings bindings = bindings_of(std::string_view(line).substr(path.size()));
  const auto fail = [&](const cleave::Diagnostics& faults) {
    std::cout << path << "\t!\t" << escaped(faults.at(0).message) << '\n';
    return 1;
  };
  cleave::Loaded<cleave::SourceFile> file = cleave::SourceFile::open(path);
  if (!file) return fail(file.error());
  cleave::Loaded<cleave::OnnxModel> model = cleave::index_onnx(*file);
  if (!model) return fail(model.error());
  const auto links = cleave::link_onnx_graph(path, *model);
  if (!links) return fail(links.error());
  const auto types = cleave::infer_onnx_types(*file, *model, *links, bindings, {}, reuse);
  if (!types) return fail(types.error());
  std::map<std::string_view, cleave::OnnxType> sorted;
  for (std::uint32_t i = 0; i < links->values.count(); ++i) {
    sorted.emplace(links->values.name(i), *types->main[i]);
  }
  for (const auto& [name, type] : sorted) {
    std::cout << path << '\t' << escaped(name) << '\t'
              << (type.full.empty() ? escaped(cleave::onnx_type_text(type)) : hex(type.full))
              << '\n';
  }
  for (const std::string& note : types->notes) std::cerr << path << ": " << note << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool each_node = argc == 2 && std::string_view(argv[1]) == "--each-node";
  const auto reuse = each_node ? cleave::OnnxTypeReuse::none : cleave::OnnxTypeReuse::by_kind;
  int status = 0;
  for (std::string line; std::getline(std::cin, line);) status |= dump(line, reuse);
  return status;
}
