#pragma once

// Numbers for people: three significant digits and the prefix that fits. Sizes count in 1024, rates and times in 1000.

#include "tessera/core/export.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace tessera {

TSR_API std::string format_bytes(double bytes);            // "1.43 MiB"
TSR_API std::string format_byte_rate(double bytes_per_s);  // "288 GB/s"
TSR_API std::string format_flop_rate(double flop_per_s);   // "262 TFLOP/s"
TSR_API std::string format_frequency(double hz);           // "1.35 GHz"
TSR_API std::string format_time(double ns);                // "2.05 us"
TSR_API std::string format_count(std::int64_t count);      // "1,499,136"
TSR_API std::string format_number(double number);          // shortest text with at most 6 significant digits

// By the unit's symbol: "B", "B/s", "FLOP/s", "OP/s", "Hz", "ns"; any other unit follows the plain number.
TSR_API std::string format_quantity(double value, std::string_view unit);

}  // namespace tessera
