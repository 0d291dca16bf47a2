#include "tessera/backends/cpu/reduce_tile.h"
