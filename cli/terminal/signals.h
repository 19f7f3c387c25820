// What the process does when the system stops it: temporaries go, and a fault of the machine is
// told as what it is.
#pragma once

namespace cleave {

// To be called first of all.
//   SIGINT, SIGTERM, SIGHUP   and all others that end a process by default: temporaries are removed,
//                             then the signal does what it always does; one that is ignored stays
//                             ignored (nohup)
//   SIGBUS, SIGSEGV, SIGABRT  where an input has changed while it was mapped, that is said and the
//                             process exits with 3; else temporaries are removed and the process
//                             ends as without a handler
//   SIGPIPE, SIGXFSZ          are errors of write() instead
//   no memory                 temporaries are removed, it is said, the process exits with 71: what
//                             unwinds the stack would need memory itself
// Also opens those of the descriptors 0 to 2 that are closed, such that using them stays an error:
// a file that is opened later must not get the number of standard output.
void set_up_signals();

}  // namespace cleave
