#include "tessera/backends/cpu/resize_tile.h"
