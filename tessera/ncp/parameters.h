#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::ncp {

struct ParameterInfo {
  std::string name{};
  std::vector<std::int64_t> shape{};
  bool trainable = true;
  std::int64_t count() const {
    std::int64_t n = 1;
    for (const std::int64_t extent : shape) n *= extent;
    return n;
  }
  bool operator==(const ParameterInfo&) const = default;
};

template <class Real>
struct Parameter {
  ParameterInfo info{};
  std::vector<Real> values{};  // row-major
};

// In the order of parameter_list().
template <class Real>
struct ParameterSet {
  std::vector<Parameter<Real>> items{};

  int find(std::string_view name) const {  // -1: not there
    for (std::size_t i = 0; i < items.size(); ++i)
      if (items[i].info.name == name) return static_cast<int>(i);
    return -1;
  }
  const Real* at(int i) const { return items[static_cast<std::size_t>(i)].values.data(); }
  Real* at(int i) { return items[static_cast<std::size_t>(i)].values.data(); }
};

template <class To, class From>
ParameterSet<To> converted(const ParameterSet<From>& set) {
  ParameterSet<To> out;
  for (const Parameter<From>& item : set.items)
    out.items.push_back({item.info, {item.values.begin(), item.values.end()}});
  return out;
}

template <class Real>
ParameterSet<Real> zeros(const std::vector<ParameterInfo>& list) {
  ParameterSet<Real> out;
  for (const ParameterInfo& info : list)
    out.items.push_back({info, std::vector<Real>(static_cast<std::size_t>(info.count()))});
  return out;
}

}  // namespace tessera::ncp
