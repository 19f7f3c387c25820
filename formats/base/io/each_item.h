// Work on independent items by several threads, with the outcome of one thread: the caller keeps
// what each item gives in a place of its own, and the fault that counts is that of the lowest item.
#pragma once

#include <cstddef>
#include <functional>

namespace cleave {

// Calls work(0) to work(count - 1), each once, by up to eight threads, one for every four items.
// Items begin in this order. An item that returns false stops the work: no later item begins.
// Returns the lowest item that returned false, or `count`; all items below it are done. Rethrows
// the exception of the lowest item when it threw. Signals go to the calling thread alone.
std::size_t do_each(std::size_t count, const std::function<bool(std::size_t)>& work);

}  // namespace cleave
