#include "tessera/backends/cpu/internal/planar_pack_simd.h"
