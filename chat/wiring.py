"""Picks implementations from the settings and builds what a run needs. With `chat.services`, its
other half, the only reader of agent settings: everything else receives values."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from asgiref.sync import async_to_sync

from chat import store
from chat.accounts import stored
from chat.agent.checking import Checking
from chat.agent.limits import Limits
from chat.agent.loop import Means, Turn
from chat.agent.ports import ChatModel
from chat.agent.prompts import system_text
from chat.agent.values import Remembered, Source
from chat.clock import ZoneClock, known_zone
from chat.database import in_database
from chat.metrics import Access
from chat.models import Run
from chat.providers.models.extractive import ExtractiveAnswerer
from chat.recall import ConversationRecall, WindowRule
from chat.remembering import Notes, notes_at_start
from chat.services import CONTEXT_TOKENS, Services, services
from chat.session import session_text
from chat.summarising import ModelSummariser
from chat.support import RenderedCitations, WordChecker
from memory.service import SummaryLimits, count_tokens, without_secrets

if TYPE_CHECKING:
    pass

settings = stored.Configured()

HISTORY_SHARE = 0.5
MEMORY_SHARE = 0.125
SUMMARY_SHARE, SUMMARY_CHUNK_TOKENS, SUMMARY_ANSWER_TOKENS = 0.5, 6_000, 2_048

EXAMPLES = (
    "Why does ice float?",
    "¿Por qué flota el hielo?",
    "How many moons does Saturn have?",
    "Warum werden Blätter im Herbst bunt?",
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run, ready to go: what is asked, and with what."""

    turn: Turn
    means: Means
    recall: ConversationRecall

    def receipt(self) -> Mapping[str, Any]:
        return self.recall.receipt


async def prepare_run(run: Run) -> Prepared:
    services().catch_up(await in_database(stored.refresh)())
    answer = ""
    sources: Sequence[Source] = ()
    if run.continues:
        answer, sources = await in_database(store.cut_answer)(run)
    clock = ZoneClock(known_zone(run.time_zone, run.owner.time_zone, settings.TIME_ZONE))
    model = await services().model()
    context = services().context_tokens
    notes = await in_database(_notes)(run, context)
    session = await in_database(session_text)(run.conversation)
    beside = {"files": list(notes.shown), "session_tokens": count_tokens(session)}
    recall = ConversationRecall(run, window_rule(), clock.now(), beside=beside)
    turn = Turn(
        question=run.question.text,
        history_budget_tokens=_history_budget(run.question.text, context),
        answer=answer,
        sources=sources,
        remembered=_remembered(notes, context),
        session=session,
    )
    means = Means(
        model=model,
        toolbox=services().toolbox(run),
        recall=recall,
        clock=clock,
        limits=Limits(
            max_steps=settings.LUMINA_MAX_STEPS,
            max_tokens=settings.LUMINA_MAX_TOKENS,
            max_seconds=settings.LUMINA_MAX_SECONDS,
            answer_tokens=settings.LUMINA_ANSWER_TOKENS,
        ),
        count_tokens=count_tokens,
        checking=_checking(model) if settings.LUMINA_CHECK_ANSWERS else None,
    )
    return Prepared(turn, means, recall)


def _checking(model: ChatModel) -> Checking:
    """What only quotes cannot put a sentence in other words: its answers are checked alone."""
    return Checking(
        reader=RenderedCitations(),
        checker=WordChecker(),
        screen=without_secrets,
        repairs=not isinstance(model, ExtractiveAnswerer),
    )


def _notes(run: Run, context_tokens: int) -> Notes:
    room = int(MEMORY_SHARE * context_tokens)
    return notes_at_start(run, min(settings.LUMINA_MEMORY_FILES_TOKENS, room))


def _remembered(notes: Notes, context_tokens: int) -> Remembered:
    return Remembered(
        start=notes.start,
        skills=notes.skills,
        window_messages=settings.LUMINA_WINDOW_MESSAGES,
        window_tokens=int(settings.LUMINA_WINDOW_SHARE * _history_budget("", context_tokens)),
    )


def system_now(history_tokens: int) -> str:
    """The system text as it reads now beside a history of so many tokens, without memory files."""
    share = settings.LUMINA_WINDOW_SHARE
    window_messages = settings.LUMINA_WINDOW_MESSAGES
    return system_text(
        Remembered(window_messages=window_messages, window_tokens=int(share * history_tokens))
    )


def window_rule() -> WindowRule:
    return WindowRule(newest=settings.LUMINA_WINDOW_MESSAGES, share=settings.LUMINA_WINDOW_SHARE)


def _history_budget(question: str, context_tokens: int) -> int:
    """History gets its own limit, or half of what the model can take beside the question."""
    room = int(HISTORY_SHARE * context_tokens) - count_tokens(question)
    return max(0, min(settings.LUMINA_HISTORY_TOKENS, room))


# --- Summaries ----------------------------------------------------------------------------------


def summary_limits() -> SummaryLimits:
    """A model gets no more to read at a time than half of what it can take, and may write a
    quarter: more than a summary needs, as it may think first."""
    context = settings.LUMINA_MODEL_CONTEXT_TOKENS or CONTEXT_TOKENS
    most = int(SUMMARY_SHARE * context)
    return SummaryLimits(
        spans=settings.LUMINA_SUMMARY_SPANS,
        tokens=settings.LUMINA_SUMMARY_TOKENS,
        chunk_tokens=min(SUMMARY_CHUNK_TOKENS, most),
        answer_tokens=min(SUMMARY_ANSWER_TOKENS, most // 2),
        seconds=settings.LUMINA_SUMMARY_SECONDS,
    )


def summariser() -> ModelSummariser | None:
    """The model that also answers; None where that is the built-in answerer, which only quotes."""
    model, _ = async_to_sync(_model_apart)()
    if isinstance(model, ExtractiveAnswerer):
        return None
    return ModelSummariser(model.name, settings.LUMINA_SUMMARY_SECONDS, _model_apart)


async def _model_apart() -> tuple[ChatModel, Callable[[], Awaitable[None]]]:
    """The model with connections of its own, and what closes them: background work has an event
    loop for one call only."""
    own = Services()
    return await own.model(), own.close


# --- What the pages ask -------------------------------------------------------------------------


def examples() -> Sequence[str]:
    """Questions that the sample library answers without a network."""
    return EXAMPLES


def question_max_chars() -> int:
    return settings.LUMINA_QUESTION_MAX_CHARS


async def _model_name() -> str:
    return (await services().model()).name


def model_label() -> str:
    """What the box under the question says of the model."""
    if settings.LUMINA_MODEL_URL:
        return settings.LUMINA_MODEL or "Model"
    return async_to_sync(_model_name)()


# --- What operators ask -------------------------------------------------------------------------


def metrics_access() -> Access:
    return Access(settings.LUMINA_METRICS, settings.LUMINA_METRICS_TOKEN)


# --- What the self-check asks -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModelSetup:
    """The configured model; without an address, whether one is looked for on this machine."""

    base_url: str
    model: str
    looks_for_one: bool


def model_setup() -> ModelSetup:
    return ModelSetup(
        settings.LUMINA_MODEL_URL, settings.LUMINA_MODEL, settings.LUMINA_MODEL_DISCOVERY
    )


def search_names() -> Sequence[str]:
    """The engines that are tried, in order; none where the web is off."""
    return settings.LUMINA_SEARCH_PROVIDERS if settings.LUMINA_WEB else ()


def bind_address() -> str:
    return settings.LUMINA_BIND


def secrets_in_use() -> list[str]:
    """What must be in no text that is shown: keys, and passwords inside of addresses."""
    addresses = [
        settings.REDIS_URL,
        settings.LUMINA_MODEL_URL,
        settings.LUMINA_SEARXNG_URL,
        settings.LUMINA_TAVILY_URL,
        settings.LUMINA_BRAVE_URL,
    ]
    return [
        settings.SECRET_KEY,
        settings.LUMINA_MODEL_KEY,
        settings.LUMINA_TAVILY_KEY,
        settings.LUMINA_BRAVE_KEY,
        settings.LUMINA_METRICS_TOKEN,
        settings.EMAIL_HOST_PASSWORD,
        str(settings.DATABASES["default"].get("PASSWORD") or ""),
        *(urlsplit(address).password or "" for address in addresses),
    ]
