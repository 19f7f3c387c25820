#include "formats/models/onnx/index/external.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <utility>

#include "core/graph/shape.h"
#include "formats/base/io/descriptor.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {
namespace {

namespace fs = std::filesystem;

// Why a location is refused without a lookup; empty when it is acceptable.
std::string_view fault_of_location(std::string_view location) {
  if (location.empty()) return "names no file";
  if (location.find('\0') != location.npos) return "holds a zero byte";
  const fs::path path(location);
  if (path.is_absolute()) return "is absolute: it must be relative to the model's folder";
  const auto up = [](const fs::path& step) { return step == ".."; };
  if (std::any_of(path.begin(), path.end(), up))
    return "holds \"..\": it must stay in the model's folder";
  return {};
}

bool is_inside(const fs::path& file, const fs::path& folder) {
  const auto [at, rest] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
  return at == folder.end() && rest != file.end();
}

}  // namespace

std::optional<std::uint64_t> onnx_tensor_bytes(const OnnxTensor& tensor) {
  std::vector<Dim> dims;
  for (const std::int64_t size : tensor.dims) {
    if (size < 0) return std::nullopt;
    dims.push_back(Dim::fixed(size));
  }
  return tensor_bytes(tensor.dtype, dims);
}

OnnxExternalFiles::OnnxExternalFiles(std::string folder, std::vector<ByteSource>& sources)
    : folder_(std::move(folder)), sources_(sources) {}

Result<OnnxExternalFiles::File, std::string> OnnxExternalFiles::add_file(
    std::string_view location) {
  if (const std::string_view fault = fault_of_location(location); !fault.empty()) {
    return std::string(fault);
  }
  std::error_code error;
  const fs::path folder = fs::canonical(folder_, error);
  if (error) return "cannot be looked up: " + error.message();
  const fs::path file = fs::canonical(folder / fs::path(location), error);
  if (error) return "cannot be opened: " + error.message();
  if (!is_inside(file, folder)) {
    return std::string("leads out of the model's folder through a link");
  }
  struct stat status = {};
  if (::stat(file.c_str(), &status) != 0) return "cannot be opened: " + system_words(errno);
  if (!S_ISREG(status.st_mode)) return std::string("is not a regular file");
  sources_.push_back({.fd = -1, .path = file.string(), .stamp = file_stamp(status)});
  return File{.source = static_cast<std::uint32_t>(sources_.size() - 1),
              .size = static_cast<std::uint64_t>(status.st_size)};
}

Result<OnnxExternalFiles::File, std::string> OnnxExternalFiles::file_at(std::string_view location) {
  if (const auto known = files_.find(std::string(location)); known != files_.end()) {
    return known->second;
  }
  Result<File, std::string> file = add_file(location);
  if (file) files_.emplace(location, *file);
  return file;
}

Result<ByteRange, std::string> OnnxExternalFiles::find(const OnnxTensor& tensor) {
  const std::string place = "external data at " + escaped_in_quotes(tensor.location) + " ";
  Result<File, std::string> file = file_at(tensor.location);
  if (!file) return place + file.error();
  if (tensor.offset > file->size) {
    return place + "begins at byte " + std::to_string(tensor.offset) +
           ", after the file's end at " + std::to_string(file->size);
  }
  const std::uint64_t there = file->size - tensor.offset;
  const std::optional<std::uint64_t> wanted = onnx_tensor_bytes(tensor);
  const std::uint64_t stated = tensor.length == 0 ? wanted.value_or(there) : tensor.length;
  if (wanted && stated != *wanted) {
    return place + "is declared as " + std::to_string(stated) + " bytes, but dims and type make " +
           std::to_string(*wanted);
  }
  if (stated > there) {
    return place + "is " + std::to_string(stated) + " bytes long, but the file ends after " +
           std::to_string(there);
  }
  return ByteRange{.source = file->source, .offset = tensor.offset, .length = stated};
}

}  // namespace cleave
