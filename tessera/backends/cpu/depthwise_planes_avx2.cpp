#include "tessera/backends/cpu/internal/depthwise_planes_tile.h"
