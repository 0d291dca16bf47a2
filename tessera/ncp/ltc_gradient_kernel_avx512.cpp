#define TSR_NCP_LANES 16
#define TSR_NCP_NAME(stem) stem##_avx512
#include "tessera/ncp/internal/ltc_gradient_kernel_inl.h"
