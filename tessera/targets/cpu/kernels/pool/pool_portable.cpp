#include "tessera/targets/cpu/kernels/pool/pool_tile.h"
