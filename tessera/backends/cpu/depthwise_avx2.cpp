#include "tessera/backends/cpu/internal/depthwise_tile.h"
