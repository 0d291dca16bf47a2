#pragma once

// If and Loop with someone else to run their bodies: an engine that has plans for them. With evaluate() for a runner
// they are the references.

#include "tessera/core/export.h"
#include "tessera/graph/graph.h"
#include "tessera/graph/ops/control_flow.h"

#include <functional>
#include <vector>

namespace tessera {

// The outputs of a body (one that the operator holds) for these inputs. Shapes that the model has written beside the
// body's inputs are no promise.
using BodyRunner = std::function<std::vector<Array>(const Graph& body, const std::vector<Array>& inputs)>;

TSR_API std::vector<Array> run(const If& op, const Arrays& inputs, const BodyRunner& runner);
TSR_API std::vector<Array> run(const Loop& op, const Arrays& inputs, const BodyRunner& runner);

// Called before each iteration of a loop on this thread; what it throws ends the loop. Empty: nothing is.
using LoopHook = std::function<void()>;
TSR_API LoopHook& on_loop_iteration();

// The body without the shapes that the model has written beside its inputs.
TSR_API Graph runnable_body(const Graph& body);

}  // namespace tessera
