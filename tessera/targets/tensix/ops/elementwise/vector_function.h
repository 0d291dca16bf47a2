#pragma once

// Functions of one number that the card's vector unit knows, under the names that TTNN gives them.

#include "tessera/core/dtype.h"
#include "tessera/core/export.h"
#include "tessera/targets/tensix/card/numerics.h"

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::tensix {

struct VectorFunction {
  enum class Kind : std::uint8_t { activation, square, rsqrt, clamp };
  Kind kind = Kind::activation;
  DstActivation activation = {};
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();  // clamp
  std::string name = "identity";

  bool operator==(const VectorFunction&) const = default;
};

// "relu", "leaky_relu" (slope), "elu" (alpha), "clamp" (low, high), "relu_max" (bound), ...: an Error with all names
// for one that does not exist, and for parameters that it does not take.
TSR_API VectorFunction vector_function(std::string_view name, std::span<const float> parameters = {});

// Whether there is one of this name.
TSR_API bool is_vector_function(std::string_view name);
// Whether one number goes with its name: the slope of leaky_relu, the alpha of elu.
TSR_API bool takes_alpha(const VectorFunction& function);

// Whether integers are among what it takes: those that need no fractions.
TSR_API bool takes_integers(const VectorFunction& function);

// On what is in Dst.
TSR_API void apply(const VectorFunction& function, std::span<float> dst, bool float32);
TSR_API std::int64_t apply(const VectorFunction& function, std::int64_t value);

}  // namespace tessera::tensix
