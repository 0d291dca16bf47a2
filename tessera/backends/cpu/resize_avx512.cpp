#include "tessera/backends/cpu/internal/resize_tile.h"
