// What the process does when a signal ends it: it removes temporaries and reports faults of inputs.
#pragma once

#include <string>

namespace cleave {

// Call this first of all.
//   SIGINT, SIGTERM, SIGHUP   and all others that end a process by default: temporaries are
//                             removed, then the signal has its usual effect; an ignored one stays
//                             ignored (nohup)
//   SIGBUS, SIGSEGV, SIGABRT  if an input changed while it was mapped, prints that and exits with
//                             3; else removes temporaries and ends as without a handler
//   SIGPIPE, SIGXFSZ          become errors of write()
//   no memory                 removes temporaries, prints an error and exits with 71: unwinding the
//                             stack would itself need memory
//   an exception that nothing   removes temporaries, says that this is a bug and prints the calls
//   catches                     that led to it, where the C library can, and exits with 70; if an
//                               input changed, prints that and exits with 3
// Also opens those of the descriptors 0 to 2 that are closed, in a way that using them remains an
// error: a file opened later must not get the number of standard output.
void set_up_signals();

// What is printed on standard error when such a signal ends the process from now on; "": nothing.
void say_when_stopped(const std::string& text);

}  // namespace cleave
