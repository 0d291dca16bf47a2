#include "tessera/backends/cpu/internal/pool_tile.h"
