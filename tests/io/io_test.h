#pragma once

#include "tessera/core/error.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::io_test {

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

template <class T>
std::vector<std::byte> bytes_of(std::initializer_list<T> values) {
  const auto bytes = std::as_bytes(std::span(values.begin(), values.size()));
  return {bytes.begin(), bytes.end()};
}

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::string read_all(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  check(file.good(), Code::not_found, "no file {}", path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::filesystem::path data_path(std::string_view name) {
  return std::filesystem::path(TESSERA_TEST_DATA) / "io" / name;
}

inline std::string data_file(std::string_view name) { return read_all(data_path(name)); }

// Runs body, which must throw an Error with this code and a text that contains `text`.
template <class Body>
void expect_refusal(Code code, std::string_view text, Body&& body) {
  try {
    body();
    ADD_FAILURE() << "nothing was refused; expected: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(name(error.code()), name(code)) << error.what();
    EXPECT_NE(std::string_view(error.what()).find(text), std::string_view::npos)
        << "expected: " << text << "\nfound:    " << error.what();
  }
}

// A folder of its own for each test, gone afterwards.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tessera-io-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }
  std::size_t files() const {
    const std::filesystem::directory_iterator begin(path_);
    return static_cast<std::size_t>(std::distance(begin, {}));
  }

 private:
  std::filesystem::path path_;
};

inline std::vector<std::byte> random_bytes(std::mt19937& random, std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// Ranks 0 to 5, extents 0 to 5.
inline std::vector<std::int64_t> random_shape(std::mt19937& random) {
  std::vector<std::int64_t> shape(random() % 6);
  for (std::int64_t& extent : shape) extent = static_cast<std::int64_t>(random() % 6);
  return shape;
}

inline std::int64_t volume_of(std::span<const std::int64_t> shape) {
  std::int64_t volume = 1;
  for (std::int64_t extent : shape) volume *= extent;
  return volume;
}

}  // namespace tessera::io_test
