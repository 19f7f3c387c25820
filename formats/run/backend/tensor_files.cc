#include "formats/run/backend/tensor_files.h"

#include "formats/base/io/output_file.h"
#include "formats/base/io/source_file.h"
#include "formats/run/backend/session.h"

namespace cleave {
namespace {

std::string_view extension(TensorFormat format) {
  switch (format) {
    case TensorFormat::pb:
      return ".pb";
    case TensorFormat::npy:
      return ".npy";
    case TensorFormat::raw:
      return ".raw";
  }
  return {};
}

std::string shape_words(const Tensor& tensor) {
  std::string text;
  for (const std::int64_t dim : tensor.dims)
    text += (text.empty() ? "" : "x") + std::to_string(dim);
  return text;
}

Error words_of(const Diagnostics& faults) {
  return {faults.front().file + ": " + faults.front().message};
}

Status<Error> write_bytes(const std::string& path, std::string_view bytes) {
  const auto written = write_file(path, bytes, true);
  if (!written) return words_of(written.error());
  return Done{};
}

}  // namespace

Result<Tensor, Error> read_tensor_file(const std::string& path) {
  const auto source = SourceFile::open(path);
  if (!source) return words_of(source.error());
  auto tensor = decode_tensor(source->bytes());
  if (!tensor) return Error{path + ": is not a tensor of numbers"};
  return *std::move(tensor);
}

Result<TensorFiles::Given, Error> TensorFiles::give(const std::string& file, std::size_t at) const {
  auto tensor = read_tensor_file(file);
  if (!tensor) return tensor.error();
  Given given{file, shape_words(*tensor)};
  if (format_ == TensorFormat::pb) return given;
  given.path = prefix_ + ".input_" + std::to_string(at) + std::string(extension(format_));
  std::optional<std::string> bytes = tensor->bytes;
  if (format_ == TensorFormat::npy) bytes = encode_npy(*tensor);
  if (!bytes) {
    return Error{"numpy has no " + std::string(dtype_name(tensor->dtype)) +
                 ": use \"tensors\": \"pb\" or \"raw\""};
  }
  const auto written = write_bytes(given.path, *bytes);
  if (!written) return written.error();
  return given;
}

std::string TensorFiles::output_path(std::size_t at) const {
  return prefix_ + ".output_" + std::to_string(at) + std::string(extension(format_));
}

Status<Error> TensorFiles::take(const std::string& path, const NamedFile& output) const {
  const auto source = SourceFile::open(path);
  if (!source) return words_of(source.error());
  std::optional<Tensor> tensor;
  if (format_ == TensorFormat::pb) tensor = decode_tensor(source->bytes());
  if (format_ == TensorFormat::npy) tensor = decode_npy(source->bytes());
  if (!tensor) return Error{path + ": is not a tensor file of the format that \"tensors\" names"};
  tensor->name = output.name;
  return write_bytes(output.file, encode_tensor(*tensor));
}

}  // namespace cleave
