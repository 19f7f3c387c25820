#include "cli/terminal/terminal.h"

#include <fcntl.h>
#include <unistd.h>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <exception>
#include <forward_list>
#include <new>
#include <string>
#include <string_view>

#include "formats/base/files.h"
#include "formats/base/process.h"

#if __has_include(<execinfo.h>)
#include <execinfo.h>
#endif

namespace cleave {

namespace {

// The handler installed before ours: a sanitizer's own reports crashes, and is kept.
struct FaultSignal {
  int signal;
  struct sigaction before;
};
std::array<FaultSignal, 7> fault_signals = {{{SIGBUS, {}},
                                             {SIGSEGV, {}},
                                             {SIGABRT, {}},
                                             {SIGFPE, {}},
                                             {SIGILL, {}},
                                             {SIGTRAP, {}},
                                             {SIGSYS, {}}}};

void say(std::string_view text) noexcept {
  [[maybe_unused]] const ssize_t ignored = ::write(STDERR_FILENO, text.data(), text.size());
}

[[noreturn]] void leave(ExitCode code) noexcept { ::_exit(static_cast<int>(code)); }

std::atomic<const char*> stop_note = nullptr;

std::atomic_flag is_stopping;

// Cleans up and ends the process by the signal's default effect. Further signals change nothing, on
// whichever thread they arrive: `timeout` sends two, and so does an impatient user, and the second
// must not end the clean-up. Only SIGKILL does.
void stop(int signal) {
  if (is_stopping.test_and_set()) return;
  const char* const note = stop_note.load();
  if (note != nullptr) say(note);
  end_children();
  remove_temporaries();
  std::signal(signal, SIG_DFL);
  ::raise(signal);  // blocked until the handler returns
}

[[noreturn]] void refuse_input(const char* path, std::string_view why) noexcept {
  say(path);
  say(": error: ");
  say(why);
  say("\n");
  leave(ExitCode::bad_input);
}

// If no input is to blame, the earlier handler gets the same fault when this returns.
void tell_fault(int signal, siginfo_t* info, void* /*context*/) {
  const char* const changed = changed_input();
  const char* const at = signal == SIGBUS ? input_at(info->si_addr) : nullptr;
  remove_temporaries();
  if (changed != nullptr) {
    refuse_input(changed, kInputChanged);
  }
  if (at != nullptr) refuse_input(at, "cannot be read: the system has no page of it");
  for (const FaultSignal& fault : fault_signals) {
    if (fault.signal == signal) ::sigaction(signal, &fault.before, nullptr);
  }
}

[[noreturn]] void tell_no_memory() {
  remove_temporaries();
  say("cleave: error: out of memory\n");
  leave(ExitCode::out_of_memory);
}

// Prints the stack of calls, to go into a report of the bug. `addr2line -Cfe cleave +0x1234` makes a line's address a
// place in the source.
void say_calls() {
#if __has_include(<execinfo.h>)
  std::array<void*, 64> calls;
  ::backtrace_symbols_fd(calls.data(), ::backtrace(calls.data(), calls.size()), STDERR_FILENO);
#endif
}

// The stack is not unwound: it shows where the exception was thrown.
[[noreturn]] void tell_bug() {
  std::string what = "an exception without words";
  try {
    if (std::current_exception()) std::rethrow_exception(std::current_exception());
  } catch (const std::exception& error) {
    what = error.what();
  } catch (...) {
  }
  remove_temporaries();
  if (const char* const changed = changed_input()) refuse_input(changed, kInputChanged);
  say("cleave: error: this is a bug in cleave: " + what + "\n");
  say("note: please report it with the command and these calls:\n");
  say_calls();
  leave(ExitCode::bug);
}

void stop_at(int signal) {
  struct sigaction action = {}, before = {};
  if (::sigaction(signal, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) return;
  action.sa_handler = stop;
  ::sigfillset(&action.sa_mask);
  ::sigaction(signal, &action, nullptr);
}

void tell_faults_at(FaultSignal& fault) {
  struct sigaction action = {};
  action.sa_sigaction = tell_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigaction(fault.signal, &action, &fault.before);
}

// Opened for the opposite direction, so that using them remains an error.
void open_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // takes the lowest number
  }
}

}  // namespace

void say_when_stopped(const std::string& text) {
  static auto& notes = *new std::forward_list<std::string>;  // the handler may be printing any
  if (text.empty()) {
    stop_note.store(nullptr);
    return;
  }
  // A progress bar's line has no end.
  notes.push_front((::isatty(STDERR_FILENO) != 0 ? "\n" : "") + text + "\n");
  stop_note.store(notes.front().c_str());
}

void set_up_signals() {
  open_standard_descriptors();
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  for (const int signal : stopping_signals()) stop_at(signal);
  for (FaultSignal& fault : fault_signals) tell_faults_at(fault);
  std::set_new_handler(tell_no_memory);
  std::set_terminate(tell_bug);
}

}  // namespace cleave
