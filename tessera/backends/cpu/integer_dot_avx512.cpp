#include "tessera/backends/cpu/internal/integer_dot_simd.h"
