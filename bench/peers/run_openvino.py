"""OpenVINO: one stream with the hint for latency; float32, or bfloat16 inside."""

import openvino

VERSION = f"openvino {openvino.__version__.split('-')[0]}"


def load(model, x, dtype, threads):
    options = {
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": 1,
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": dtype,
    }
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(model), "CPU", options)
    precision = compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name()
    if precision != dtype:
        raise NotImplementedError(f"it would compute in {precision} on this processor")
    request = compiled.create_infer_request()
    request.set_input_tensor(openvino.Tensor(x, shared_memory=True))

    def run():
        request.infer()
        return request

    run.alive = x  # the tensor only points to it
    return run


def arrays(request):
    return [tensor.data for tensor in request.output_tensors]
