#define TSR_NCP_LANES 16
#define TSR_NCP_ROWS 6
#define TSR_NCP_PAIRS 1
#define TSR_NCP_NAME(stem) stem##_avx512_bf16
#include "tessera/ncp/internal/dense_kernel_inl.h"
