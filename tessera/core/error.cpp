#include "tessera/core/error.h"

#include "tessera/core/text.h"

namespace tessera {

std::string_view name(Code code) {
  switch (code) {
    case Code::invalid_argument: return "invalid_argument";
    case Code::not_found: return "not_found";
    case Code::out_of_memory: return "out_of_memory";
    case Code::unsupported: return "unsupported";
    case Code::parse: return "parse";
    case Code::io: return "io";
    case Code::internal: return "internal";
  }
  return "internal";
}

Error::Error(Code code, std::string message, std::string hint, std::source_location where)
    : code_(code), message_(std::move(message)), hint_(std::move(hint)), where_(where) {
  compose();
}

Error& Error::add_context(std::string line) {
  context_.push_back(std::move(line));
  compose();
  return *this;
}

void Error::compose() {
  text_ = message_;
  for (const std::string& line : context_) text_ += "\n  " + line;
  if (!hint_.empty()) text_ += "\nhint: " + hint_;
  if (!is_printable(text_, true)) text_ = printable(text_, true);  // names from files may be anything
}

}  // namespace tessera
