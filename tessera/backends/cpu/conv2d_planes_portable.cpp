#include "tessera/backends/cpu/internal/conv2d_planes_tile.h"
