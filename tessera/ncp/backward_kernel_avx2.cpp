#define TSR_NCP_LANES 8
#define TSR_NCP_ROWS 3
#define TSR_NCP_NAME(stem) stem##_avx2
#include "tessera/ncp/internal/backward_kernel_inl.h"
