#include "formats/base/io/ticker.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/catch2.h"

namespace cleave {
namespace {

TEST_CASE("a ticker calls again and again, and not after its end") {
  std::atomic<int> calls = 0;
  {
    const Ticker ticker(0.001, [&calls] { ++calls; });
    while (calls < 3) std::this_thread::yield();
  }
  const int at_end = calls;
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(calls == at_end);
}

TEST_CASE("a ticker ends at once, however long it would wait") {
  std::atomic<int> calls = 0;
  {
    const Ticker ticker(1e6, [&calls] { ++calls; });
  }
  CHECK(calls == 0);
}

}  // namespace
}  // namespace cleave
