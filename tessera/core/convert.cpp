#include "tessera/core/convert.h"

#include "tessera/core/error.h"
#include "tessera/core/internal/convert_kernels.h"
#include "tessera/core/isa.h"
#include "tessera/core/parallel_for.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>

namespace tessera {
namespace {

using Kernel = void (*)(const unsigned char*, unsigned char*, std::int64_t) noexcept;

enum class Operation { f32_to_bf16_host, f32_to_bf16_packer, f32_to_f16, bf16_to_f32, f16_to_f32 };

struct Entry {
  Operation operation;
  Isa needs;
  Kernel kernel;
};

constexpr Entry kEntries[] = {
#define K(operation, isa, description) {Operation::operation, Isa::isa, isa::operation},
#include "tessera/core/convert.def"
#undef K
};

Kernel choose(Operation operation) {
  const Isa isa = active_isa();
  Kernel kernel = nullptr;
  for (const Entry& entry : kEntries)
    if (entry.operation == operation && entry.needs <= isa) kernel = entry.kernel;
  return kernel;  // there is always a portable one
}

constexpr std::int64_t kGrain = 64 << 10;

void run(Kernel kernel, const unsigned char* src, int src_bytes, unsigned char* dst, int dst_bytes,
         std::int64_t count) {
  parallel_for(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    kernel(src + begin * src_bytes, dst + begin * dst_bytes, end - begin);
  });
}

// From one 16-bit float to the other, through a buffer of float32.
void run_two(Kernel first, Kernel second, const unsigned char* src, unsigned char* dst, std::int64_t count) {
  parallel_for(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    constexpr std::int64_t kStep = 1024;
    std::array<unsigned char, kStep * 4> buffer;
    for (std::int64_t at = begin; at < end; at += kStep) {
      const std::int64_t here = std::min(kStep, end - at);
      first(src + at * 2, buffer.data(), here);
      second(buffer.data(), dst + at * 2, here);
    }
  });
}

// A dtype as a C++ type: what lies in memory, and what it is computed with.
template <DType>
struct Element;
template <>
struct Element<DType::float32> {
  using Stored = float;
};
template <>
struct Element<DType::bfloat16> {
  using Stored = std::uint16_t;
};
template <>
struct Element<DType::float16> {
  using Stored = std::uint16_t;
};
template <>
struct Element<DType::uint8> {
  using Stored = std::uint8_t;
};
template <>
struct Element<DType::uint16> {
  using Stored = std::uint16_t;
};
template <>
struct Element<DType::uint32> {
  using Stored = std::uint32_t;
};
template <>
struct Element<DType::int32> {
  using Stored = std::int32_t;
};

template <DType dtype>
auto value_of(typename Element<dtype>::Stored stored) {
  if constexpr (dtype == DType::bfloat16)
    return float_from_bfloat16(stored);
  else if constexpr (dtype == DType::float16)
    return float_from_float16(stored);
  else if constexpr (dtype == DType::float32)
    return stored;
  else
    return std::int64_t{stored};
}

template <DType dtype, class Value>
typename Element<dtype>::Stored stored_of(Value value, Rounding rounding) {
  using Stored = typename Element<dtype>::Stored;
  if constexpr (dtype == DType::bfloat16)
    return bfloat16_from_float(static_cast<float>(value), rounding);
  else if constexpr (dtype == DType::float16)
    return float16_from_float(static_cast<float>(value));
  else if constexpr (dtype == DType::float32)
    return static_cast<float>(value);
  else if constexpr (std::is_floating_point_v<Value>) {
    constexpr auto kLowest = static_cast<double>(std::numeric_limits<Stored>::min());
    constexpr auto kHighest = static_cast<double>(std::numeric_limits<Stored>::max());
    if (value != value) return 0;
    return static_cast<Stored>(std::clamp(static_cast<double>(value), kLowest, kHighest));
  } else {
    return static_cast<Stored>(
        std::clamp<std::int64_t>(value, std::numeric_limits<Stored>::min(), std::numeric_limits<Stored>::max()));
  }
}

template <DType from, DType to>
void convert_each(const unsigned char* src, unsigned char* dst, std::int64_t count, Rounding rounding) {
  using From = typename Element<from>::Stored;
  using To = typename Element<to>::Stored;
  parallel_for(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      From x;
      std::memcpy(&x, src + i * static_cast<std::int64_t>(sizeof x), sizeof x);
      const To y = stored_of<to>(value_of<from>(x), rounding);
      std::memcpy(dst + i * static_cast<std::int64_t>(sizeof y), &y, sizeof y);
    }
  });
}

// Calls body with the dtype as a constant.
template <class Body>
void with_dtype(DType dtype, Body body) {
  switch (dtype) {
    case DType::float32: return body(std::integral_constant<DType, DType::float32>{});
    case DType::bfloat16: return body(std::integral_constant<DType, DType::bfloat16>{});
    case DType::float16: return body(std::integral_constant<DType, DType::float16>{});
    case DType::uint8: return body(std::integral_constant<DType, DType::uint8>{});
    case DType::uint16: return body(std::integral_constant<DType, DType::uint16>{});
    case DType::uint32: return body(std::integral_constant<DType, DType::uint32>{});
    case DType::int32: return body(std::integral_constant<DType, DType::int32>{});
    case DType::bfloat8_b:
    case DType::bfloat4_b: break;
  }
  fail(Code::unsupported, Hint{"use pack_tiles() and unpack_tiles()"},
       "{} exists only in tiles and has no elements to convert", name(dtype));
}

}  // namespace

void convert(const std::byte* source, DType from, std::byte* destination, DType to, std::int64_t count,
             Rounding rounding) {
  check(count >= 0, Code::invalid_argument, "cannot convert {} elements", count);
  const auto* src = reinterpret_cast<const unsigned char*>(source);
  auto* dst = reinterpret_cast<unsigned char*>(destination);
  const auto is = [&](DType a, DType b) { return from == a && to == b; };
  const Operation to_bf16 = rounding == Rounding::host ? Operation::f32_to_bf16_host : Operation::f32_to_bf16_packer;

  if (is(DType::float32, DType::bfloat16)) return run(choose(to_bf16), src, 4, dst, 2, count);
  if (is(DType::float32, DType::float16)) return run(choose(Operation::f32_to_f16), src, 4, dst, 2, count);
  if (is(DType::bfloat16, DType::float32)) return run(choose(Operation::bf16_to_f32), src, 2, dst, 4, count);
  if (is(DType::float16, DType::float32)) return run(choose(Operation::f16_to_f32), src, 2, dst, 4, count);
  if (is(DType::bfloat16, DType::float16))
    return run_two(choose(Operation::bf16_to_f32), choose(Operation::f32_to_f16), src, dst, count);
  if (is(DType::float16, DType::bfloat16))
    return run_two(choose(Operation::f16_to_f32), choose(to_bf16), src, dst, count);

  with_dtype(from, [&](auto from_constant) {
    with_dtype(to, [&](auto to_constant) {
      constexpr DType kFrom = decltype(from_constant)::value, kTo = decltype(to_constant)::value;
      if constexpr (kFrom != kTo) {
        convert_each<kFrom, kTo>(src, dst, count, rounding);
      } else {
        parallel_for(count, kGrain, [&](std::int64_t begin, std::int64_t end) {
          constexpr int kBytes = element_bytes(kFrom);
          std::memcpy(dst + begin * kBytes, src + begin * kBytes, static_cast<std::size_t>((end - begin) * kBytes));
        });
      }
    });
  });
}

}  // namespace tessera
