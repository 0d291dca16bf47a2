#include "tessera/graph/passes/internal/scaled_array.h"

#include "tessera/core/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

namespace tessera::internal {
namespace {

constexpr std::size_t kLeastDeferred = 64 << 10;
constexpr std::int64_t kGrain = 1 << 15;  // elements that are worth a thread
constexpr std::int64_t kPiece = 512;      // elements copied at once to where they are aligned

// Products of parts of an array. Its elements may lie anywhere; deferred ones that lie nowhere are made for this alone.
class Products {
 public:
  Products(const Array& array, std::int64_t run, const std::vector<double>& factors)
      : run_(run), factors_(factors), loaded_(lies_nowhere(array) ? array.loaded() : Array()) {
    from_ = lies_nowhere(array) ? std::as_const(loaded_).bytes().data()
            : array.deferred()  ? array.deferred()->where()
                                : array.bytes().data();
  }

  // Calls visit(first element, products of a few elements) until all of [begin, end) have been seen.
  template <class Visit>
  void for_each_piece(std::int64_t begin, std::int64_t end, const Visit& visit) const {
    const auto period = static_cast<std::int64_t>(factors_.size());
    float piece[kPiece];
    for (std::int64_t first = begin, count = 0; first < end; first += count) {
      const std::int64_t at = first / run_ % period;
      count = run_ == 1 ? period - at : run_ - first % run_;
      count = std::min({count, end - first, kPiece});
      std::memcpy(piece, from_ + first * 4, static_cast<std::size_t>(count) * 4);
      const double* factor = factors_.data() + at;
      if (run_ == 1)
        for (std::int64_t i = 0; i < count; ++i)
          piece[i] = static_cast<float>(static_cast<double>(piece[i]) * factor[i]);
      else
        for (std::int64_t i = 0; i < count; ++i) piece[i] = static_cast<float>(static_cast<double>(piece[i]) * *factor);
      visit(first, std::span<const float>(piece, static_cast<std::size_t>(count)));
    }
  }

 private:
  static bool lies_nowhere(const Array& array) { return array.deferred() && !array.deferred()->where(); }

  std::int64_t run_;
  const std::vector<double>& factors_;
  Array loaded_;
  const std::byte* from_;
};

void write_products(const Array& array, std::int64_t run, const std::vector<double>& factors, float* to) {
  const Products products(array, run, factors);
  parallel_for(array.count(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    products.for_each_piece(begin, end, [&](std::int64_t first, std::span<const float> piece) {
      std::copy(piece.begin(), piece.end(), to + first);
    });
  });
}

bool all_finite(const Array& array, std::int64_t run, const std::vector<double>& factors) {
  const Products products(array, run, factors);
  std::atomic<bool> finite = true;
  parallel_for(array.count(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    products.for_each_piece(begin, end, [&](std::int64_t, std::span<const float> piece) {
      float largest = 0;
      bool numbers = true;
      for (const float value : piece) {
        largest = std::max(largest, std::abs(value));
        numbers &= value == value;
      }
      if (!numbers || !std::isfinite(largest)) finite = false;
    });
  });
  return finite;
}

class ScaledBytes : public DeferredBytes {
 public:
  ScaledBytes(std::shared_ptr<const Array> array, std::int64_t run, std::vector<double> factors)
      : DeferredBytes(static_cast<std::size_t>(array->count()) * sizeof(float)),
        array_(std::move(array)),
        run_(run),
        factors_(std::move(factors)) {}

  void write(std::byte* to) const override { write_products(*array_, run_, factors_, reinterpret_cast<float*>(to)); }
  void forget() const override {
    if (array_->deferred()) array_->deferred()->forget();
  }

 private:
  std::shared_ptr<const Array> array_;
  std::int64_t run_;
  std::vector<double> factors_;
};

}  // namespace

std::optional<Array> scaled_array(const std::shared_ptr<const Array>& array, std::int64_t run,
                                  std::vector<double> factors) {
  if (!all_finite(*array, run, factors)) return std::nullopt;
  if (static_cast<std::size_t>(array->count()) * sizeof(float) >= kLeastDeferred)
    return Array(ElementType::float32, array->shape(),
                 std::make_shared<const ScaledBytes>(array, run, std::move(factors)));
  Array out(ElementType::float32, array->shape());
  write_products(*array, run, factors, out.as<float>().data());
  return out;
}

}  // namespace tessera::internal
