#include "tessera/targets/cpu/kernels/depthwise/depthwise_tile.h"
