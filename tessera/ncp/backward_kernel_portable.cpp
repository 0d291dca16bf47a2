#define TSR_NCP_LANES 4
#define TSR_NCP_ROWS 2
#define TSR_NCP_NAME(stem) stem##_portable
#include "tessera/ncp/internal/backward_kernel_inl.h"
