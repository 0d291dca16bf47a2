#include "tessera/backends/cpu/internal/integer_tile_simd.h"
