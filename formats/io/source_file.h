// SourceFile: an input's bytes, mapped into memory, never copied.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "formats/io/input_watch.h"
#include "formats/text/diagnostic.h"

namespace cleave {

class SourceFile {
 public:
  // Bytes after the end that may be read (they are zero): what the JSON parser asks for.
  static constexpr std::size_t kPadding = 64;
  static constexpr std::uint64_t kAnySize = UINT64_MAX;

  // Maps the file read-only. "-" is standard input: what is no regular file is spooled to an
  // unnamed temporary file first, so that fd() serves writers all the same. Errors: cannot be
  // opened, is a folder; with the system's words. Throws std::bad_alloc when there is no room to
  // map it to. As long as this lives, the file is watched for changes: see input_watch.h.
  static Loaded<SourceFile> open(const std::string& path) { return open(path, kAnySize); }
  // Refuses one of more bytes; of a pipe not many more are read.
  static Loaded<SourceFile> open(const std::string& path, std::uint64_t most_bytes);
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
  // What the file was when it was opened.
  const FileStamp& stamp() const { return watch_->stamp(); }
  // A path that opens the same bytes again as long as this lives, also those of a pipe.
  std::string path_again() const;
  // The folder that relative paths in the file start from; "." for standard input.
  std::string folder() const;

 private:
  SourceFile() = default;
  // False, with errno, when the system does not map it.
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
