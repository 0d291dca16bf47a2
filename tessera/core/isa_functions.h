#pragma once

// Functions that exist once for every instruction set: declared together here, chosen when a step is made ready.

#include "tessera/core/isa.h"

// TSR_EACH_ISA(void f(int x);): declares portable::f, avx2::f and avx512::f.
// TSR_FOR_ISA(isa, f): the one for that set; builds for other processors have only the portable one.
#if defined(__x86_64__)
#define TSR_EACH_ISA(declaration) \
  namespace portable {            \
  declaration                     \
  }                               \
  namespace avx2 {                \
  declaration                     \
  }                               \
  namespace avx512 {              \
  declaration                     \
  }
#define TSR_FOR_ISA(isa, function)                        \
  ((isa) == ::tessera::Isa::portable ? portable::function \
   : (isa) == ::tessera::Isa::avx2   ? avx2::function     \
                                     : avx512::function)
#else
#define TSR_EACH_ISA(declaration) \
  namespace portable {            \
  declaration                     \
  }
#define TSR_FOR_ISA(isa, function) ((void)(isa), portable::function)
#endif
