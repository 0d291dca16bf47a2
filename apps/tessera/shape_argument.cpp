#include "shape_argument.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace tessera::cli {
namespace {

std::int64_t parse_extent(std::string_view text, const std::string& word) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  check(error == std::errc{} && end == text.data() + text.size() && value >= 0, Code::invalid_argument,
        "'{}' in '{}' is not an extent", text, word);
  return value;
}

std::size_t split_at(const std::string& word, char separator, const char* form) {
  const std::size_t at = word.rfind(separator);
  check(at != std::string::npos && at != 0, Code::invalid_argument, "'{}' is not of the form {}", word, form);
  return at;
}

}  // namespace

ImportOptions parse_import_options(const std::vector<std::string>& shapes, const std::vector<std::string>& dimensions) {
  ImportOptions options;
  for (const std::string& word : shapes) {
    const std::size_t at = split_at(word, ':', "NAME:1x3x224x224");
    std::vector<std::int64_t> dims;
    std::string_view rest = std::string_view(word).substr(at + 1);
    while (!rest.empty() || dims.empty()) {
      const std::size_t end = std::min(rest.find('x'), rest.size());
      if (rest.empty()) break;  // "NAME:" is a scalar
      dims.push_back(parse_extent(rest.substr(0, end), word));
      if (end == rest.size()) break;
      rest.remove_prefix(end + 1);
      check(!rest.empty(), Code::invalid_argument, "'{}' ends with an x", word);
    }
    options.shapes[word.substr(0, at)] = dims;
  }
  for (const std::string& word : dimensions) {
    const std::size_t at = split_at(word, '=', "NAME=8");
    options.dimensions[word.substr(0, at)] = parse_extent(std::string_view(word).substr(at + 1), word);
  }
  return options;
}

}  // namespace tessera::cli
