#include "formats/base/io/journal_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "formats/base/io/input_record.h"

namespace cleave {
namespace {

Error cannot_write(const std::string& path) {
  return {path + ": cannot be written: " + system_words(errno)};
}

// The bytes of a file that no other process changes; nullopt, with errno, when they cannot be read.
std::optional<std::string> content_of(int file) {
  std::string content;
  char buffer[1U << 16U];
  while (true) {
    const ssize_t count = ::pread(file, buffer, sizeof buffer, static_cast<off_t>(content.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) return content;
    content.append(buffer, static_cast<std::size_t>(count));
  }
}

}  // namespace

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n', begin)) {
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

Result<JournalFile, Error> JournalFile::open(const std::string& path, const std::string& owner,
                                             unsigned version) {
  const std::string kind = "{\"format\":\"" + owner + " journal\",\"version\":";
  const std::string head = kind + std::to_string(version) + "}\n";
  const Error not_ours{path + ": is not a journal of " + owner +
                       ", which would write one here: move it, or write elsewhere"};
  // Without O_NONBLOCK a pipe would wait for its reader.
  constexpr int kHow = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  JournalFile journal(path, Descriptor(::open(path.c_str(), kHow, 0644)));
  const int file = journal.file_.get();
  if (file < 0 && (errno == ELOOP || errno == EISDIR || errno == ENXIO)) return not_ours;
  struct stat status = {};
  if (file < 0 || ::fstat(file, &status) != 0) return cannot_write(path);
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1 || !input_at_path(path).empty()) {
    return not_ours;
  }
  if (::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return Error{path + ": another " + owner +
                 " is writing it: wait for its end, or write elsewhere"};
  }
  journal.is_locked_ = true;
  auto content = content_of(file);
  if (!content) return cannot_write(path);
  const bool is_begun = content->starts_with(head);
  if (!is_begun && !head.starts_with(*content)) {
    if (!content->starts_with(kind)) return not_ours;
    return Error{path + ": is a journal of another version of " + owner +
                 ": remove it, or write elsewhere"};
  }
  const std::size_t whole = content->rfind('\n') + 1;  // npos + 1 is 0
  if (whole < content->size() && ::ftruncate(file, static_cast<off_t>(whole)) != 0) {
    return cannot_write(path);
  }
  content->resize(whole);
  if (is_begun) content->erase(0, head.size());
  if (!is_begun) journal.head_ = head;
  journal.lines_ = *std::move(content);
  return journal;
}

JournalFile::~JournalFile() {
  struct stat status = {};
  const bool is_open = file_.is_open() && ::fstat(file_.get(), &status) == 0;
  if (is_open && S_ISREG(status.st_mode) && status.st_size == 0 && is_locked_) {
    ::unlink(path_.c_str());
  }
}

Status<Error> JournalFile::add(std::string_view lines) {
  if (lines.empty()) return Done{};
  if (!write_all(file_.get(), head_ + std::string(lines))) return cannot_write(path_);
  head_.clear();
  return Done{};
}

}  // namespace cleave
