// SourceFile: the bytes of an input, mapped into memory and never copied.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "formats/base/io/input_watch.h"
#include "formats/base/text/diagnostic.h"

namespace cleave {

class SourceFile {
 public:
  // Readable zero bytes after the end, which the JSON parser needs.
  static constexpr std::size_t kPadding = 64;
  static constexpr std::uint64_t kAnySize = UINT64_MAX;

  // Maps the file read-only. "-" is standard input: unless it is a regular file, it is first copied
  // to an unnamed temporary file, so that fd() works for writers in any case. Errors, with the
  // system's words: cannot be opened, is a folder. Throws std::bad_alloc when there is no address
  // space left. While this object lives, the file is watched for changes: see input_watch.h.
  static Loaded<SourceFile> open(const std::string& path) { return open(path, kAnySize); }
  // Refuses a file with more bytes; reads little more than that from a pipe.
  static Loaded<SourceFile> open(const std::string& path, std::uint64_t most_bytes);
  // For tests: the text as if read from a file called `name`.
  static SourceFile from_text(std::string name, std::string_view text);

  SourceFile(SourceFile&& other) noexcept;
  SourceFile& operator=(SourceFile&& other) noexcept;
  ~SourceFile();

  std::string_view bytes() const { return {data_, size_}; }
  std::size_t size() const { return size_; }
  // A descriptor to copy bytes from; stays open while this object lives.
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }  // as given; "<stdin>" for "-"
  // The file's stamp when it was opened.
  const FileStamp& stamp() const { return watch_->stamp(); }
  // A path that opens the same bytes again while this object lives, also those of a pipe.
  std::string path_again() const;
  // The folder that relative paths in the file refer to; "." for standard input.
  std::string folder() const;

 private:
  SourceFile() = default;
  // False, with errno, when the system cannot map it.
  bool map();
  std::string path_;
  const char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mapped_ = 0;
  int fd_ = -1;
  bool is_spooled_ = false;
  std::unique_ptr<InputWatch> watch_;
};

}  // namespace cleave
