"""fit(comm=...): a liquid layer trained by the ranks of an mpi4py communicator."""

import numpy as np
from mpirun import needs_mpi, under_mpirun

from tessera.ncps import CfC

DATA = """
import numpy as np
from tessera.ncps import CfC
def data(seed=0):
    random = np.random.default_rng(seed)
    x = random.standard_normal((50, 9, 3)).astype(np.float32)
    return x, x.cumsum(1)[:, :, :1]
"""
START = """
from mpi4py import MPI
import tessera
comm = MPI.COMM_WORLD
model = CfC(3, 16, proj_size=1, return_sequences=True, seed=7 + comm.rank)
"""


def alone(**options):
    scope = {}
    exec(DATA, scope)
    model = CfC(3, 16, proj_size=1, return_sequences=True, seed=7)
    history = model.fit(*scope["data"](), epochs=3, batch_size=20, **options)
    return model, [report["loss"] for report in history]


@needs_mpi
def test_ranks_train_to_the_bits_of_one_process(tmp_path):
    script = DATA + START + """
history = model.fit(*data(), epochs=3, batch_size=20, comm=comm, deterministic=True)
print([report["loss"] for report in history])
print({name: values.tobytes().hex() for name, values in model.state_dict().items()})
"""
    model, losses = alone()
    wanted = [str(losses), str({name: values.tobytes().hex() for name, values in model.state_dict().items()})]
    for ranks in (1, 3):
        assert under_mpirun(ranks, script, tmp_path) == [wanted] * ranks


@needs_mpi
def test_in_any_order_losses_differ_by_roundings_and_ranks_end_alike(tmp_path):
    script = DATA + START + """
print([report["loss"] for report in model.fit(*data(), epochs=3, batch_size=20, comm=comm)])
print({name: values.tobytes().hex() for name, values in model.state_dict().items()})
"""
    _, losses = alone()
    printed = under_mpirun(2, script, tmp_path)
    assert printed[0] == printed[1]
    np.testing.assert_allclose(eval(printed[0][0]), losses, rtol=9 * 180 * 2**-24)


@needs_mpi
def test_a_checkpoint_is_gone_on_from_with_another_number_of_ranks(tmp_path):
    script = DATA + START + """
options = dict(batch_size=20, comm=comm, deterministic=True, checkpoint="c.safetensors")
calls = []
model.fit(*data(), epochs=3, on_epoch=lambda report: calls.append(report["epoch"]) or len(calls) < 1, **options)
print(calls)
"""
    assert under_mpirun(2, script, tmp_path) == [["[1]"], ["[]"]], "rank 0 alone is asked, and stops both"
    _, losses = alone(checkpoint=tmp_path / "c.safetensors")
    assert losses == alone()[1][1:]


@needs_mpi
def test_what_differs_between_ranks_is_named_to_all(tmp_path):
    script = DATA + START + """
def attempt(**options):
    try:
        model.fit(*options.pop("data", data()), epochs=1, comm=comm, **options)
        print("fine")
    except tessera.Error as error:
        print(str(error).partition("hint:")[0].replace("\\n", " "))
attempt(learning_rate=0.5 if comm.rank == 1 else 0.1)
attempt(data=data(comm.rank))
attempt(deterministic=comm.rank == 0)
attempt(checkpoint="/nowhere/there/c")
"""
    for rank, (rate, examples, order, file) in enumerate(under_mpirun(2, script, tmp_path)):
        assert "'learning_rate' differs between processes: rank 0 of 2" in rate
        assert "the data to train on differs" in examples
        assert "deterministic differs" in order
        assert "/nowhere/there/c" in file
        assert rank == 0 or "rank 0 of 2" in file
