"""How a model runs again and again: with or without a trace, with one or two command queues.

An executor moves inputs to the card, runs the model, and hands out its output tensors; events keep queues from overtaking
each other. `execute` is a generator: the pipeline reads an output before it asks for the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tessera import ttnn


def _schema(output: Any) -> Any:
    if isinstance(output, (list, tuple)):
        return [_schema(each) for each in output]
    return output.shape, output.dtype, output.layout


def _free(output: Any) -> None:
    if isinstance(output, (list, tuple)):
        for each in output:
            _free(each)
    elif output.is_allocated():
        ttnn.deallocate(output, force=True)


class Executor:
    """What all have in common."""

    def __init__(self, model: Callable[..., Any], device: Any, l1_input_memory_config: Any) -> None:
        self.model = model
        self.device = device
        self.l1_input_memory_config = l1_input_memory_config
        self.output_schema: Any = None

    def get_read_cq(self) -> int:
        return 0

    def get_output_schema(self) -> Any:
        if self.output_schema is None:
            raise RuntimeError("the executor has no output yet: call compile() first")
        return self.output_schema

    def _check_on_host(self, host_input: Any) -> None:
        if host_input.storage_type() != ttnn.StorageType.HOST:
            raise ValueError("the input of a pipeline must be on the host")

    def compile(self, host_input: Any) -> None:
        raise NotImplementedError

    def _run(self, host_input: Any) -> Any:
        raise NotImplementedError

    def execute(self, host_inputs: list[Any]) -> Iterator[Any]:
        for host_input in host_inputs:
            yield self._run(host_input)

    def cleanup(self) -> None:
        """Frees what outlives a run."""


class ModelExecutor(Executor):
    """One queue, operators called one by one."""

    def compile(self, host_input: Any) -> None:
        self._check_on_host(host_input)
        output = self._run(host_input)
        self.output_schema = _schema(output)
        _free(output)
        ttnn.synchronize_device(self.device)

    def _run(self, host_input: Any) -> Any:
        x = ttnn.to_device(host_input, self.device, memory_config=self.l1_input_memory_config)
        output = self.model(x)
        _free(x)
        return output


class _PersistentInput(Executor):
    """The input has a place of its own in DRAM, from where it goes to L1."""

    write_cq = 0

    def __init__(
        self, model: Callable[..., Any], device: Any, dram_input_memory_config: Any, l1_input_memory_config: Any
    ) -> None:
        super().__init__(model, device, l1_input_memory_config)
        self.dram_input_memory_config = dram_input_memory_config
        self.dram_input: Any = None

    def _allocate_input(self, host_input: Any) -> None:
        self._check_on_host(host_input)
        self.dram_input = ttnn.allocate_tensor_on_device(
            host_input.shape, host_input.dtype, host_input.layout, self.device, self.dram_input_memory_config
        )

    def _write(self, host_input: Any) -> None:
        ttnn.copy_host_to_device_tensor(host_input, self.dram_input, self.write_cq)

    def cleanup(self) -> None:
        if self.dram_input is not None:
            _free(self.dram_input)
            self.dram_input = None


class _Traced(_PersistentInput):
    """The model is a trace, which reads its input at one address of L1."""

    def __init__(
        self, model: Callable[..., Any], device: Any, dram_input_memory_config: Any, l1_input_memory_config: Any
    ) -> None:
        super().__init__(model, device, dram_input_memory_config, l1_input_memory_config)
        self.trace_id: Any = None
        self.l1_input: Any = None
        self.output: Any = None

    def _capture(self, host_input: Any) -> None:
        self._write(host_input)
        ttnn.synchronize_device(self.device)
        x = ttnn.reshard(self.dram_input, self.l1_input_memory_config)
        warm = self.model(x)
        self.output_schema = _schema(warm)
        _free(x)
        _free(warm)
        del warm

        x = ttnn.reshard(self.dram_input, self.l1_input_memory_config)
        spec, address = x.spec, x.buffer_address()
        self.trace_id = ttnn.begin_trace_capture(self.device, cq_id=0)
        self.output = self.model(x)
        ttnn.end_trace_capture(self.device, self.trace_id, cq_id=0)
        _free(x)
        self.l1_input = ttnn.allocate_tensor_on_device(spec, self.device)
        if self.l1_input.buffer_address() != address:
            raise RuntimeError(
                f"the trace reads its input at {address}, but one that outlives it came to {self.l1_input.buffer_address()}"
            )

    def _move_input(self) -> None:
        self.l1_input = ttnn.reshard(self.dram_input, self.l1_input_memory_config, self.l1_input)

    def _replay(self) -> None:
        ttnn.execute_trace(self.device, self.trace_id, cq_id=0, blocking=False)

    def cleanup(self) -> None:
        if self.trace_id is not None:
            ttnn.release_trace(self.device, self.trace_id)
            self.trace_id = None
        for tensor in (self.l1_input, self.output):
            if tensor is not None:
                _free(tensor)
        self.l1_input = self.output = None
        super().cleanup()


class TracedModelExecutor(_Traced):
    """One queue, a trace."""

    def compile(self, host_input: Any) -> None:
        self._allocate_input(host_input)
        self._capture(host_input)
        ttnn.synchronize_device(self.device)

    def execute(self, host_inputs: list[Any]) -> Iterator[Any]:
        for host_input in host_inputs:
            self._write(host_input)
            self._move_input()
            self._replay()
            yield self.output


class MultiCQModelOverlappedInputExecutor(_PersistentInput):
    """Inputs are written by queue 1 while operators run in queue 0."""

    write_cq = 1

    def compile(self, host_input: Any) -> None:
        self._allocate_input(host_input)
        self.taken = ttnn.record_event(self.device, 0)
        output = self._run(host_input)
        self.output_schema = _schema(output)
        _free(output)
        ttnn.synchronize_device(self.device)

    def _run(self, host_input: Any) -> Any:
        ttnn.wait_for_event(1, self.taken)
        self._write(host_input)
        ttnn.wait_for_event(0, ttnn.record_event(self.device, 1))
        x = ttnn.reshard(self.dram_input, self.l1_input_memory_config)
        self.taken = ttnn.record_event(self.device, 0)
        output = self.model(x)
        _free(x)
        return output


class MultiCQTracedModelOverlappedInputExecutor(_Traced):
    """The same with a trace."""

    write_cq = 1

    def compile(self, host_input: Any) -> None:
        self._allocate_input(host_input)
        self._capture(host_input)
        self.taken = ttnn.record_event(self.device, 0)
        ttnn.synchronize_device(self.device)

    def execute(self, host_inputs: list[Any]) -> Iterator[Any]:
        for host_input in host_inputs:
            ttnn.wait_for_event(1, self.taken)
            self._write(host_input)
            ttnn.wait_for_event(0, ttnn.record_event(self.device, 1))
            self._move_input()
            self.taken = ttnn.record_event(self.device, 0)
            self._replay()
            yield self.output


class MultiCQTracedModelPipelinedIOExecutor(_Traced):
    """Operators in queue 0, all transfers in queue 1: the next input is written before an output is read. Outputs have a
    place of their own in DRAM, which is overwritten only when it has been read."""

    write_cq = 1

    def __init__(
        self,
        model: Callable[..., Any],
        device: Any,
        dram_input_memory_config: Any,
        l1_input_memory_config: Any,
        dram_output_memory_config: Any,
    ) -> None:
        super().__init__(model, device, dram_input_memory_config, l1_input_memory_config)
        self.dram_output_memory_config = dram_output_memory_config
        self.dram_output: Any = None

    def get_read_cq(self) -> int:
        return 1

    def compile(self, host_input: Any) -> None:
        self._allocate_input(host_input)
        self._capture(host_input)
        if isinstance(self.output_schema, list):
            raise TypeError("pipelined transfers are for models with one output")
        shape, dtype, layout = self.output_schema
        self.dram_output = ttnn.allocate_tensor_on_device(
            shape, dtype, layout, self.device, self.dram_output_memory_config
        )
        self.taken = ttnn.record_event(self.device, 0)
        self.read = ttnn.record_event(self.device, 1)
        ttnn.synchronize_device(self.device)

    def _write_next(self, host_input: Any) -> None:
        ttnn.wait_for_event(1, self.taken)
        self._write(host_input)
        self.written = ttnn.record_event(self.device, 1)

    def _run(self) -> None:
        ttnn.wait_for_event(0, self.written)
        self._move_input()
        self.taken = ttnn.record_event(self.device, 0)
        self._replay()
        ttnn.wait_for_event(0, self.read)
        self.dram_output = ttnn.reshard(self.output, self.dram_output_memory_config, self.dram_output)
        self.finished = ttnn.record_event(self.device, 0)

    def execute(self, host_inputs: list[Any]) -> Iterator[Any]:
        if len(host_inputs) < 2:
            raise ValueError(f"pipelined transfers need two inputs or more, not {len(host_inputs)}")
        self._write_next(host_inputs[0])
        for i in range(len(host_inputs)):
            self._run()
            if i + 1 < len(host_inputs):
                self._write_next(host_inputs[i + 1])
            ttnn.wait_for_event(1, self.finished)
            yield self.dram_output
            self.read = ttnn.record_event(self.device, 1)

    def cleanup(self) -> None:
        if self.dram_output is not None:
            _free(self.dram_output)
            self.dram_output = None
        super().cleanup()
