"""ONNX Runtime: every optimisation, threads that keep spinning on processors of their own, inputs and outputs bound."""

import os

import numpy
import onnxruntime

VERSION = f"onnxruntime {onnxruntime.__version__}"


def load(model, x, dtype, threads):
    if dtype != "f32":
        raise NotImplementedError("the CPU provider has no bfloat16 convolutions")
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.add_session_config_entry("session.intra_op.allow_spinning", "1")
    processors = sorted(os.sched_getaffinity(0))
    if 1 < threads <= len(processors):  # numbered from 1; the calling thread is one of them, and is no business of its
        places = ";".join(str(p + 1) for p in processors[1:threads])
        options.add_session_config_entry("session.intra_op_thread_affinities", places)
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_ortvalue_input(session.get_inputs()[0].name, onnxruntime.OrtValue.ortvalue_from_numpy(x))
    results = []
    for output in session.get_outputs():
        results.append(onnxruntime.OrtValue.ortvalue_from_numpy(numpy.empty(output.shape, numpy.float32)))
        binding.bind_ortvalue_output(output.name, results[-1])

    def run():
        session.run_with_iobinding(binding)
        return results

    return run


def arrays(outputs):
    return [value.numpy() for value in outputs]
