#include "tessera/machine/internal/peak_loop.h"
