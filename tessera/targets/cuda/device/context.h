#pragma once

// One GPU of this machine.

#include "tessera/core/export.h"

#include <cuda.h>

#include <cstdint>
#include <optional>
#include <string>

namespace tessera::cuda {

struct DeviceProperties {
  std::string name;
  int compute_major = 0, compute_minor = 0;
  int multiprocessors = 0;
  int shared_bytes_per_block = 0;  // the most that a block may ask for
  int l2_bytes = 0;
  int clock_khz = 0;  // highest
};

// What is missing for our kernels to run here.
enum class Missing : std::uint8_t { driver, device, architecture };
struct Absence {
  Missing what;
  std::string text;
};
// Nothing where device `index` can be used. Does not throw.
TSR_API std::optional<Absence> absence(int index = 0);

// Holds the primary context of a device, which other libraries in the process share.
class TSR_API Context {
 public:
  explicit Context(int index = 0);  // an Error with the text of absence() where there is one
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  const DeviceProperties& properties() const { return properties_; }
  // Calls of this thread go to this device from now on.
  void make_current() const;
  void make_current_if_alive() const noexcept;  // for destructors

 private:
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  DeviceProperties properties_;
};

}  // namespace tessera::cuda
