#include "tessera/backends/cpu/internal/depthwise_planar_tile.h"
