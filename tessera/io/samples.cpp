#include "tessera/io/samples.h"

#include "tessera/core/error.h"
#include "tessera/core/narrow_element.h"
#include "tessera/graph/graph.h"
#include "tessera/io/npy.h"
#include "tessera/io/npz.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <random>
#include <utility>

namespace tessera {
namespace {

// Samples of one input as they come from files, one behind the other.
class SampleStack {
 public:
  void add(const std::string& file, NpyArray array, std::size_t rank) {
    // A file without the extent that counts is one sample.
    if (array.shape.size() + 1 == rank) array.shape.insert(array.shape.begin(), 1);
    check(array.shape.size() == rank, Code::invalid_argument, "{} has shape {}: the input has {} extents", file,
          Shape(array.shape).to_string(), rank);
    if (data_.empty()) {
      type_ = array.type;
      shape_ = array.shape;
      shape_[0] = 0;
    }
    check(array.type == type_ && std::equal(shape_.begin() + 1, shape_.end(), array.shape.begin() + 1),
          Code::invalid_argument, "{} holds {} of {}, the files before it {} of {}", file, name(array.type),
          Shape(array.shape).to_string(), name(type_), Shape(shape_).to_string());
    shape_[0] += array.shape[0];
    data_.insert(data_.end(), array.data.begin(), array.data.end());
  }
  Array array() && { return Array(type_, Shape(shape_), std::move(data_)); }

 private:
  ElementType type_ = ElementType::float32;
  std::vector<std::int64_t> shape_;
  std::vector<std::byte> data_;
};

std::vector<std::filesystem::path> sample_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".npy" || entry.path().extension() == ".npz") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  check(!files.empty(), Code::not_found, "there is no .npy or .npz file in {}", folder.string());
  return files;
}

}  // namespace

Array random_array(const TensorType& type, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Array out(type.type, type.shape());
  std::normal_distribution<float> normal;
  if (is_narrow(type.type)) {
    for (std::byte& b : out.bytes()) b = std::byte{narrow_element(type.type, static_cast<double>(normal(random)))};
    return out;
  }
  visit_element_type(type.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (T& value : out.as<T>()) {
      if constexpr (is_floating_v<T>)
        value = T(normal(random));
      else
        value = static_cast<T>(random() & 1);
    }
  });
  return out;
}

std::vector<Array> read_samples(const Graph& graph, std::span<const std::string> inputs, const RandomSamples& random) {
  std::map<std::string, SampleStack> stacks;
  std::map<std::string, std::size_t> ranks;
  for (const ValueId id : graph.inputs) ranks[graph.value(id).name] = graph.value(id).type.shape().rank();
  const auto add = [&](const std::string& input, const std::string& file, NpyArray array) {
    graph.input_position(input);  // an Error that lists the names
    stacks[input].add(file, std::move(array), ranks.at(input));
  };
  const auto read = [&](const std::string& input, const std::filesystem::path& file) {
    if (file.extension() == ".npz") {
      for (auto& [name, array] : load_npz(file)) add(name, file.string(), std::move(array));
      return;
    }
    check(!input.empty() || graph.inputs.size() == 1, Code::invalid_argument, Hint{"NAME=FOLDER, or .npz files"},
          "{} does not say which of {} inputs it is for", file.string(), graph.inputs.size());
    add(input.empty() ? graph.value(graph.inputs[0]).name : input, file.string(), load_npy(file));
  };
  for (const std::string& word : inputs) {
    const std::size_t at = std::filesystem::exists(word) ? std::string::npos : word.rfind('=');
    const std::string input = at == std::string::npos ? "" : word.substr(0, at);
    const std::filesystem::path path = at == std::string::npos ? word : word.substr(at + 1);
    check(std::filesystem::exists(path), Code::not_found, "there is no file or folder '{}'", path.string());
    if (!std::filesystem::is_directory(path)) {
      read(input, path);
      continue;
    }
    for (const std::filesystem::path& file : sample_files(path)) read(input, file);
  }
  std::vector<Array> samples;
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const Value& value = graph.value(graph.inputs[i]);
    if (const auto found = stacks.find(value.name); found != stacks.end()) {
      samples.push_back(std::move(found->second).array());
      continue;
    }
    check(random.count > 0, Code::invalid_argument,
          Hint{fmt::format("--input {}=FOLDER, or --samples N for random ones", value.name)},
          "there are no samples of input '{}'", value.name);
    check(value.type.dims && !value.type.dims->empty(), Code::unsupported,
          "input '{}' is {}, which has no batch to count samples in", value.name, value.type.to_string());
    std::vector<std::int64_t> dims = *value.type.dims;
    dims.front() = random.count;
    samples.push_back(random_array(TensorType(value.type.type, std::move(dims)), random.seed + i));
  }
  return samples;
}

}  // namespace tessera
