#include "tessera/targets/cpu/kernels/softmax/softmax_tile.h"
