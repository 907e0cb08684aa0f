"""From ranked sentences to an answer: what leads, what it was before, what else belongs to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from chat.providers.models.extractive.language import (
    FULLY_KNOWN,
    folded,
    informative_words,
    language,
    language_of,
    subject_terms,
)
from chat.providers.models.extractive.passages import Passage
from chat.providers.models.extractive.questions import differing
from chat.providers.models.extractive.ranking import Question, Scored

# From this coverage on a sentence answers; from the lower one on it is worth showing.
_DIRECT, _INDIRECT = 0.55, 0.4
_RIVAL, _RIVAL_WITH_OTHER_FIGURES = 0.85, 0.6
_MORE, _MORE_COVERAGE, _NEAR_DUPLICATE = 0.5, 0.6, 0.6
_MAX_MORE, _MAX_MORE_OF_A_FACT, _MAX_OF_A_SOURCE = 5, 3, 3
_FACTS = frozenset({"colour", "time", "amount", "person", "place", "name"})
_MAX_FOLLOW_UPS, _MAX_TITLE_CHARS = 3, 100
_SITE_NAME = re.compile(r"\s+[|–—-]\s+[^|–—]{2,40}$")
_UNSAFE_IN_PROSE = re.compile(r"[<>`*_\[\]【】\\|#$\x00-\x1f\x7f]+")


@dataclass(frozen=True, slots=True)
class Chosen:
    """`overtaken` say something else about the same matter, newest first; `more` adds to it."""

    lead: Scored
    overtaken: tuple[Scored, ...]
    more: tuple[Scored, ...]
    figures_differ: bool
    direct: bool


def is_direct(found: Scored) -> bool:
    return found.coverage >= _DIRECT and found.has_names and found.has_kind


def choose(question: Question, ranked: Sequence[Scored]) -> Chosen | None:
    """None if no sentence is worth showing."""
    shown = [found for found in ranked if _is_worth_showing(found)]
    if not shown:
        return None
    best = shown[0]
    sources = {found.candidate.passage.number for found in shown if is_direct(found)}
    direct = best.candidate.passage.number in sources
    matter = [best, *_rivals(best, shown)] if is_direct(best) else [best]
    matter.sort(key=_newest_first)
    lead, overtaken = matter[0], tuple(matter[1:])
    differ = any(_figures_differ(lead, other) for other in overtaken)
    return Chosen(lead, overtaken, _more(question, matter, shown), differ, direct)


def _is_worth_showing(found: Scored) -> bool:
    """Without the name that was asked about, a sentence must hold all the more of the rest."""
    return bool(found.matched) and found.coverage >= (_INDIRECT if found.has_names else _DIRECT)


def _newest_first(found: Scored) -> int:
    published = found.candidate.passage.published
    return -published.toordinal() if published else 0


def _rivals(best: Scored, shown: Sequence[Scored]) -> list[Scored]:
    """The best sentence of each other source that speaks of the same matter at another time."""
    seen = {best.candidate.passage.number}
    rivals = []
    for found in shown:
        if found.candidate.passage.number not in seen and _is_rival(best, found):
            seen.add(found.candidate.passage.number)
            rivals.append(found)
    return rivals[:2]


def _is_rival(best: Scored, other: Scored) -> bool:
    if other.candidate.language != best.candidate.language or not is_direct(other):
        return False
    if not other.matched >= best.matched or not _share_a_subject(best, other):
        return False
    if _says_the_same(best, other):
        return False
    if _figures_differ(best, other):
        return other.score >= _RIVAL_WITH_OTHER_FIGURES * best.score
    dates = {found.candidate.passage.published for found in (best, other)}
    return None not in dates and len(dates) == 2 and other.score >= _RIVAL * best.score


def _share_a_subject(one: Scored, other: Scored) -> bool:
    """Whether the titles of their sources have a word in common that says something."""
    code = one.candidate.language
    ours, theirs = (subject_terms(found.candidate.passage.title, code) for found in (one, other))
    return not ours.isdisjoint(theirs)


def _says_the_same(one: Scored, other: Scored) -> bool:
    return _likeness(one, other) >= _NEAR_DUPLICATE and not _figures_differ(one, other)


def _figures_differ(one: Scored, other: Scored) -> bool:
    return differing(one.candidate.text, other.candidate.text, one.candidate.language)


def _likeness(one: Scored, other: Scored) -> float:
    ours, theirs = one.candidate.terms, other.candidate.terms
    return len(ours & theirs) / len(ours | theirs)


def _more(
    question: Question, matter: Sequence[Scored], shown: Sequence[Scored]
) -> tuple[Scored, ...]:
    """Further sentences that say something new, kept together by source."""
    limit = _MAX_MORE_OF_A_FACT if question.asked.kind in _FACTS else _MAX_MORE
    taken = list(matter)
    for found in shown:
        if len(taken) - len(matter) < limit and _adds(found, matter[0], taken):
            taken.append(found)
    numbers = [found.candidate.passage.number for found in taken]
    added = taken[len(matter) :]
    return tuple(sorted(added, key=lambda found: numbers.index(found.candidate.passage.number)))


def _adds(found: Scored, lead: Scored, taken: Sequence[Scored]) -> bool:
    same_source = [t for t in taken if t.candidate.passage.number == found.candidate.passage.number]
    return (
        found.score >= _MORE * lead.score
        and found.coverage >= _MORE_COVERAGE
        and found.candidate.language == lead.candidate.language
        and len(same_source) < _MAX_OF_A_SOURCE
        and all(_likeness(found, other) < _NEAR_DUPLICATE for other in taken)
    )


class Words:
    """The sentences that the answerer itself says, in one of the languages it speaks."""

    def __init__(self, code: str) -> None:
        self.code = code if code in FULLY_KNOWN else "en"
        self._known = language(self.code)
        self.space, self.comma = (" ", ", ") if self._known.spaced else ("", "、")

    def say(self, key: str, **values: str) -> str:
        return str(self._known.section("wording")[key]).format(**values)

    def quote(self, found: Scored) -> str:
        """In the quotation marks of the language, followed by the marker of its source."""
        number = found.candidate.passage.number
        return self.in_quotes(found.candidate.text) + (f" [{number}]" if number else "")

    def in_quotes(self, text: str) -> str:
        opening, closing = self._marks("quotes")
        if opening.strip() in text or closing.strip() in text:
            opening, closing = self._marks("inner_quotes")
        return f"{opening}{text}{closing}"

    def _marks(self, name: str) -> Sequence[str]:
        marks: Sequence[str] = (self._known.sections or {})[name]
        return marks


def answer_text(question: Question, chosen: Chosen, ranked: Sequence[Scored]) -> str:
    speak = Words(question.language)
    paragraphs = _lead_paragraphs(speak, chosen)
    if chosen.more:
        paragraphs.append("\n".join(f"- {speak.quote(found)}" for found in chosen.more))
    quoted = (chosen.lead, *chosen.overtaken, *chosen.more)
    used = {found.candidate.passage.number for found in quoted}
    return _finished(speak, paragraphs, follow_ups(question, ranked, used))


def _lead_paragraphs(speak: Words, chosen: Chosen) -> list[str]:
    lead = speak.quote(chosen.lead)
    published = chosen.lead.candidate.passage.published
    if chosen.overtaken and published:
        lead += f" ({published.isoformat()})"
    paragraphs = [lead] if chosen.direct else [speak.say("indirect"), lead]
    if chosen.overtaken:
        paragraphs.append(_disagreement(speak, chosen))
    return paragraphs


def _disagreement(speak: Words, chosen: Chosen) -> str:
    dated = chosen.lead.candidate.passage.published is not None
    key = "newer_first"
    if chosen.figures_differ:
        key = "differ" if dated else "differ_undated"
    return speak.space.join(
        [speak.say(key), *(_overtaken(speak, found) for found in chosen.overtaken)]
    )


def _overtaken(speak: Words, found: Scored) -> str:
    published = found.candidate.passage.published
    if published is None:
        return speak.say("other", quote=speak.quote(found))
    return speak.say("older", date=published.isoformat(), quote=speak.quote(found))


def nothing_found_text(
    question: Question, places: Iterable[str], reasons: Mapping[str, str]
) -> str:
    """`places` are keys of the wording; `reasons` say for each provider why it gave nothing."""
    speak = Words(question.language)
    where = speak.comma.join(speak.say(place) for place in places)
    sentences = [
        speak.say("nothing"),
        speak.say("looked_in", places=where) if where else speak.say("nowhere"),
    ]
    if reasons:
        told = "; ".join(f"{_prose(who)}: {_prose(why)}" for who, why in reasons.items())
        sentences.append(speak.say("passed_over", reasons=told))
    sentences.append(speak.say("advice"))
    return _finished(speak, [speak.space.join(sentences)], [])


def earlier_text(question: Question, chosen: Chosen) -> str:
    """What the person said before answers: there is no source to cite."""
    speak = Words(question.language)
    return _finished(speak, [speak.say("earlier", quote=speak.quote(chosen.lead))], [])


def short_text(question: Question, key: str) -> str:
    """One sentence of the wording, where there is nothing to search for."""
    speak = Words(question.language)
    return _finished(speak, [speak.say(key)], [])


def noted_text(question: Question, note: Passage) -> str:
    """What a memory file says answers: there is no source to cite."""
    speak = Words(question.language)
    said = speak.say("noted", path=note.title, quote=speak.in_quotes(_prose(note.text)))
    return _finished(speak, [said], [])


def remembered_text(question: Question, said: str, what: str) -> str:
    """That something was kept, or why not. `said` names the sentence, `what` fills it."""
    return Words(question.language).say(said, what=what) + "\n"


def _finished(speak: Words, paragraphs: Sequence[str], questions: Sequence[str]) -> str:
    parts = [*paragraphs, f"> {speak.say('notice')}"]
    if questions:
        parts.append("\n".join(["<followups>", *questions, "</followups>"]))
    return "\n\n".join(parts) + "\n"


def _prose(text: str, max_chars: int = 160) -> str:
    """Somebody else's words as one harmless piece of a sentence."""
    return _UNSAFE_IN_PROSE.sub(" ", " ".join(text.split()))[:max_chars].strip(" .")


def follow_ups(question: Question, ranked: Sequence[Scored], used: Set[int]) -> list[str]:
    """Questions from headings that ask and from sources that were found but not quoted.

    Only such as share a word with the question or with the sentence that came first.
    """
    speak, code = Words(question.language), question.language
    near = subject_terms(f"{question.text}\n{ranked[0].candidate.text}", code)
    others = [one.candidate for one in ranked if one.candidate.passage.number not in used]
    asking = [one.candidate.heading for one in ranked if _as_question(speak, one.candidate.heading)]
    found: dict[str, None] = {}
    for title in [*asking, *(one.passage.title for one in others)]:
        plain = _SITE_NAME.sub("", " ".join(title.split()))
        if _is_worth_asking(question, plain) and not near.isdisjoint(subject_terms(plain, code)):
            found[_as_question(speak, plain) or speak.say("about", title=plain)] = None
    return list(found)[:_MAX_FOLLOW_UPS]


def _is_worth_asking(question: Question, plain: str) -> bool:
    """In the language of the question, related to it, and not the question itself."""
    if not plain or len(plain) > _MAX_TITLE_CHARS or _UNSAFE_IN_PROSE.search(plain):
        return False
    if language_of(plain, question.language) != question.language:
        return False
    return not informative_words(plain, question.language) <= question.words


def _as_question(speak: Words, title: str) -> str:
    """A title that asks, as a question; empty if it does not ask."""
    if title.endswith(("?", "？")):
        return title
    asks = speak.say("explainable")
    if asks and re.match(rf"(?:{asks})\b", folded(title)):
        return speak.say("explain", title=title[0].lower() + title[1:])
    return ""
