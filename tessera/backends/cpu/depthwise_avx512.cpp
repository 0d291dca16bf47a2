#include "tessera/backends/cpu/depthwise_tile.h"
