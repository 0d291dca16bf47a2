#include "tessera/targets/cpu/kernels/resize/resize_tile.h"
