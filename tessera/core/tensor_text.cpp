#include "tessera/core/tensor_text.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

namespace tessera {
namespace {

constexpr std::int64_t kShownWhole = 4;  // a longer dimension shows kShownEnds at each end
constexpr std::int64_t kShownEnds = 2;

// Numbers of very different or extreme size are written with exponents, all of them.
bool needs_exponents(const std::vector<float>& values) {
  float least = std::numeric_limits<float>::infinity(), largest = 0;
  for (float v : values) {
    const float magnitude = std::fabs(v);
    if (magnitude == 0 || !std::isfinite(magnitude)) continue;
    least = std::min(least, magnitude);
    largest = std::max(largest, magnitude);
  }
  if (largest == 0) return false;
  return largest / least > 1000.0F || least < 1e-4F || largest > 1e8F;
}

class Writer {
 public:
  Writer(const Tensor& x, int indent) : shape_(x.shape()), indent_(indent), integer_(is_integer(x.dtype())) {
    if (integer_) {
      integers_ = integers(x);
    } else {
      floats_ = x.to_float32();
      exponents_ = needs_exponents(floats_);
    }
    write(0, 0);
  }

  std::string take() { return std::move(text_); }

 private:
  static std::vector<std::int64_t> integers(const Tensor& x) {
    std::vector<std::int64_t> out;
    const Bytes bytes = x.to_elements(x.dtype());
    const std::size_t size = static_cast<std::size_t>(element_bytes(x.dtype()));
    for (std::size_t at = 0; at < bytes.size(); at += size) {
      std::uint32_t bits = 0;  // little-endian, as the elements are
      std::memcpy(&bits, bytes.data() + at, size);
      out.push_back(x.dtype() == DType::int32 ? std::int64_t{static_cast<std::int32_t>(bits)} : std::int64_t{bits});
    }
    return out;
  }

  void element(std::int64_t index) {
    const auto i = static_cast<std::size_t>(index);
    if (integer_)
      text_ += fmt::format("{:5d}", integers_[i]);
    else if (!std::isfinite(floats_[i]))
      text_ += fmt::format("{:>7}", std::isnan(floats_[i]) ? "nan" : floats_[i] > 0 ? "inf" : "-inf");
    else
      text_ += exponents_ ? fmt::format("{:11.4e}", floats_[i]) : fmt::format("{:7.4f}", floats_[i]);
  }

  void separate(int dim) {
    text_ += ",";
    if (dim == shape_.rank() - 1) {
      text_ += " ";
      return;
    }
    text_ += dim == shape_.rank() - 2 ? "\n" : "\n\n";
    text_.append(static_cast<std::size_t>(indent_ + dim + 1), ' ');
  }

  // `index` counts sub-tensors from `dim` on.
  void write(int dim, std::int64_t index) {
    if (dim == shape_.rank()) {
      element(index);
      return;
    }
    const std::int64_t extent = shape_[dim];
    text_ += "[";
    for (std::int64_t i = 0; i < extent; ++i) {
      if (i > 0) separate(dim);
      if (extent > kShownWhole && i == kShownEnds) {
        text_ += dim == shape_.rank() - 1 ? " ..." : "...";
        separate(dim);
        i = extent - kShownEnds;
      }
      write(dim + 1, index * extent + i);
    }
    text_ += "]";
  }

  Shape shape_;
  int indent_;
  bool integer_;
  bool exponents_ = false;
  std::vector<float> floats_;
  std::vector<std::int64_t> integers_;
  std::string text_;
};

}  // namespace

std::string values_text(const Tensor& x, int indent) { return Writer(x, indent).take(); }

}  // namespace tessera
