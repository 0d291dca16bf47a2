"""What the examples of docs/queues-and-trace.md print. (tests/pages runs the commands.)"""

from doc_page import blocks

PAGE = "queues-and-trace.md"


def test_python_examples_run(capsys):
    for number, block in enumerate(blocks(PAGE, "python")):
        exec(compile(block, f"docs/{PAGE}, block {number + 1}", "exec"), {})
    largest, seconds, *shape = capsys.readouterr().out.split()
    assert float(largest) == 1
    assert 0 < float(seconds) < 1
    assert " ".join(shape) == "(4, 1, 32, 32)"
