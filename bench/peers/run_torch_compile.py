"""PyTorch compiled with frozen weights, channels last. Compiling takes long: not among the peers unless asked for."""

import onnx_to_torch
import torch
import torch._inductor.config

VERSION = f"torch {torch.__version__}, compiled"


def load(model, x, dtype, threads):
    torch.set_num_threads(threads)
    torch._inductor.config.freezing = True
    kind = torch.bfloat16 if dtype == "bf16" else torch.float32
    order = torch.channels_last
    module = onnx_to_torch.Network(model).eval().to(dtype=kind, memory_format=order)
    compiled = torch.compile(module)
    values = torch.from_numpy(x)

    @torch.no_grad()  # freezing does not work in inference mode
    def run():
        outputs = compiled(values.to(dtype=kind, memory_format=order))
        return [y.to(dtype=torch.float32).contiguous() for y in outputs]

    run()
    return run


def arrays(outputs):
    return [y.numpy() for y in outputs]
