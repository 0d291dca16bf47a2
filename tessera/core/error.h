#pragma once

// One exception for everything a user, a model or a file can get wrong. A message says what happened with the values
// found; callers add context on the way out ("while reading machines/x.toml"); a hint says what to do about it.
// Where failure is normal (a kernel that does not fit) functions return reasons as values instead.

#include "tessera/core/export.h"

#include <fmt/format.h>

#include <concepts>
#include <exception>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera {

enum class Code {
  invalid_argument,  // a value that makes no sense, alone or together with others
  not_found,         // a name or file that does not exist
  out_of_memory,     // the simulated or real memory is too small
  unsupported,       // meaningful, but not something that exists here
  parse,             // text or bytes that are not what they claim to be
  io,                // the operating system said no
  internal,          // our fault
};

TSR_API std::string_view name(Code code);

class __attribute__((visibility("default"))) Error : public std::exception {
 public:
  Error(Code code, std::string message, std::string hint = {},
        std::source_location where = std::source_location::current());

  Code code() const noexcept { return code_; }
  const std::string& message() const noexcept { return message_; }
  const std::string& hint() const noexcept { return hint_; }
  const std::vector<std::string>& context() const noexcept { return context_; }
  const std::source_location& where() const noexcept { return where_; }

  // Adds one fact about what was being done, innermost first: "while importing node 'Conv_17'".
  Error& add_context(std::string line);

  // Message, context and hint, one per line.
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  void compose();

  Code code_;
  std::string message_;
  std::string hint_;
  std::vector<std::string> context_;
  std::source_location where_;
  std::string text_;
};

// A format string that remembers where it was written, so that check() can be a function.
template <class... Args>
struct Located {
  template <std::convertible_to<std::string_view> Text>
  consteval Located(const Text& text, std::source_location at = std::source_location::current())
      : format(text), where(at) {}
  fmt::format_string<Args...> format;
  std::source_location where;
};

// What the user can do about it; passed ahead of the format string.
struct Hint {
  std::string text;
};

template <class... Args>
[[noreturn]] void fail(Code code, Located<std::type_identity_t<Args>...> text, Args&&... args) {
  throw Error(code, fmt::format(text.format, std::forward<Args>(args)...), {}, text.where);
}

template <class... Args>
[[noreturn]] void fail(Code code, Hint hint, Located<std::type_identity_t<Args>...> text, Args&&... args) {
  throw Error(code, fmt::format(text.format, std::forward<Args>(args)...), std::move(hint.text), text.where);
}

// The arguments are evaluated even when ok: write `if (!ok) fail(...)` where they cost something.
// check(ok, code, "conv2d: input has {} channels but ...", ...): throws unless ok.
template <class... Args>
void check(bool ok, Code code, Located<std::type_identity_t<Args>...> text, Args&&... args) {
  if (!ok) [[unlikely]]
    throw Error(code, fmt::format(text.format, std::forward<Args>(args)...), {}, text.where);
}

template <class... Args>
void check(bool ok, Code code, Hint hint, Located<std::type_identity_t<Args>...> text, Args&&... args) {
  if (!ok) [[unlikely]]
    throw Error(code, fmt::format(text.format, std::forward<Args>(args)...), std::move(hint.text), text.where);
}

// Runs body; an Error that leaves it carries `line` as context.
template <class Body>
decltype(auto) with_context(const std::string& line, Body&& body) {
  try {
    return std::forward<Body>(body)();
  } catch (Error& error) {
    error.add_context(line);
    throw;
  }
}

}  // namespace tessera
