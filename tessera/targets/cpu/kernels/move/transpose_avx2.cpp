#include "tessera/targets/cpu/kernels/move/transpose_tile.h"
