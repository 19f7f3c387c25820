// SourceFile: an input's bytes, mapped into memory, never copied.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "formats/diagnostic.h"

namespace cleave {

class SourceFile {
 public:
  // Bytes after the end that may be read (they are zero): what the JSON parser asks for.
  static constexpr std::size_t kPadding = 64;

  // Maps the file read-only. "-" is standard input: what is no regular file is spooled to an
  // unnamed temporary file first, so that fd() serves writers all the same. Errors: cannot be
  // opened, is a folder; with the system's words.
  static Loaded<SourceFile> open(const std::string& path);
  // For tests: the text as if read from a file called `name`.
  static SourceFile from_text(std::string name, std::string_view text);

  SourceFile(SourceFile&& other) noexcept;
  SourceFile& operator=(SourceFile&& other) noexcept;
  ~SourceFile();

  std::string_view bytes() const { return {data_, size_}; }
  std::size_t size() const { return size_; }
  // A descriptor to copy bytes from; stays open as long as this lives.
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }  // as given; "<stdin>" for "-"
  // The folder that relative paths in the file start from; "." for standard input.
  std::string folder() const;

 private:
  SourceFile() = default;
  std::string path_;
  const char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t mapped_ = 0;
  int fd_ = -1;
};

}  // namespace cleave
