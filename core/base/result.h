// Result<T>: a value, or why there is none. Shaped like std::expected, which g++ 12 lacks.
//
// Core uses Result only where the request itself can be impossible; what the user did wrong in a
// file is a diagnostic (formats/base/text/diagnostic.h), which knows files and lines.
#pragma once

#include <cassert>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/ids.h"

namespace cleave {

// What was asked and why it is impossible: lower case, names quoted. Notes are further lines.
struct Error {
  std::string message;
  std::optional<NodeId> node = std::nullopt;
  std::vector<std::string> notes = {};
};

template <class T, class E = Error>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: as std::expected
  Result(E error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: as std::expected

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & { return checked<0>(state_); }
  const T& value() const& { return checked<0>(state_); }
  T&& value() && { return std::move(checked<0>(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  E& error() & { return checked<1>(state_); }
  const E& error() const& { return checked<1>(state_); }
  E&& error() && { return std::move(checked<1>(state_)); }

 private:
  template <std::size_t I, class State>
  static auto& checked(State& state) {
    assert(state.index() == I);
    return *std::get_if<I>(&state);
  }
  std::variant<T, E> state_;
};

// A result without a value: done, or why it could not be.
struct Done {};
template <class E = Error>
using Status = Result<Done, E>;

}  // namespace cleave
