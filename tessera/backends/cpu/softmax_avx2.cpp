#include "tessera/backends/cpu/internal/softmax_tile.h"
