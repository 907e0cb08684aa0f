"""What the answerer that needs no model calls, quotes and says."""

from __future__ import annotations

import re

import pytest

from chat.agent.limits import Limits
from chat.agent.ports import Finished, TextDelta
from chat.agent.prompts import limit_note, wording
from chat.agent.tools import Toolbox
from chat.agent.values import Message, SearchResult
from chat.providers.models.extractive import ExtractiveAnswerer
from tests.core.extractive_talk import (
    ALL,
    FOLLOWUPS,
    ICE,
    NOTICE,
    QUESTION,
    WEB,
    answer,
    call_of,
    called,
    result,
    said,
    source,
    step,
    text_of,
    user,
)
from tests.core.fakes import FakeSearcher, answer_of, events_of
from tests.core.fakes import result as found_result

# --- What it calls -------------------------------------------------------------------------------


def test_it_asks_the_library_first() -> None:
    events = step([user(QUESTION)])
    assert call_of(events) == ("search_library", QUESTION)
    assert events[-1] == Finished("tool_calls", events[-1].usage)
    assert events[-1].usage.estimated


def test_it_answers_from_the_library_when_that_covers_the_question() -> None:
    events = step([user(QUESTION), *called("search_library", result(source(1, ICE)))])
    assert f"“{ICE}” [1]" in text_of(events)
    assert events[-1].reason == "stop"


@pytest.mark.parametrize(
    "passage",
    ["Rivers carry water to the sea.", "Ice hockey is played on ice in winter."],
)
def test_it_asks_the_web_when_the_library_does_not_cover_the_question(passage: str) -> None:
    messages = [user("How tall is the Eiffel Tower?")]
    messages += called("search_library", result(source(1, passage)))
    assert call_of(step(messages)) == ("web_search", "How tall is the Eiffel Tower?")


def test_it_asks_each_place_once_and_reads_no_page() -> None:
    messages = [user(QUESTION), *called("search_library", result())]
    messages += called("web_search", result())
    assert "Nothing was found" in text_of(step(messages))


def test_it_asks_the_web_at_once_where_there_is_no_library() -> None:
    assert call_of(step([user(QUESTION)], (WEB,)))[0] == "web_search"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Who invented the piano?", "and why?"),
        ("Who invented the piano?", "what about the second one?"),
        ("Who invented the piano?", "When did he live?"),
        ("¿Quién escribió el Quijote?", "¿y cuándo?"),
        ("Wer erfand die Stimmgabel?", "Wann lebte er?"),
        ("Qui a inventé le braille ?", "et pourquoi ?"),
        ("Кто был первым в космосе?", "А когда?"),
        ("富士山はどこにありますか。", "それはなぜですか。"),
    ],
)
def test_a_question_that_points_back_is_searched_with_the_one_before(
    first: str, second: str
) -> None:
    _, query = call_of(step([user(first), said("…"), user(second)]))
    assert query == f"{first} {second}"


def test_a_chain_of_such_questions_goes_back_to_the_one_that_stands_alone() -> None:
    asked = ["Who invented the piano?", "and why?", "and when?"]
    messages = [message for text in asked for message in (user(text), said("…"))][:-1]
    assert call_of(step(messages))[1] == "Who invented the piano? and when?"


def test_a_question_that_stands_alone_is_searched_alone() -> None:
    messages = [user("Who invented the piano?"), said("…"), user("How many moons has Saturn?")]
    assert call_of(step(messages))[1] == "How many moons has Saturn?"


@pytest.mark.parametrize("told", ["My sister Ana lives in Porto.", "Remember that I like tea."])
def test_what_a_person_tells_of_themselves_is_not_sent_to_the_web(told: str) -> None:
    messages = [user(told), *called("search_library", result())]
    assert "not the web" in text_of(step(messages))


def test_what_the_person_said_before_is_an_answer_without_a_citation() -> None:
    before = [user("My sister Ana lives in Porto."), said("…")]
    text = text_of(step([*before, user("Where does my sister live?")]))
    assert text.startswith(
        "Earlier in this conversation you wrote: “My sister Ana lives in Porto.”"
    )
    assert "[0]" not in text


# --- What it quotes ------------------------------------------------------------------------------


def test_every_quotation_is_verbatim_and_followed_by_the_number_of_its_source() -> None:
    passages = {
        1: "Ice floats because ice is less dense than water. Ice is cold, as everybody knows.",
        4: "An iceberg floats low because the density of ice is close to that of water.",
    }
    text = answer(QUESTION, *(source(number, passage) for number, passage in passages.items()))
    quotations = re.findall(r"“([^”]+)” \[(\d+)\]", text)
    assert {int(number) for _, number in quotations} == {1, 4}
    assert all(quotation in passages[int(number)] for quotation, number in quotations)


def test_the_newer_of_two_sources_comes_first_and_the_difference_is_said() -> None:
    text = answer(
        "How many moons does Saturn have?",
        source(1, "Saturn has 82 known moons.", published="2019-10-08"),
        source(2, "Saturn has 274 known moons.", published="2025-03-20"),
    )
    first, second, *_ = text.split("\n\n")
    assert first == "“Saturn has 274 known moons.” [2] (2025-03-20)"
    assert second.startswith("The sources give different figures; the newer one comes first.")
    assert "2019-10-08, says: “Saturn has 82 known moons.” [1]" in second


def test_different_figures_are_named_even_without_dates() -> None:
    text = answer(
        "How long is the Nile?",
        source(1, "The Nile is 6,650 kilometres long."),
        source(2, "The Nile is 7,088 kilometres long."),
    )
    assert "The sources give different figures." in text
    assert "[1]" in text
    assert "[2]" in text


@pytest.mark.parametrize("other", ["The Nile is 6650 kilometres long.", "The Nile is green."])
def test_sources_that_agree_are_not_said_to_differ(other: str) -> None:
    text = answer(
        "How long is the Nile?",
        source(1, "The Nile is 6,650 kilometres long."),
        source(2, other),
    )
    assert "different figures" not in text


def test_nearly_the_same_sentence_is_quoted_once() -> None:
    copy = "Ice floats because ice is less dense than liquid water!"
    assert answer(QUESTION, source(1, ICE), source(2, copy)).count("less dense") == 1


def test_a_source_in_the_language_of_the_question_comes_first() -> None:
    spanish = "El hielo flota porque el hielo es menos denso que el agua."
    sources = [source(1, ICE), source(2, spanish)]
    assert answer(QUESTION, *sources).startswith("“Ice floats")
    assert answer("¿Por qué flota el hielo?", *sources).startswith("«El hielo flota")


@pytest.mark.parametrize(
    ("question", "passage", "quoted", "notice"),
    [
        ("Wie hoch ist der Teide?", "Der Teide ist 3715 Meter hoch.", "„", "Sprachmodell"),
        ("Où est né Braille ?", "Louis Braille est né à Coupvray.", "« ", "modèle de langage"),
        ("Где родился Гагарин?", "Гагарин родился в деревне Клушино.", "«", "Языковая модель"),
        ("富士山の高さは？", "富士山の高さは3776メートルです。", "「", "言語モデル"),
        ("Dov'è nata la pizza?", "La pizza è nata a Napoli, in Italia.", "“", NOTICE),
    ],
)  # fmt: skip
def test_marks_and_notice_are_those_of_the_question_s_language(
    question: str, passage: str, quoted: str, notice: str
) -> None:
    text = answer(question, source(1, passage))
    assert text.startswith(f"{quoted}{passage}")
    assert notice in text


def test_a_quotation_that_holds_such_marks_gets_the_inner_ones() -> None:
    passage = "«Don Quijote de la Mancha» es una novela de Miguel de Cervantes."
    text = answer("¿Quién escribió Don Quijote?", source(1, passage))
    assert text.startswith(f"“{passage}” [1]")


def test_there_is_one_notice_set_apart_at_the_end() -> None:
    text = answer(QUESTION, source(1, ICE))
    assert text.count(NOTICE) == 1
    assert text.strip().split("\n\n")[-1].startswith(f"> {NOTICE}")


def test_a_sentence_without_the_amount_that_was_asked_for_is_shown_as_coming_close() -> None:
    near = "Ceres lies between Mars and Jupiter and has no moons."
    text = answer("How many moons does Mars have?", source(1, near))
    assert text.startswith("No source answers this directly.")
    assert f"“{near}” [1]" in text


def test_a_follow_up_is_answered_for_the_subject_of_the_question_before() -> None:
    text = answer(
        "and when?",
        source(1, "Guido built the organ in 1650.", "Cristofori invented the piano about 1700."),
        before=[user("Who invented the piano?"), said("…")],
    )
    assert text.startswith("“Cristofori invented the piano about 1700.”")


def test_other_results_become_questions_to_go_on_with() -> None:
    text = answer(
        QUESTION,
        source(1, ICE),
        source(2, "The mountain is rather high.", title="Why water boils sooner on a mountain"),
        source(3, "The bread is well baked.", title="Sourdough bread"),
        source(4, "Skating is good fun.", title="Skating on ice - Wikipedia"),
    )
    questions = FOLLOWUPS.search(text)
    assert questions
    assert questions[1].splitlines() == [
        "What is there to know about “Skating on ice”?",
        "Can you explain why water boils sooner on a mountain?",
    ]


def test_without_other_results_there_are_no_such_questions() -> None:
    assert "followups" not in answer(QUESTION, source(1, ICE))


# --- When there is nothing -----------------------------------------------------------------------


def test_nothing_found_says_where_it_looked_why_and_what_to_do() -> None:
    messages = [user(QUESTION), *called("search_library", result())]
    passed_over = [{"provider": "DuckDuckGo", "reason": "it asks to wait [1] <b>now</b>."}]
    messages += called("web_search", result(passed_over=passed_over))
    text = text_of(step(messages))
    assert text.startswith("Nothing was found for this question. Searched: the library, the web.")
    assert "DuckDuckGo: it asks to wait" in text
    assert "library add" in text
    assert "[1]" not in text
    assert "<b>" not in text


def test_a_failed_tool_is_no_source_and_its_reason_is_told() -> None:
    error = Message(role="tool", text='{"error": "the search took too long"}')
    messages = [user(QUESTION), *called("search_library", error), *called("web_search", error)]
    assert "the search took too long" in text_of(step(messages))


# --- How it speaks -------------------------------------------------------------------------------


def test_the_limit_note_is_not_taken_for_the_question() -> None:
    messages = [user(QUESTION), *called("search_library", result(source(1, ICE)))]
    text = text_of(step([*messages, limit_note("8 steps")], ()))
    assert text.startswith(f"“{ICE}” [1]")


def test_without_tools_it_answers_from_what_is_there() -> None:
    messages = [user(QUESTION), *called("search_library", result(source(1, "Ice is cold stuff.")))]
    events = step(messages, ())
    assert events[-1].reason == "stop"
    assert text_of(events)


def test_an_answer_that_was_cut_goes_on_where_it_stopped() -> None:
    found = called("search_library", result(source(1, ICE)))
    whole = text_of(step([user(QUESTION), *found]))
    cut = text_of(step([user(QUESTION), *found], max_tokens=8))
    goes_on = [user(QUESTION), said(cut.strip()), user(wording("continue")), *found]
    rest = text_of(step(goes_on))
    assert whole.startswith(cut)
    assert cut.strip() + rest == whole


def test_it_stops_at_the_limit_on_its_length() -> None:
    events = step([user(QUESTION), *called("search_library", result(source(1, ICE)))], ALL, 8)
    assert events[-1].reason == "length"
    assert events[-1].usage.completion_tokens <= 8


def test_it_speaks_in_small_pieces() -> None:
    events = step([user(QUESTION), *called("search_library", result(source(1, ICE)))])
    pieces = [event.text for event in events if isinstance(event, TextDelta)]
    assert len(pieces) > 5
    assert max(map(len, pieces)) <= 100


# --- In the loop ---------------------------------------------------------------------------------


def found(query: str) -> list[SearchResult]:
    return [found_result("ice", text=ICE), found_result("rivers", text="Rivers carry water.")]


async def test_a_turn_with_it_is_complete_and_cites_the_library() -> None:
    toolbox = Toolbox(web=FakeSearcher(fails="no network"), library=FakeSearcher(found))
    events = await events_of(ExtractiveAnswerer(), question=QUESTION, toolbox=toolbox)
    assert answer_of(events).startswith(f"“{ICE}” [1]")
    assert NOTICE in answer_of(events)
    assert (events[-1].status, events[-1].n_steps) == ("complete", 2)


async def test_a_turn_that_finds_nothing_says_why() -> None:
    toolbox = Toolbox(web=FakeSearcher(fails="no network"), library=FakeSearcher(lambda query: []))
    events = await events_of(ExtractiveAnswerer(), question=QUESTION, toolbox=toolbox)
    assert "no network" in answer_of(events)
    assert events[-1].status == "complete"


async def test_at_the_limit_of_steps_it_answers_from_what_there_is() -> None:
    toolbox = Toolbox(web=FakeSearcher(found), library=FakeSearcher(lambda query: []))
    limits = Limits(max_steps=2)
    events = await events_of(
        ExtractiveAnswerer(), question=QUESTION, toolbox=toolbox, limits=limits
    )
    assert answer_of(events).startswith("Nothing was found for this question.")
    assert events[-1].status == "complete"
