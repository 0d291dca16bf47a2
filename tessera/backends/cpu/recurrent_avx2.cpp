#include "tessera/backends/cpu/internal/recurrent_simd.h"
