#pragma once

// What every function of the interface for C does: exceptions end in it, and their words are kept for the caller.

#include "tessera/c/tessera.h"
#include "tessera/core/error.h"
#include "tessera/core/file_system.h"

#include <fmt/ranges.h>

#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <utility>

namespace tessera::c {

struct LastError {
  std::string message, context, hint;
};

LastError& last_error();  // of this thread

// Short enough to need no memory of their own.
constexpr const char* kNoMemory = "out of memory";
constexpr const char* kUnknown = "unknown fault";

// Exceptions end here.
template <class Body>
tsr_status guarded(const Body& body) noexcept {
  const auto keep = [](Code code, std::string message, std::string context, std::string hint) {
    last_error() = {std::move(message), std::move(context), std::move(hint)};
    return static_cast<tsr_status>(static_cast<int>(code) + 1);
  };
  try {
    try {
      body();
      return TSR_OK;
    } catch (const Error& error) {
      return keep(error.code(), error.message(), fmt::format("{}", fmt::join(error.context(), "\n")), error.hint());
    } catch (const std::bad_alloc&) {
      return keep(Code::out_of_memory, kNoMemory, "", "");
    } catch (const std::filesystem::filesystem_error& error) {
      return keep(Code::io, as_error(error).message(), "", "");
    } catch (const std::exception& error) {
      return keep(Code::internal, error.what(), "", "this is a fault of tessera itself");
    }
  } catch (const std::bad_alloc&) {  // there was none for the message
    return keep(Code::out_of_memory, kNoMemory, "", "");
  } catch (...) {
    return keep(Code::internal, kUnknown, "", "");
  }
}

template <class T>
T& required(T* pointer, const char* what) {
  check(pointer != nullptr, Code::invalid_argument, "{} is NULL", what);
  return *pointer;
}

inline std::string text_of(const char* text, const char* what) { return std::string(&required(text, what)); }

template <class Options>
Options options_of(const Options* given, void (*init)(Options*)) {
  Options options;
  init(&options);
  if (given == nullptr) return options;
  check(given->struct_size == sizeof(Options), Code::invalid_argument,
        Hint{"call the function ..._options_init on them first, and compile with the header of this version"},
        "the options have {} bytes, and version {} knows {}", given->struct_size, tsr_version(), sizeof(Options));
  return *given;
}

}  // namespace tessera::c
