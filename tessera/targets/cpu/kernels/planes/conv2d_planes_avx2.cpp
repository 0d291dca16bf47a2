#include "tessera/targets/cpu/kernels/planes/conv2d_planes_tile.h"
