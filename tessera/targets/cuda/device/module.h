#pragma once

// Kernels that were compiled into the library, on a device.

#include "tessera/core/export.h"
#include "tessera/targets/cuda/device/context.h"
#include "tessera/targets/cuda/device/stream.h"

#include <cuda.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tessera::cuda {

// How many blocks of how many threads, and how they are grouped.
struct LaunchShape {
  int blocks = 1, threads = 1;
  int cluster = 1;  // blocks that run together and see each other's shared memory
  int shared_bytes = 0;
  // The kernel may start before the one ahead of it in the stream has ended: it waits itself before it reads.
  bool early_start = false;
};

class TSR_API Function {
 public:
  Function() = default;
  Function(CUfunction function, std::string name) : function_(function), name_(std::move(name)) {}

  // Blocks of more than 48 KiB must be asked for once.
  void allow_shared_bytes(int bytes) const;
  // `arguments` point at the values of the kernel's parameters.
  void launch(const Stream& stream, const LaunchShape& shape, void** arguments) const;
  const std::string& name() const { return name_; }

 private:
  CUfunction function_ = nullptr;
  std::string name_;
};

class TSR_API Module {
 public:
  // `binary` is empty where the build has no kernels: an Error that says so.
  Module(const Context& context, std::span<const std::byte> binary);
  ~Module();
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  Function function(std::string_view name) const;

 private:
  const Context& context_;
  CUmodule module_ = nullptr;
};

}  // namespace tessera::cuda
