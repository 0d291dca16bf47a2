#include "tessera/backends/cpu/internal/integer_depthwise_simd.h"
