#include "tessera/backends/cpu/internal/transpose_tile.h"
