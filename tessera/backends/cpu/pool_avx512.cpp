#include "tessera/backends/cpu/pool_tile.h"
