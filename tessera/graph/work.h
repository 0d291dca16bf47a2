#pragma once

namespace tessera {

// Floating-point operations, and the bytes that must be read and written once each.
struct Work {
  double flops = 0;
  double read_bytes = 0;
  double write_bytes = 0;
};

}  // namespace tessera
