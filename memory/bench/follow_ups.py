"""Questions that point back: the fact is far behind, the turn before names what it is about."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from memory.bench.probes import Case, Probe
from memory.engine.values import Message

_FACTS: tuple[tuple[str, str, str], ...] = (
    # long ago; the turn before the question; the question
    ("My sister Ana lives in Porto.", "I write a card to my sister Ana.", "Where does she live?"),
    ("The heating plan costs 240 euros.", "Back to the heating plan.", "What does it cost?"),
    ("Doctor Okafor is in on Wednesdays.", "I should see Doctor Okafor.", "When is he in?"),
    ("The blue kayak has a crack in it.", "Let us take the blue kayak.", "What is wrong with it?"),
    ("Marek is allergic to walnuts.", "Marek comes to dinner.", "What can't he eat?"),
    ("The Lindgren report is due on 4 May.", "Now for the Lindgren report.", "When is it due?"),
    ("Our tent sleeps five people.", "I have packed our tent.", "How many sleep in it?"),
    ("The Yamada brothers make violins.", "I met the Yamada brothers.", "What do they make?"),
    ("The old mill was built in 1783.", "We walked to the old mill.", "When was it built?"),
    ("Grandma's clock stops in the cold.", "I wound grandma's clock.", "Why does it stop?"),
)
_TALK = (
    "The weather kept changing all week.", "I bought bread and some cheese.",
    "The train was late again.", "We watched a film about bees.",
    "The neighbours painted the fence.", "I could not find my keys.",
    "The soup needed more salt.", "There was a queue at the post office.",
    "He left the window open.", "She sent a postcard from the coast.",
    "It took two hours in the end.", "They moved the meeting again.",
)  # fmt: skip


def follow_ups(seed: int, n_cases: int = 20) -> list[Case]:
    """Small talk of some 150 turns with a fact early and a question that names nothing."""
    cases = []
    for number in range(n_cases):
        rng = random.Random(f"follow-up {seed} {number}")
        fact, before, question = _FACTS[number % len(_FACTS)]
        others = [other for other, _, _ in _FACTS if other != fact]
        talk = [f"{rng.choice(_TALK)} {rng.choice(_TALK)}" for _ in range(140)] + others
        rng.shuffle(talk)
        talk.insert(rng.randrange(60), fact)
        at = datetime(2026, 2, 1, 8, 0, tzinfo=UTC)
        texts = [*talk, before, "Good."]
        roles = ["user" if n % 2 == 0 else "assistant" for n in range(len(talk))]
        messages = tuple(
            Message(str(n), role, text, at + timedelta(minutes=n))  # type: ignore[arg-type]
            for n, (role, text) in enumerate(zip([*roles, "user", "assistant"], texts, strict=True))
        )
        probe = Probe(question, "follow-up", holds=(fact,))
        cases.append(Case(f"follow-up {number}", messages, (probe,)))
    return cases
