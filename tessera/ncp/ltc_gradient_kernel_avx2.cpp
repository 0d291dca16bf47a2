#define TSR_NCP_LANES 8
#define TSR_NCP_NAME(stem) stem##_avx2
#include "tessera/ncp/internal/ltc_gradient_kernel_inl.h"
