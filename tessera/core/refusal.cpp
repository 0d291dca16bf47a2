#include "tessera/core/refusal.h"

#include <typeinfo>

namespace tessera {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

bool is_refusal(const Error& error) {
  switch (error.code()) {
    case Code::invalid_argument:
    case Code::not_found:
    case Code::out_of_memory:
    case Code::unsupported: return typeid(error) == typeid(Error) || typeid(error) == typeid(OutOfMemory);
    case Code::parse:
    case Code::io:
    case Code::internal: return false;
  }
  return false;
}

}  // namespace

std::string_view name(Shortage shortage) {
  switch (shortage) {
    case Shortage::none: return "none";
    case Shortage::l1: return "l1";
    case Shortage::l1_clash: return "l1_clash";
    case Shortage::program: return "program";
    case Shortage::l1_small: return "l1_small";
    case Shortage::dram: return "dram";
    case Shortage::trace: return "trace";
    case Shortage::sbuf: return "sbuf";
    case Shortage::psum: return "psum";
    case Shortage::host: return "host";
  }
  return "none";
}

std::string Refusal::reason() const { return first_line(message); }

std::string Refusal::lasting_reason() const { return first_line(lasting_message.empty() ? message : lasting_message); }

std::string Refusal::text() const {
  std::string all = message;
  for (const std::string& line : context) all += "\n  " + line;
  if (!hint.empty()) all += "\nhint: " + hint;
  return all;
}

OutOfMemory::OutOfMemory(Refusal refusal, std::source_location where)
    : Error(Code::out_of_memory, refusal.message, refusal.hint, where), refusal_(std::move(refusal)) {
  for (const std::string& line : refusal_.context) add_context(line);
}

void raise(const Refusal& refusal, std::source_location where) {
  if (refusal.out_of_memory()) throw OutOfMemory(refusal, where);
  Error error(refusal.code, refusal.message, refusal.hint, where);
  for (const std::string& line : refusal.context) error.add_context(line);
  throw error;
}

Refusal refusal_in_flight() {
  try {
    throw;
  } catch (const OutOfMemory& error) {
    Refusal refusal = error.refusal();
    refusal.context = error.context();
    return refusal;
  } catch (const Error& error) {
    if (!is_refusal(error)) throw;
    return {.message = error.message(), .hint = error.hint(), .code = error.code(), .context = error.context()};
  }
}

}  // namespace tessera
