// A library to be preloaded (LD_PRELOAD) that makes system calls fail as requested, so that a test
// can produce a full disk, a kill or a changed input at every call that a program makes.
//
//   FAULT_CALLS=write,rename   the calls that count; others pass
//   FAULT_AT=7                 the first that goes wrong; 0: none
//   FAULT_ALWAYS=1             all from there on, not only the first
//   FAULT_DO=28                fails with this errno,
//            SIGKILL           or the process gets this signal (SIGTERM, SIGUSR1) first,
//            short             or no more than 100 bytes are read or written,
//            interrupted       or every other call fails with EINTR, the call after it works,
//            throw         or an exception is thrown out of it, as by a bug,
//            cut:FILE          or FILE is cut to nothing first,
//            change:FILE       or a byte of FILE becomes another first
//   FAULT_MARK=FILE            made when something went wrong
//
// `create` counts calls of open that make a file.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

constexpr std::size_t kShort = 100;

std::string_view setting(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

bool counts(std::string_view call) {
  std::string_view calls = setting("FAULT_CALLS");
  while (!calls.empty()) {
    const std::size_t comma = calls.find(',');
    if (calls.substr(0, comma) == call) return true;
    calls.remove_prefix(comma == calls.npos ? calls.size() : comma + 1);
  }
  return false;
}

// The real call, even if another library is preloaded.
template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// Calls the system directly: the library's own calls must not be counted.
int open_raw(std::string_view path, int flags) {
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, std::string(path).c_str(), flags, 0600));
}

void close_raw(int fd) { ::syscall(SYS_close, fd); }

void change_file(std::string_view path) {
  const int fd = open_raw(path, O_RDWR);
  char byte = 0;
  ::syscall(SYS_pread64, fd, &byte, 1, 100);
  byte = byte == ' ' ? '\t' : ' ';
  ::syscall(SYS_pwrite64, fd, &byte, 1, 100);
  close_raw(fd);
}

int signal_named(std::string_view name) {
  if (name.substr(0, 3) != "SIG") return 0;
  if (name == "SIGIO") return SIGIO;  // the system calls it SIGPOLL
  for (int signal = 1; signal < 32; ++signal) {
    const char* const known = ::sigabbrev_np(signal);
    if (known != nullptr && name.substr(3) == known) return signal;
  }
  return 0;
}

enum class Fault { none, fails, is_short };

// The outcome of the call: `fails` has set errno.
Fault fault_at(std::string_view call) {
  static long count = 0;
  if (!counts(call)) return Fault::none;
  const long at = std::atol(setting("FAULT_AT").data());
  ++count;
  if (at == 0 || count < at || (count > at && setting("FAULT_ALWAYS") != "1")) return Fault::none;

  if (const auto mark = setting("FAULT_MARK"); !mark.empty()) {
    close_raw(open_raw(mark, O_CREAT | O_WRONLY));
  }
  const std::string_view what = setting("FAULT_DO");
  if (what == "short") return Fault::is_short;
  if (what == "interrupted") {
    errno = EINTR;
    return (count - at) % 2 == 0 ? Fault::fails : Fault::none;
  }
  if (what.substr(0, 4) == "cut:") {
    close_raw(open_raw(what.substr(4), O_WRONLY | O_TRUNC));
  } else if (what.substr(0, 7) == "change:") {
    change_file(what.substr(7));
  } else if (what == "throw") {
    throw std::logic_error("a test threw this");
  } else if (const int signal = signal_named(what); signal != 0) {
    ::syscall(SYS_kill, ::getpid(), signal);
  } else {
    errno = std::atoi(what.data());
    return Fault::fails;
  }
  return Fault::none;
}

std::size_t length_of(Fault fault, std::size_t length) {
  return fault == Fault::is_short && length > kShort ? kShort : length;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  std::va_list more;
  va_start(more, flags);
  const auto mode = va_arg(more, unsigned);
  va_end(more);
  const bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  if (fault_at(creates ? "create" : "open") == Fault::fails) return -1;
  return real<int(const char*, int, ...)>("open")(path, flags, mode);
}

int close(int fd) {
  const bool fails = fault_at("close") == Fault::fails;
  const int error = errno;
  const int done = real<int(int)>("close")(fd);
  if (!fails) return done;
  errno = error;  // the descriptor is closed anyway, as on Linux
  return -1;
}

ssize_t read(int fd, void* to, std::size_t length) {
  const Fault fault = fault_at("read");
  if (fault == Fault::fails) return -1;
  return real<ssize_t(int, void*, std::size_t)>("read")(fd, to, length_of(fault, length));
}

ssize_t pread(int fd, void* to, std::size_t length, off_t offset) {
  const Fault fault = fault_at("pread");
  if (fault == Fault::fails) return -1;
  return real<ssize_t(int, void*, std::size_t, off_t)>("pread")(fd, to, length_of(fault, length),
                                                                offset);
}

ssize_t write(int fd, const void* from, std::size_t length) {
  const Fault fault = fault_at("write");
  if (fault == Fault::fails) return -1;
  return real<ssize_t(int, const void*, std::size_t)>("write")(fd, from, length_of(fault, length));
}

// The fault happens after the call: what is mapped can be truncated.
void* mmap(void* at, std::size_t length, int protection, int flags, int fd, off_t offset) {
  using Call = void*(void*, std::size_t, int, int, int, off_t);
  void* const done = real<Call>("mmap")(at, length, protection, flags, fd, offset);
  const bool fails = fd >= 0 && fault_at("mmap") == Fault::fails;
  return fails ? MAP_FAILED : done;
}

// After the call, too: the change is not what the caller saw.
int fstat(int fd, struct stat* status) {
  const int done = real<int(int, struct stat*)>("fstat")(fd, status);
  return fault_at("fstat") == Fault::fails ? -1 : done;
}

int mkdir(const char* path, mode_t mode) {
  if (fault_at("mkdir") == Fault::fails) return -1;
  return real<int(const char*, mode_t)>("mkdir")(path, mode);
}

int rename(const char* from, const char* to) {
  if (fault_at("rename") == Fault::fails) return -1;
  return real<int(const char*, const char*)>("rename")(from, to);
}

int renameat2(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
  if (fault_at("renameat2") == Fault::fails) return -1;
  return real<int(int, const char*, int, const char*, unsigned)>("renameat2")(from_folder, from,
                                                                              to_folder, to, flags);
}

int unlink(const char* path) {
  if (fault_at("unlink") == Fault::fails) return -1;
  return real<int(const char*)>("unlink")(path);
}

int unlinkat(int folder, const char* path, int flags) {
  if (fault_at("unlink") == Fault::fails) return -1;
  return real<int(int, const char*, int)>("unlinkat")(folder, path, flags);
}

int rmdir(const char* path) {
  if (fault_at("unlink") == Fault::fails) return -1;
  return real<int(const char*)>("rmdir")(path);
}

}  // extern "C"
