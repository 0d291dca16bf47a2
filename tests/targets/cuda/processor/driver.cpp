// The functions of libcuda that the library calls, for the GPU on the processor: what is asked for is done at once, or
// recorded. Memory is filled with NaN, and what was written behind its end is seen when it is freed.

#include "tests/targets/cuda/processor/kernels.h"
#include "tests/targets/cuda/processor/machine.h"
#include "tests/targets/cuda/processor/tensor_map.h"

#include <cuda.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

using namespace tessera::cuda::processor;

struct CUgraph_st {
  std::vector<std::function<void()>> work;
};
struct CUgraphExec_st {
  std::vector<std::function<void()>> work;
};
struct CUstream_st {
  CUgraph recorded = nullptr;  // while it records
};
struct CUevent_st {
  std::chrono::steady_clock::time_point time;
};
struct CUfunc_st {
  std::string name;
  const Kernel* kernel;
};
struct CUmod_st {
  std::map<std::string, CUfunc_st> functions;
};

namespace {

constexpr std::size_t kDeviceBytes = std::size_t{16} << 30, kGuardBytes = 256;
constexpr unsigned char kGuard = 0xA5, kFresh = 0xFF;
constexpr int kSharedBytes = 232448;

std::mutex mutex;
std::map<CUdeviceptr, std::size_t> allocations;
std::size_t used = 0;

CUresult put(CUstream stream, std::function<void()> work) {
  if (stream != nullptr && stream->recorded != nullptr)
    stream->recorded->work.push_back(std::move(work));
  else
    work();
  return CUDA_SUCCESS;
}

}  // namespace

#define TSR_EXPORT extern "C" __attribute__((visibility("default")))

TSR_EXPORT CUresult cuInit(unsigned) { return CUDA_SUCCESS; }
TSR_EXPORT CUresult cuDriverGetVersion(int* version) { return *version = CUDA_VERSION, CUDA_SUCCESS; }
TSR_EXPORT CUresult cuGetErrorName(CUresult error, const char** name) {
  *name = error == CUDA_ERROR_NOT_FOUND ? "CUDA_ERROR_NOT_FOUND" : "error";
  return CUDA_SUCCESS;
}
TSR_EXPORT CUresult cuGetErrorString(CUresult, const char** text) {
  return *text = "refused by the GPU on the processor", CUDA_SUCCESS;
}
TSR_EXPORT CUresult cuDeviceGetCount(int* count) { return *count = 1, CUDA_SUCCESS; }
TSR_EXPORT CUresult cuDeviceGet(CUdevice* device, int) { return *device = 0, CUDA_SUCCESS; }
TSR_EXPORT CUresult cuDeviceGetName(char* name, int size, CUdevice) {
  return std::snprintf(name, static_cast<std::size_t>(size), "GPU on the processor"), CUDA_SUCCESS;
}
TSR_EXPORT CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice) {
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *value = 9; break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: *value = 0; break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *value = 132; break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *value = kSharedBytes; break;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: *value = 60 << 20; break;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: *value = 1'980'000; break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}
TSR_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  static int here;
  return *context = reinterpret_cast<CUcontext>(&here), CUDA_SUCCESS;
}
TSR_EXPORT CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
TSR_EXPORT CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }

TSR_EXPORT CUresult cuMemAlloc(CUdeviceptr* at, std::size_t bytes) {
  const std::lock_guard lock(mutex);
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (bytes > kDeviceBytes - used) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::size_t whole = (bytes + kGuardBytes + 255) / 256 * 256;
  auto* const memory = static_cast<unsigned char*>(std::aligned_alloc(256, whole));
  if (memory == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  std::memset(memory, kFresh, bytes);
  std::memset(memory + bytes, kGuard, whole - bytes);
  *at = reinterpret_cast<CUdeviceptr>(memory);
  allocations[*at] = bytes;
  used += bytes;
  return CUDA_SUCCESS;
}
TSR_EXPORT CUresult cuMemFree(CUdeviceptr at) {
  const std::lock_guard lock(mutex);
  const auto found = allocations.find(at);
  if (found == allocations.end()) return CUDA_ERROR_INVALID_VALUE;
  auto* const memory = reinterpret_cast<unsigned char*>(at);
  for (std::size_t i = 0; i < kGuardBytes; ++i)
    if (memory[found->second + i] != kGuard) {
      std::fprintf(stderr, "GPU on the processor: byte %zu behind %zu bytes was written\n", i, found->second);
      std::abort();
    }
  used -= found->second;
  allocations.erase(found);
  std::free(memory);
  return CUDA_SUCCESS;
}
TSR_EXPORT CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) {
  const std::lock_guard lock(mutex);
  *free = kDeviceBytes - used;
  *total = kDeviceBytes;
  return CUDA_SUCCESS;
}
TSR_EXPORT CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t bytes, CUstream stream) {
  return put(stream, [=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
}
TSR_EXPORT CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  return put(stream, [=] { std::memcpy(to, reinterpret_cast<const void*>(from), bytes); });
}
TSR_EXPORT CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream stream) {
  return put(stream, [=] { std::memset(reinterpret_cast<void*>(to), value, bytes); });
}

TSR_EXPORT CUresult cuStreamCreate(CUstream* stream, unsigned) { return *stream = new CUstream_st, CUDA_SUCCESS; }
TSR_EXPORT CUresult cuStreamDestroy(CUstream stream) { return delete stream, CUDA_SUCCESS; }
TSR_EXPORT CUresult cuStreamSynchronize(CUstream) { return CUDA_SUCCESS; }
TSR_EXPORT CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode) {
  if (stream->recorded != nullptr) return CUDA_ERROR_ILLEGAL_STATE;
  return stream->recorded = new CUgraph_st, CUDA_SUCCESS;
}
TSR_EXPORT CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  *graph = std::exchange(stream->recorded, nullptr);
  return *graph != nullptr ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_STATE;
}
TSR_EXPORT CUresult cuGraphInstantiate(CUgraphExec* ready, CUgraph graph, unsigned long long) {
  return *ready = new CUgraphExec_st{graph->work}, CUDA_SUCCESS;
}
TSR_EXPORT CUresult cuGraphDestroy(CUgraph graph) { return delete graph, CUDA_SUCCESS; }
TSR_EXPORT CUresult cuGraphExecDestroy(CUgraphExec graph) { return delete graph, CUDA_SUCCESS; }
TSR_EXPORT CUresult cuGraphLaunch(CUgraphExec graph, CUstream) {
  for (const auto& work : graph->work) work();
  return CUDA_SUCCESS;
}

TSR_EXPORT CUresult cuEventCreate(CUevent* event, unsigned) { return *event = new CUevent_st, CUDA_SUCCESS; }
TSR_EXPORT CUresult cuEventDestroy(CUevent event) { return delete event, CUDA_SUCCESS; }
TSR_EXPORT CUresult cuEventRecord(CUevent event, CUstream) {
  return event->time = std::chrono::steady_clock::now(), CUDA_SUCCESS;
}
TSR_EXPORT CUresult cuEventSynchronize(CUevent) { return CUDA_SUCCESS; }
TSR_EXPORT CUresult cuEventElapsedTime(float* milliseconds, CUevent first, CUevent second) {
  *milliseconds = std::chrono::duration<float, std::milli>(second->time - first->time).count();
  return CUDA_SUCCESS;
}

// Which binary it is does not matter: names are those of all kernels.
TSR_EXPORT CUresult cuModuleLoadData(CUmodule* module, const void*) { return *module = new CUmod_st, CUDA_SUCCESS; }
TSR_EXPORT CUresult cuModuleUnload(CUmodule module) { return delete module, CUDA_SUCCESS; }
TSR_EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  const std::lock_guard lock(mutex);
  const auto found = all_kernels().find(name);
  if (found == all_kernels().end()) return CUDA_ERROR_NOT_FOUND;
  return *function = &(module->functions[name] = {name, &found->second}), CUDA_SUCCESS;
}
TSR_EXPORT CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int value) {
  return value <= kSharedBytes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
TSR_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** arguments, void**) {
  Grid grid{config->gridDimX, config->blockDimX, 1, config->sharedMemBytes};
  for (unsigned i = 0; i < config->numAttrs; ++i)
    if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      grid.cluster = config->attrs[i].value.clusterDim.x;
  if (grid.blocks == 0 || grid.threads == 0 || grid.threads > 1024 || grid.cluster > 8 ||
      grid.blocks % grid.cluster != 0 || grid.shared_bytes > static_cast<unsigned>(kSharedBytes))
    return CUDA_ERROR_INVALID_VALUE;
  return put(config->hStream, [grid, call = function->kernel->bind(arguments), kernel = function->kernel,
                               name = function->name] { run(grid, call, kernel->fill_dynamic, name.c_str()); });
}
TSR_EXPORT CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* data,
                                           const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                                           const cuuint32_t* steps, CUtensorMapInterleave, CUtensorMapSwizzle swizzle,
                                           CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  TensorMap tensor{};
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16: tensor.element_bytes = 2; break;
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32: tensor.element_bytes = 4, tensor.rounds = true; break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  if (rank < 1 || rank > 5 || swizzle != CU_TENSOR_MAP_SWIZZLE_128B || reinterpret_cast<std::uintptr_t>(data) % 16 != 0)
    return CUDA_ERROR_INVALID_VALUE;
  tensor.data = static_cast<const std::byte*>(data);
  tensor.rank = static_cast<std::uint8_t>(rank);
  for (cuuint32_t d = 0; d < rank; ++d) {
    if (box[d] == 0 || box[d] > 256 || steps[d] == 0 || steps[d] > 8) return CUDA_ERROR_INVALID_VALUE;
    if (d > 0 && strides[d - 1] % 16 != 0) return CUDA_ERROR_INVALID_VALUE;
    tensor.sizes[d] = sizes[d];
    tensor.strides[d] = d == 0 ? tensor.element_bytes : strides[d - 1];
    tensor.box[d] = static_cast<std::uint16_t>(box[d]);
    tensor.steps[d] = static_cast<std::uint16_t>(steps[d]);
  }
  if (box[0] * tensor.element_bytes > 128 * steps[0]) return CUDA_ERROR_INVALID_VALUE;
  std::memset(map, 0, sizeof *map);
  std::memcpy(map, &tensor, sizeof tensor);
  return CUDA_SUCCESS;
}
