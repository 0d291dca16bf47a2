#pragma once

// Cases of a test as lines of a file in tests/data, where rows outnumber logic: fields between " | ". Empty lines and
// those that begin with # are for people. In a field \n, \\ and \xHH stand for what they do in C++.

#include "tessera/core/file.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::for_tests {

struct TextCase {
  std::string place;  // "wirings.txt:12", for SCOPED_TRACE
  std::vector<std::string> fields;

  const std::string& operator[](std::size_t i) const { return fields.at(i); }
};

inline std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
    } else if (text[++i] == 'x' && i + 2 < text.size()) {
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      out += text[i] == 'n' ? '\n' : text[i];
    }
  }
  return out;
}

// Of a file in tests/data; a line with another number of fields is a failure. With `least` the last ones may be left
// out, and are empty then.
inline std::vector<TextCase> text_cases(const std::string& file, std::size_t fields, std::size_t least = 0) {
  const std::filesystem::path path = std::filesystem::path(TESSERA_TEST_DATA) / file;
  const std::string text = read_text_file(path);
  std::vector<TextCase> out;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    const std::string_view line(text.data() + at, end - at);
    at = end + 1;
    ++number;
    if (line.empty() || line.front() == '#') continue;
    TextCase one{path.filename().string() + ":" + std::to_string(number), {}};
    for (std::size_t from = 0; from <= line.size();) {
      std::size_t to = line.find(" | ", from);
      if (to == std::string_view::npos) to = line.size();
      one.fields.push_back(unescaped(line.substr(from, to - from)));
      from = to + 3;
    }
    EXPECT_LE(one.fields.size(), fields) << one.place;
    EXPECT_GE(one.fields.size(), least == 0 ? fields : least) << one.place;
    one.fields.resize(fields);
    out.push_back(std::move(one));
  }
  EXPECT_FALSE(out.empty()) << path << " has no case";
  return out;
}

}  // namespace tessera::for_tests
