"""tools/soak tells what grows from what only scatters."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def load_soak():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("soak", str(ROOT / "tools" / "soak"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("soak", loader))
    sys.modules["soak"] = module  # dataclasses look there
    loader.exec_module(module)
    return module


SOAK = load_soak()
FLAT = SOAK.Sample(heap_bytes=1000, python_blocks=500, rss_bytes=1 << 20, descriptors=7, threads=3)


def samples(count, **changes):
    """So many rounds, in which each change says by the number of the round what is added."""
    out = []
    for i in range(count):
        added = {name: getattr(FLAT, name) + change(i) for name, change in changes.items()}
        out.append(SOAK.dataclasses.replace(FLAT, **added))
    return out


def growing(rounds, **options):
    return {one.name for one in SOAK.judge(rounds, **options) if one.grows}


class Judge(unittest.TestCase):
    def test_what_stays_is_flat(self):
        self.assertEqual(growing(samples(8)), set())

    def test_what_scatters_is_flat(self):
        self.assertEqual(growing(samples(40, heap_bytes=lambda i: i * 37 % 11, rss_bytes=lambda i: i * 7 % 5 * 4096)), set())

    def test_what_warms_up_is_flat(self):
        self.assertEqual(growing(samples(40, heap_bytes=lambda i: min(i, 9) * 100, threads=lambda i: min(i, 3))), set())

    def test_the_smallest_leak_in_each_round_grows(self):
        for name in ("heap_bytes", "python_blocks", "rss_bytes", "descriptors", "threads"):
            kept = max(1, SOAK.LEAST_KEPT[name])
            self.assertEqual(growing(samples(40, **{name: lambda i, kept=kept: i * kept})), {name})

    def test_a_leak_is_seen_through_scatter(self):
        self.assertEqual(growing(samples(400, heap_bytes=lambda i: 32 * i + i * 37 % 11 * 64)), {"heap_bytes"})

    def test_thinned_samples_stand_for_several_rounds(self):
        found = SOAK.judge(samples(40, heap_bytes=lambda i: 34 * i), each=2)
        self.assertEqual({one.name for one in found if one.grows}, {"heap_bytes"})
        bounds = [{one.name: one.bound for one in SOAK.judge(samples(40), each)}["heap_bytes"] for each in (1, 2)]
        self.assertEqual([bound - FLAT.heap_bytes for bound in bounds], [15 * 32 / 2, 15 * 32])

    def test_a_table_that_is_doubled_once_is_flat(self):
        for when in range(40):
            self.assertEqual(growing(samples(40, heap_bytes=lambda i, when=when: 9984 * (i >= when))), set())

    def test_caches_may_add_what_a_short_run_allows_and_no_more(self):
        doubled = lambda i: 10_000 * (i >= 22) + 16_000 * (i >= 33)  # noqa: E731
        self.assertEqual(growing(samples(40, heap_bytes=doubled)), {"heap_bytes"})
        self.assertEqual(growing(samples(40, heap_bytes=doubled), caches=65536), set())
        self.assertEqual(growing(samples(40, heap_bytes=lambda i: 8192 * i), caches=65536), {"heap_bytes"})

    def test_one_descriptor_more_grows(self):
        self.assertEqual(growing(samples(40, descriptors=lambda i: i >= 25)), {"descriptors"})


class Samples(unittest.TestCase):
    def test_a_long_run_is_thinned_evenly(self):
        kept = SOAK.Samples(most=8)
        for sample in samples(37, heap_bytes=lambda i: i):
            kept.add(sample)
        self.assertEqual([row.heap_bytes - FLAT.heap_bytes for row in kept.rows()], [0, 8, 16, 24, 32])
        self.assertEqual(kept.rows()[1].threads, FLAT.threads)
        kept = SOAK.Samples(most=8)
        for sample in samples(8, rss_bytes=lambda i: i):
            kept.add(sample)
        self.assertEqual([row.rss_bytes - FLAT.rss_bytes for row in kept.rows()], list(range(8)))


class Sample(unittest.TestCase):
    def test_what_the_process_opens_and_keeps_is_counted(self):
        before = SOAK.take_sample()
        kept = bytearray(64 << 20)
        with open("/dev/null", encoding="utf-8"):
            after = SOAK.take_sample()
        self.assertEqual(after.descriptors, before.descriptors + 1)
        self.assertGreaterEqual(after.heap_bytes - before.heap_bytes, len(kept))
        self.assertEqual(after.threads, before.threads)
        del kept
        self.assertLess(SOAK.take_sample().heap_bytes, after.heap_bytes)


if __name__ == "__main__":
    unittest.main()
