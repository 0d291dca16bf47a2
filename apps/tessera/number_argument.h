#pragma once

// Checks of numbers on the command line. Those of CLI11 let NaN through, and name the largest double where there is no
// bound.

#include <CLI/CLI.hpp>

#include <cstdint>
#include <limits>

namespace tessera::cli {

// Finite, and not less than `least`; above 0; from `least` to `most`.
CLI::Validator number_from(double least);
CLI::Validator positive_number();
CLI::Validator number_between(double least, double most);

// Digits only: no sign but that of a negative number, no fraction, nothing that does not fit.
CLI::Validator whole_number(std::int64_t least, std::int64_t most = std::numeric_limits<std::int64_t>::max());

// From 0 to 2^64 - 1.
CLI::Validator seed_number();

}  // namespace tessera::cli
