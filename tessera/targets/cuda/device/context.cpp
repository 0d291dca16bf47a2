#include "tessera/targets/cuda/device/context.h"

#include "tessera/core/error.h"
#include "tessera/targets/cuda/device/driver.h"

#include <fmt/format.h>

namespace tessera::cuda {

namespace {

int attribute(CUdevice device, CUdevice_attribute which) {
  int value = 0;
  check_call(driver().cuDeviceGetAttribute(&value, which, device), "read an attribute of the device");
  return value;
}

DeviceProperties properties_of(CUdevice device) {
  DeviceProperties out;
  char name[256] = {};
  check_call(driver().cuDeviceGetName(name, sizeof name, device), "read the name of the device");
  out.name = name;
  out.compute_major = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
  out.compute_minor = attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  out.multiprocessors = attribute(device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  out.shared_bytes_per_block = attribute(device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  out.l2_bytes = attribute(device, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  out.clock_khz = attribute(device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
  return out;
}

}  // namespace

std::optional<Absence> absence(int index) {
  try {
    driver();
  } catch (const Error& error) {
    return Absence{Missing::driver, error.message()};
  }
  try {
    const CUresult started = driver().cuInit(0);
    if (started == CUDA_ERROR_NO_DEVICE) return Absence{Missing::device, "cuda: no device: the driver finds no GPU"};
    if (started != CUDA_SUCCESS)
      return Absence{Missing::driver,
                     fmt::format("cuda: the driver does not start (error {})", static_cast<int>(started))};
    int count = 0;
    check_call(driver().cuDeviceGetCount(&count), "count the devices");
    if (index < 0 || index >= count)
      return Absence{Missing::device, fmt::format("cuda: there is no device {}; this machine has {}", index, count)};
    CUdevice device = 0;
    check_call(driver().cuDeviceGet(&device, index), "open the device");
    const DeviceProperties found = properties_of(device);
    if (found.compute_major != 9)
      return Absence{Missing::architecture,
                     fmt::format("cuda: the kernels are for architecture sm_90a (Hopper); {} is sm_{}{}", found.name,
                                 found.compute_major, found.compute_minor)};
  } catch (const Error& error) {
    return Absence{Missing::device, error.message()};
  }
  return std::nullopt;
}

Context::Context(int index) {
  if (const auto missing = absence(index)) throw Error(Code::unsupported, missing->text);
  check_call(driver().cuDeviceGet(&device_, index), "open the device");
  properties_ = properties_of(device_);
  check_call(driver().cuDevicePrimaryCtxRetain(&context_, device_), "make a context on the device");
  make_current();
}

Context::~Context() { ignore(driver().cuDevicePrimaryCtxRelease(device_)); }

void Context::make_current_if_alive() const noexcept { ignore(driver().cuCtxSetCurrent(context_)); }

void Context::make_current() const { check_call(driver().cuCtxSetCurrent(context_), "make the device current"); }

}  // namespace tessera::cuda
