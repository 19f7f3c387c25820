#!/usr/bin/env python3
"""Tests that instruction_counts.py reads profiles and reports what grew."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import instruction_counts as counts

PROFILE = """\
# callgrind format
events: Ir

fn=(1) (below main)
0 100
cfn=(2) main
calls=1 0
0 900

fn=(2)
0 200
cfn=(3) cleave::find_fusions(cleave::Graph const&)
calls=2 0
0 300
cfn=(4) cleave::report_text[abi:cxx11](cleave::Report const&)
calls=1 0
0 400

fn=(3)
0 50
+2 150
cfn=(3)
calls=1 0
* 60
cfn=(5) std::sort(cleave::find_fusions(int))
calls=1 0
* 100

fn=(4)
0 400

fn=(5)
0 100

totals: 1000
"""


def compared(before, now):
    with contextlib.redirect_stdout(io.StringIO()):
        return counts.compare({"work": before}, {"work": now})


class Profiles(unittest.TestCase):
    def test_a_pass_counts_what_it_calls_but_itself_once(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "profile"
            path.write_text(PROFILE)
            seen = counts.passes_of(path)
        self.assertEqual(
            seen, {"total": 1000, counts.START: 100, "find_fusions": 300, "report_text": 400}
        )


class Growth(unittest.TestCase):
    before = {"total": 1000, "find_fusions": 300, "make_partition": 20}

    def test_five_percent_more_is_borne(self):
        now = {"total": 1050, "find_fusions": 315, "make_partition": 20}
        self.assertEqual(compared(self.before, now), [])

    def test_more_than_that_is_not_and_the_pass_is_named(self):
        now = {"total": 1060, "find_fusions": 360, "make_partition": 20}
        faults = compared(self.before, now)
        self.assertEqual(faults[0], "work: 1,000 -> 1,060 instructions")
        self.assertEqual(faults[1], "    find_fusions: 300 -> 360 (+20.0%)")
        self.assertEqual(len(faults), 2)

    def test_a_pass_is_held_where_the_total_is_not_much_more(self):
        now = {"total": 1020, "find_fusions": 330, "make_partition": 20}
        self.assertIn("find_fusions: 300 -> 330 (+10.0%)", compared(self.before, now)[1])

    def test_a_pass_of_next_to_nothing_is_not_held(self):
        now = {"total": 1020, "find_fusions": 300, "make_partition": 40}
        self.assertEqual(compared(self.before, now), [])

    def test_a_pass_that_is_new_is_named(self):
        faults = compared(self.before, {**self.before, "total": 1200, "near_misses": 200})
        self.assertIn("near_misses: 200, was not called", faults[1])

    def test_a_workload_without_a_record_is_told(self):
        with contextlib.redirect_stdout(io.StringIO()):
            faults = counts.compare({}, {"work": self.before})
        self.assertEqual(faults, ["work: not in instruction_counts.json"])


if __name__ == "__main__":
    unittest.main()
