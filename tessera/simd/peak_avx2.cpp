#include "tessera/simd/peak_loop.h"
