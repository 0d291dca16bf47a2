#include "tessera/backends/cpu/softmax_tile.h"
