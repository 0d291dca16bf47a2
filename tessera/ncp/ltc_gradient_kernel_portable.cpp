#define TSR_NCP_LANES 4
#define TSR_NCP_NAME(stem) stem##_portable
#include "tessera/ncp/internal/ltc_gradient_kernel_inl.h"
