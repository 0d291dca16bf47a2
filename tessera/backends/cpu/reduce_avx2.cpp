#include "tessera/backends/cpu/internal/reduce_tile.h"
