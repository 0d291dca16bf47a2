#include "tessera/backends/cpu/internal/binary_simd.h"
