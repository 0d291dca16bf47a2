#pragma once

// Work in order, the moments in it, and work that is recorded once and replayed.

#include "tessera/core/export.h"
#include "tessera/core/function_ref.h"
#include "tessera/targets/cuda/device/context.h"

#include <cuda.h>

namespace tessera::cuda {

class TSR_API Stream {
 public:
  explicit Stream(const Context& context);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  CUstream handle() const { return stream_; }
  const Context& context() const { return context_; }
  // Until all of it is done. Errors of the kernels before show here.
  void synchronize() const;

 private:
  const Context& context_;
  CUstream stream_ = nullptr;
};

class TSR_API Event {
 public:
  explicit Event(const Context& context);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(const Stream& stream) const;
  void synchronize() const;

  CUevent handle() const { return event_; }

 private:
  const Context& context_;
  CUevent event_ = nullptr;
};

// Both have been reached.
TSR_API double milliseconds_between(const Event& first, const Event& second);

// What `work` puts into the stream, recorded instead of run.
class TSR_API Graph {
 public:
  Graph(const Stream& stream, FunctionRef<void()> work);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void replay(const Stream& stream) const;

 private:
  const Context& context_;
  CUgraphExec graph_ = nullptr;
};

}  // namespace tessera::cuda
