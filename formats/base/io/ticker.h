// Ticker: calls a function every so many seconds, in a thread of its own, while work goes on in others.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace cleave {

class Ticker {
 public:
  // `call` runs beside everything else until this object goes out of scope. Where the system starts no
  // thread it is never called.
  Ticker(double seconds, std::function<void()> call);
  ~Ticker();
  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  void run(double seconds);

  std::function<void()> call_;
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace cleave
