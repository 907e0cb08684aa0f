"""Generated agent sessions: real tool output over real code, read early and asked for late.

Deterministic from a seed. A session reads parts of modules of Python's library, searches them,
lists them, runs tests, changes constants and reads them again; the user states facts and dates in
between. Probes ask at the end for things last seen at least `_LATE` messages before it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

from memory.bench.asking import ask
from memory.bench.library import Found, SourceFile, source_files
from memory.bench.probes import Case, Probe
from memory.bench.tests_run import run_tests
from memory.bench.vocabulary import EVENTS, THINGS, USER_FACTS
from memory.engine.values import Message

_LATE = 14
_ZONE = timezone(timedelta(hours=2))
N_FACTS = 7
KINDS = ("constant",) * 7 + ("signature",) * 6 + ("body",) * 5 + ("block",) * 4 + ("error",) * 3
WORDINGS = ("exact",) * 12 + ("split",) * 3 + ("para",) * 5


@dataclass(slots=True)
class _Read:
    """What a read showed: the file, its first row and the rows."""

    message: int
    file: SourceFile
    start: int
    rows: tuple[str, ...]


@dataclass(slots=True)
class _Session:
    rng: random.Random
    at: datetime
    messages: list[Message] = field(default_factory=list)
    probes: list[Probe] = field(default_factory=list)
    reads: list[_Read] = field(default_factory=list)
    texts: dict[str, list[str]] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)
    searched: list[str] = field(default_factory=list)
    numbered: bool = False

    def say(self, role: str, text: str) -> int:
        self.at += timedelta(seconds=self.rng.randint(5, 240))
        self.messages.append(Message(str(len(self.messages)), role, text, self.at))  # type: ignore[arg-type]
        return len(self.messages) - 1

    def use(
        self, remark: str, tool: str, target: str, text: str, *, ok: bool = True, **args: object
    ) -> int:
        self.say("assistant", remark)
        self.at += timedelta(seconds=self.rng.randint(1, 9))
        number = len(self.messages)
        self.messages.append(
            Message(
                str(number), "tool", text, self.at, tool=tool, target=target, args=args or None,
                call_id=f"call-{number}", ok=ok,
            )
        )  # fmt: skip
        return number


def session(seed: int) -> Case:
    rng = random.Random(f"session {seed}")
    at = datetime(2026, 1, 5, 9, 0, tzinfo=_ZONE) + timedelta(days=rng.randint(0, 200))
    run = _Session(rng, at, numbered=rng.random() < 0.5)
    files = _choose_files(rng)
    run.texts = {file.path: list(file.lines) for file in files}
    run.say("user", f"Look after the modules {', '.join(file.path for file in files[:4])}.")
    facts = rng.sample(USER_FACTS, 3)
    early, late = files[:8], files[8:]
    stated = _state_date(run)
    _work(run, early, n_reads=13, asides=[fact[0] for fact in facts])
    edits = _edit_some(run)
    failures = _test(run, edits)
    _work(run, [*late, *files[:3]], n_reads=9, asides=[])
    _ask_facts(run, facts, failures)
    run.probes.append(stated)
    run.probes += _ledger_probes(run)
    return Case(f"session {seed}", tuple(run.messages), tuple(run.probes), run.at)


def _choose_files(rng: random.Random) -> list[SourceFile]:
    """Twelve modules, at least three of those read early with a number to change."""
    numeric = [file for file in source_files() if any(map(is_number, file.finds))]
    chosen = rng.sample(numeric, 3)
    others = rng.sample([file for file in source_files() if file not in chosen], 9)
    early = chosen + others[:5]
    rng.shuffle(early)
    return early + others[5:]


def is_number(find: Found) -> bool:
    return find.kind == "constant" and bool(re.fullmatch(r"\d{1,6}", find.value))


# --- What happens --------------------------------------------------------------------------------


def _work(run: _Session, files: list[SourceFile], *, n_reads: int, asides: list[str]) -> None:
    steps: list[Callable[[], object]] = []
    for number in range(n_reads):
        file = files[number % len(files)]
        steps.append(lambda file=file: _read(run, file))  # type: ignore[misc]
    steps += [lambda: _search(run, files)] * 3 + [lambda: _list(run, files)]
    steps += [lambda said=said: run.say("user", said) for said in asides]  # type: ignore[misc]
    run.rng.shuffle(steps)
    for step in steps:
        step()


def _read(run: _Session, file: SourceFile) -> None:
    size = run.rng.randint(90, 170)
    numbers = [find.start for find in file.finds if find.kind == "constant"]
    start = run.rng.randrange(max(1, len(file.lines) - size))
    if numbers and run.rng.random() < 0.6:
        start = max(0, run.rng.choice(numbers) - run.rng.randrange(size // 2))
    _read_range(run, file, start, start + size)


def _read_range(run: _Session, file: SourceFile, start: int, end: int) -> None:
    rows = tuple(run.texts[file.path][start:end])
    shown = [f"{start + n:6}\t{row}" if run.numbered else row for n, row in enumerate(rows, 1)]
    remark = run.rng.choice(
        ["Reading {}.", "Next I look at {}.", "Let me see {}.", "{} may hold it."]
    ).format(file.path)
    message = run.use(
        remark, "read_file", file.path, "\n".join(shown), offset=start + 1, limit=end - start
    )
    run.reads.append(_Read(message, file, start, rows))


def _search(run: _Session, files: list[SourceFile]) -> None:
    file = run.rng.choice(files)
    words = sorted({word for row in file.lines for word in re.findall(r"[a-z_]{6,}", row)})
    pattern = run.rng.choice(words)
    hits = [
        f"{other.path}:{number}: {row.strip()}"
        for other in files
        for number, row in enumerate(run.texts[other.path], 1)
        if pattern in row
    ][:25]
    run.searched.append(pattern)
    run.use(f"Searching for {pattern}.", "grep", pattern, "\n".join(hits), path="lib")


def _list(run: _Session, files: list[SourceFile]) -> None:
    rows = [f"{len(file.lines):6} {file.path}" for file in source_files()]
    run.use("What else is there?", "list_files", "lib", "\n".join(run.rng.sample(rows, 30)))


def _state_date(run: _Session) -> Probe:
    days, when = run.rng.choice(_days_ago(run))
    thing = run.rng.choice(THINGS)
    event = run.rng.choice(EVENTS).format(thing=thing, when=when)
    run.say("user", event)
    date = (run.at - timedelta(days=days)).date().isoformat()
    question = f"On what date was that with the {thing}?"
    return Probe(question, "date", holds=(event.split(when)[0].strip(), date))


def _days_ago(run: _Session) -> list[tuple[int, str]]:
    names = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    back = run.rng.randint(1, 6)
    weekday = names[(run.at - timedelta(days=back)).weekday()]
    return [(1, "yesterday"), (2, "two days ago"), (3, "3 days ago"), (5, "five days ago"),
            (back, f"last {weekday}"), (2, "the day before yesterday")]  # fmt: skip


# --- Edits and tests -----------------------------------------------------------------------------


@dataclass(slots=True)
class _Edit:
    read: _Read
    find: Found
    old: str
    new: str


def _edit_some(run: _Session) -> list[_Edit]:
    """One to three constants changed; the first is asked for: what it is, what it was."""
    edits = []
    for number, (read, find) in enumerate(_constants(run)[: run.rng.randint(1, 3)]):
        edit = _change(run, read, find)
        style = run.rng.choice(("whole", "part", "part", "none", "twice"))
        if style == "twice":
            edit = _change(run, read, find)
        if style in ("whole", "twice"):
            _read_range(run, read.file, read.start, read.start + len(read.rows))
        if style == "part":
            _read_part(run, edit)
        edits.append(edit)
        if number == 0:
            run.probes += _edit_probes(edit)
    return edits


def _constants(run: _Session) -> list[tuple[_Read, Found]]:
    """Constants of a plain number, seen in a read, named once in all the files."""
    found: list[tuple[_Read, Found]] = []
    for read in run.reads:
        for find in read.file.finds:
            inside = read.start <= find.start < read.start + len(read.rows)
            known = {other.file.path for other, _ in found}
            if is_number(find) and inside and read.file.path not in known:
                found.append((read, find))
    run.rng.shuffle(found)
    return found


def _change(run: _Session, read: _Read, find: Found) -> _Edit:
    rows = run.texts[read.file.path]
    old = rows[find.start]
    value = re.search(r"\d+", old[old.index("=") :])
    assert value is not None
    number = int(value[0]) + run.rng.randint(3, 90)
    at = old.index("=") + value.start()
    new = f"{old[:at]}{number}{old[at + len(value[0]) :]}"
    rows[find.start] = new
    run.use(
        f"Changing {find.name}.", "edit_file", read.file.path, "The file was changed.",
        old_string=old, new_string=new,
    )  # fmt: skip
    if read.file.path not in run.changed:
        run.changed.append(read.file.path)
    return _Edit(read, find, old, new)


def _read_part(run: _Session, edit: _Edit) -> None:
    """A second look at a few rows round the change; what lies outside was not touched."""
    start = max(0, edit.find.start - 8)
    _read_range(run, edit.read.file, start, edit.find.start + 12)
    rows = [
        row
        for number, row in enumerate(edit.read.rows, edit.read.start)
        if not start - 3 <= number < edit.find.start + 15 and re.search(r"\bdef \w{5,}\(", row)
    ]
    if rows:
        row = run.rng.choice(rows)
        name = re.findall(r"def (\w+)", row)[0]
        if not name.startswith("__"):  # every class has those
            run.probes.append(Probe(f"What is the signature of {name}?", "untouched", needs=(row,)))


def _edit_probes(edit: _Edit) -> list[Probe]:
    name = edit.find.name
    return [
        Probe(f"What is {name} set to now?", "current", needs=(edit.new,), absent=(edit.old,)),
        Probe(f"What was {name} before the edit?", "previous", needs=(edit.old,)),
        Probe(f"What changed in {name}?", "changed", needs=(edit.old, edit.new)),
    ]


def _test(run: _Session, edits: list[_Edit]) -> list[Probe]:
    """Two runs of the same tests; the second is the one that counts."""
    first = run_tests(run.rng, n_wrong=run.rng.randint(2, 4))
    run.use("Running the tests.", "run_tests", "tests/test_samples.py", first.text, ok=False)
    if run.rng.random() < 0.35:
        second = first.repaired(1)
        run.use("Again.", "run_tests", "tests/test_samples.py", second.text, ok=False)
        run.probes.append(
            Probe(
                "How did the last test run end?", "tests",
                needs=(second.summary,), absent=(first.summary,),
            )
        )  # fmt: skip
        return []
    name, told = first.failures[0]
    return [Probe(f"Why does {name} fail?", "failure", needs=(told,))]


# --- Questions -----------------------------------------------------------------------------------


def _ask_facts(run: _Session, facts: list[tuple[str, str, str]], failures: list[Probe]) -> None:
    last = len(run.messages) - _LATE
    pool = list(failures)
    for said, same, other in facts:
        wording = run.rng.choice(("exact", "para"))
        pool.append(Probe(other if wording == "para" else same, "user", wording, needs=(said,)))
    chosen = failures + run.rng.sample(pool[len(failures) :], run.rng.choice((0, 1, 1, 2)))
    wanted = [run.rng.choice(WORDINGS) for _ in range(N_FACTS - len(chosen))]
    candidates = [
        (read, find)
        for read in run.reads
        if read.message < last
        for find in read.file.finds
        if read.start <= find.start and find.end <= read.start + len(read.rows)
    ]
    run.rng.shuffle(candidates)
    seen: set[str] = set()
    for wording in wanted:
        kind = run.rng.choice(KINDS)
        for read, find in sorted(candidates, key=lambda pair: pair[1].kind != kind):
            probe = None if find.name in seen else ask(run.rng, read.file, find, wording)
            if probe and _is_still_so(run, read, find):
                seen.add(find.name)
                chosen.append(probe)
                break
    run.probes += chosen


def _is_still_so(run: _Session, read: _Read, find: Found) -> bool:
    return tuple(run.texts[read.file.path][find.start : find.end]) == tuple(
        read.file.lines[find.start : find.end]
    )


def _ledger_probes(run: _Session) -> list[Probe]:
    probes = [Probe("Which searches did you make?", "searches", holds=tuple(run.searched))]
    if run.changed:
        probes.append(Probe("Which files did you change?", "files", holds=tuple(run.changed)))
    return probes
