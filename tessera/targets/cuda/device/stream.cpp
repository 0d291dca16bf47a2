#include "tessera/targets/cuda/device/stream.h"

#include "tessera/targets/cuda/device/driver.h"

namespace tessera::cuda {

Stream::Stream(const Context& context) : context_(context) {
  context.make_current();
  check_call(driver().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "make a stream");
}

Stream::~Stream() {
  context_.make_current_if_alive();
  ignore(driver().cuStreamDestroy(stream_));
}

void Stream::synchronize() const { check_call(driver().cuStreamSynchronize(stream_), "finish the work of a stream"); }

Event::Event(const Context& context) : context_(context) {
  context.make_current();
  check_call(driver().cuEventCreate(&event_, CU_EVENT_DEFAULT), "make an event");
}

Event::~Event() {
  context_.make_current_if_alive();
  ignore(driver().cuEventDestroy(event_));
}

void Event::record(const Stream& stream) const {
  check_call(driver().cuEventRecord(event_, stream.handle()), "record an event");
}

void Event::synchronize() const { check_call(driver().cuEventSynchronize(event_), "wait for an event"); }

double milliseconds_between(const Event& first, const Event& second) {
  float milliseconds = 0;
  check_call(driver().cuEventElapsedTime(&milliseconds, first.handle(), second.handle()), "read the time of an event");
  return milliseconds;
}

Graph::Graph(const Stream& stream, FunctionRef<void()> work) : context_(stream.context()) {
  context_.make_current();
  check_call(driver().cuStreamBeginCapture(stream.handle(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "start a graph");
  CUgraph recorded = nullptr;
  try {
    work();
  } catch (...) {
    ignore(driver().cuStreamEndCapture(stream.handle(), &recorded));
    if (recorded) ignore(driver().cuGraphDestroy(recorded));
    throw;
  }
  check_call(driver().cuStreamEndCapture(stream.handle(), &recorded), "finish a graph");
  const CUresult made = driver().cuGraphInstantiate(&graph_, recorded, 0);
  ignore(driver().cuGraphDestroy(recorded));
  check_call(made, "make a graph ready");
}

Graph::~Graph() {
  context_.make_current_if_alive();
  ignore(driver().cuGraphExecDestroy(graph_));
}

void Graph::replay(const Stream& stream) const {
  check_call(driver().cuGraphLaunch(graph_, stream.handle()), "replay a graph");
}

}  // namespace tessera::cuda
