#include "tessera/targets/cpu/kernels/depthwise/depthwise_planes_tile.h"
