#pragma once

// Everything that programs use, in one header. Those that care how long they take to compile include what they need.

// Values.
#include "tessera/core/array.h"
#include "tessera/core/error.h"
#include "tessera/core/tensor.h"
#include "tessera/core/tensor_from_array.h"

// Networks: built, of the zoo, read from files and written to them.
#include "tessera/io/npy.h"
#include "tessera/io/onnx/export.h"
#include "tessera/io/onnx/import.h"
#include "tessera/io/safetensors.h"
#include "tessera/session/network.h"
#include "tessera/session/network_builder.h"

// On this machine's CPU.
#include "tessera/core/isa.h"
#include "tessera/quantize/quantize.h"
#include "tessera/session/profile.h"
#include "tessera/session/session.h"

// Pictures in, answers out.
#include "tessera/session/recognizer.h"
#include "tessera/vision/answers.h"
#include "tessera/vision/image.h"
#include "tessera/vision/preprocessing.h"
#include "tessera/vision/video.h"

// On simulated machines: planned as a whole, or operator by operator.
#include "tessera/machine/machine_file.h"
#include "tessera/session/card.h"
#include "tessera/session/planned_network.h"

// Liquid networks.
#include "tessera/io/ncp_checkpoint.h"
#include "tessera/io/ncp_file.h"
#include "tessera/ncp/runner.h"
#include "tessera/ncp/tasks/task.h"
#include "tessera/ncp/trainer.h"

// Comparing and showing.
#include "tessera/report/difference.h"
#include "tessera/report/table.h"
#include "tessera/session/bisect.h"

// Several processes.
#include "tessera/scale/chunked_run.h"
#include "tessera/scale/communicator.h"
