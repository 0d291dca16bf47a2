#pragma once

// A refusal is a normal answer: what was asked for does not fit, or does not exist here. Searches and simulators get it
// as a value and decide on its fields; its text is for people. At the public surface the same refusal is thrown as an
// Error (raise), and what is thrown there can be had as a value again (attempt).

#include "tessera/core/error.h"
#include "tessera/core/export.h"

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tessera {

// The memory that is too small.
enum class Shortage : std::uint8_t {
  none,      // refused for another reason
  l1,        // tensors do not fit into a core's L1
  l1_clash,  // circular buffers of a program reach into tensors in L1
  program,   // circular buffers of a program alone are more than a core's L1
  l1_small,  // the part of L1 for lists
  dram,      // of the device
  trace,     // the part of DRAM for captured traces
  sbuf,      // of a NeuronCore
  psum,      // of a NeuronCore
  host,
};
TSR_API std::string_view name(Shortage shortage);

// Bytes are of one bank, core or partition, as the memory is divided; 0 where nobody counted.
struct TSR_API Refusal {
  std::string message = {};  // as an Error says it
  std::string hint = {};     // what would do
  Code code = Code::unsupported;
  Shortage shortage = Shortage::none;
  std::int64_t requested_bytes = 0;
  std::int64_t free_bytes = 0;
  std::int64_t largest_free_bytes = 0;  // in one piece
  // The message without what differs from run to run, such as a program's number; empty: the message is such.
  std::string lasting_message = {};
  std::vector<std::string> context = {};

  bool operator==(const Refusal&) const = default;
  bool out_of_memory() const { return code == Code::out_of_memory; }
  std::string reason() const;          // the first line of the message
  std::string lasting_reason() const;  // the same, of the lasting one: what a plan keeps
  std::string text() const;            // message, context and hint, one per line
};

// How a Refusal for lack of memory is thrown.
class TSR_API OutOfMemory : public Error {
 public:
  explicit OutOfMemory(Refusal refusal, std::source_location where = std::source_location::current());
  const Refusal& refusal() const noexcept { return refusal_; }  // without the context that came later

 private:
  Refusal refusal_;
};

[[noreturn]] TSR_API void raise(const Refusal& refusal, std::source_location where = std::source_location::current());

// Only for attempt(): rethrows what is no answer but a fault or the end of the work. Those are broken files, failures
// of the system, our own mistakes, and whatever has a class of its own.
TSR_API Refusal refusal_in_flight();

// A value, or why there is none.
template <class T>
class Result {
 public:
  Result(T value) : one_(std::in_place_index<0>, std::move(value)) {}
  Result(Refusal refusal) : one_(std::in_place_index<1>, std::move(refusal)) {}

  explicit operator bool() const { return one_.index() == 0; }
  const T& operator*() const& { return std::get<0>(one_); }
  T& operator*() & { return std::get<0>(one_); }
  T&& operator*() && { return std::get<0>(std::move(one_)); }
  const T* operator->() const { return &std::get<0>(one_); }
  T* operator->() { return &std::get<0>(one_); }
  const Refusal& refusal() const { return std::get<1>(one_); }

  // For callers that cannot do without: raises the refusal.
  T value() && {
    if (!*this) raise(refusal());
    return std::get<0>(std::move(one_));
  }

 private:
  std::variant<T, Refusal> one_;
};

// Calls what throws its refusals, and returns them. The one place where an Error becomes a value.
template <class Body>
auto attempt(Body&& body) {
  using Returned = decltype(body());
  using Kept = std::conditional_t<std::is_void_v<Returned>, std::monostate, std::decay_t<Returned>>;
  try {
    if constexpr (std::is_void_v<Returned>) {
      std::forward<Body>(body)();
      return Result<Kept>(Kept{});
    } else {
      return Result<Kept>(std::forward<Body>(body)());
    }
  } catch (const Error&) {
    return Result<Kept>(refusal_in_flight());
  }
}

}  // namespace tessera
