"""Real output of a real test runner, for the generated sessions."""

from __future__ import annotations

import io
import linecache
import random
import re
import unittest
from dataclasses import dataclass, replace

# Name of a test, an expression over Python's library, its value.
_CHECKS: tuple[tuple[str, str, str], ...] = (
    ("base64_length", "len(__import__('base64').b64encode(b'lumen' * 7))", "48"),
    ("calendar_leap", "__import__('calendar').leapdays(1990, 2031)", "10"),
    ("colour_hue", "round(__import__('colorsys').rgb_to_hsv(0.2, 0.4, 0.4)[0] * 360)", "180"),
    ("compare_ratio", "round(__import__('difflib').SequenceMatcher(None, 'otter', 'utter')"
     ".ratio() * 100)", "80"),
    ("digest_size", "__import__('hashlib').sha3_384().digest_size", "48"),
    ("fraction_limit", "__import__('fractions').Fraction('0.318').limit_denominator(30)"
     ".denominator", "22"),
    ("heap_smallest", "__import__('heapq').nsmallest(3, [9, 4, 7, 1, 8])[-1]", "7"),
    ("network_hosts", "__import__('ipaddress').ip_network('10.1.0.0/21').num_addresses", "2048"),
    ("quoted_word", "len(__import__('shlex').quote('two words'))", "11"),
    ("median_grouped", "round(__import__('statistics').median_grouped([1, 3, 3, 5, 7]) * 100)",
     "325"),
    ("shortened_text", "len(__import__('textwrap').shorten('a long row of words', 12))", "12"),
    ("permutations", "__import__('math').perm(9, 3)", "504"),
    ("combinations", "__import__('math').comb(12, 5)", "792"),
    ("ordinal_day", "__import__('datetime').date(2026, 3, 31).timetuple().tm_yday", "90"),
)  # fmt: skip
_PATH = "tests/test_samples.py"


@dataclass(frozen=True, slots=True)
class TestRun:
    """`wrong` tests expect a wrong value by so much; `failures` are (test, what it reports)."""

    wrong: tuple[tuple[str, int], ...]
    text: str = ""
    summary: str = ""
    failures: tuple[tuple[str, str], ...] = ()

    def repaired(self, n: int) -> TestRun:
        return _run(replace(self, wrong=self.wrong[n:]))


def run_tests(rng: random.Random, *, n_wrong: int) -> TestRun:
    names = sorted(rng.sample([name for name, _, _ in _CHECKS], n_wrong))
    return _run(TestRun(tuple((name, rng.randint(1, 40)) for name in names)))


def _run(run: TestRun) -> TestRun:
    wrong = dict(run.wrong)
    rows = ["import unittest", "", "class SampleTest(unittest.TestCase):"]
    for name, expression, value in _CHECKS:
        rows.append(f"    def test_{name}(self):")
        rows.append(f"        self.assertEqual({expression}, {int(value) + wrong.get(name, 0)})")
    source = "\n".join(rows)
    linecache.cache[_PATH] = (len(source), None, source.splitlines(keepends=True), _PATH)
    space = {"__name__": "tests.test_samples"}
    exec(compile(source, _PATH, "exec"), space)
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(space["SampleTest"])  # type: ignore[arg-type]
    out = io.StringIO()
    unittest.TextTestRunner(out, verbosity=2).run(suite)
    # The time a run took differs from run to run; everything else is as it was printed.
    text = re.sub(r"in \d+\.\d+s", "in 0.012s", out.getvalue()).rstrip()
    told = re.findall(r"^FAIL: (test_\w+).*?^(AssertionError: .+?)$", text, re.M | re.S)
    return replace(run, text=text, summary=text.splitlines()[-1], failures=tuple(told))
