#include "tessera/backends/cpu/internal/peak_loop.h"
