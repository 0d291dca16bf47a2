#include "tessera/backends/cpu/transpose_tile.h"
