#pragma once

// Reads the little-endian, C-ordered .npy files in tests/data: just enough for goldens, independent of the product's
// reader.

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace tessera::for_tests {

template <class T>
struct GoldenArray {
  std::vector<std::int64_t> shape;
  std::vector<T> values;

  // The i-th slice along the first dimension.
  const T* slice(std::int64_t i) const { return values.data() + i * slice_size(); }
  std::int64_t slice_size() const { return static_cast<std::int64_t>(values.size()) / shape.at(0); }
};

template <class T>
GoldenArray<T> read_golden(const std::string& file, const std::string& descr) {
  const std::string path = std::string(TESSERA_TEST_DATA) + "/" + file;
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  if (bytes.size() < 10 || bytes.compare(1, 5, "NUMPY") != 0) throw std::runtime_error(path + " is no .npy file");
  const std::size_t header = static_cast<unsigned char>(bytes[8]) + 256u * static_cast<unsigned char>(bytes[9]);
  const std::string text = bytes.substr(10, header);
  if (text.find("'" + descr + "'") == std::string::npos) throw std::runtime_error(path + " does not hold " + descr);
  GoldenArray<T> array;
  std::size_t count = 1;
  for (const char* at = text.c_str() + text.find('(') + 1; *at != ')';) {
    if (*at < '0' || *at > '9') {
      ++at;
      continue;
    }
    char* end = nullptr;
    array.shape.push_back(std::strtoll(at, &end, 10));
    count *= static_cast<std::size_t>(array.shape.back());
    at = end;
  }
  if (bytes.size() != 10 + header + count * sizeof(T)) throw std::runtime_error(path + " has the wrong size");
  array.values.resize(count);
  std::memcpy(array.values.data(), bytes.data() + 10 + header, count * sizeof(T));
  return array;
}

}  // namespace tessera::for_tests
