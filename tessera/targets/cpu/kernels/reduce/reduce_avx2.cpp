#include "tessera/targets/cpu/kernels/reduce/reduce_tile.h"
