#include "tessera/targets/cuda/device/module.h"

#include "tessera/core/error.h"
#include "tessera/targets/cuda/device/driver.h"

#include <fmt/format.h>

#include <array>

namespace tessera::cuda {

void Function::allow_shared_bytes(int bytes) const {
  check_call(driver().cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes),
             fmt::format("give {} bytes of shared memory to {}", bytes, name_));
}

void Function::launch(const Stream& stream, const LaunchShape& shape, void** arguments) const {
  std::array<CUlaunchAttribute, 2> attributes{};
  unsigned count = 0;
  if (shape.cluster > 1) {
    attributes[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes[count].value.clusterDim.x = static_cast<unsigned>(shape.cluster);
    attributes[count].value.clusterDim.y = 1;
    attributes[count++].value.clusterDim.z = 1;
  }
  if (shape.early_start) {
    attributes[count].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attributes[count++].value.programmaticStreamSerializationAllowed = 1;
  }
  CUlaunchConfig config{};
  config.gridDimX = static_cast<unsigned>(shape.blocks);
  config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = static_cast<unsigned>(shape.threads);
  config.blockDimY = config.blockDimZ = 1;
  config.sharedMemBytes = static_cast<unsigned>(shape.shared_bytes);
  config.hStream = stream.handle();
  config.attrs = attributes.data();
  config.numAttrs = count;
  check_call(driver().cuLaunchKernelEx(&config, function_, arguments, nullptr), fmt::format("launch {}", name_));
}

Module::Module(const Context& context, std::span<const std::byte> binary) : context_(context) {
  context.make_current();
  // A driver whose kernels are its own takes anything; all others refuse what is no binary.
  static constexpr std::array<std::byte, 64> kNothing{};
  const CUresult loaded = driver().cuModuleLoadData(&module_, binary.empty() ? kNothing.data() : binary.data());
  if (loaded != CUDA_SUCCESS && binary.empty())
    fail(Code::unsupported, Hint{"configure with -DTESSERA_CUDA=ON and build again"},
         "this build can plan for NVIDIA GPUs but has no kernels for them: it was made where there is no driver");
  check_call(loaded, fmt::format("load kernels for sm_90a on {}", context.properties().name));
}

Module::~Module() {
  context_.make_current_if_alive();
  ignore(driver().cuModuleUnload(module_));
}

Function Module::function(std::string_view name) const {
  CUfunction found = nullptr;
  check_call(driver().cuModuleGetFunction(&found, module_, std::string(name).c_str()),
             fmt::format("find the kernel {}", name));
  return {found, std::string(name)};
}

}  // namespace tessera::cuda
