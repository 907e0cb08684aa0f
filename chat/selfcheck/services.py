"""The services that answers rest on: the model, the search engines, the library."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from chat.agent.errors import ModelError, SearchFailed
from chat.agent.ports import SearchProvider
from chat.agent.values import Message
from chat.library_models import LibraryDocument, LibraryFolder
from chat.providers.models.discovery import Tried, look_for_models
from chat.selfcheck.findings import Finding, failure, ok, warning
from chat.services import remote_model, services
from chat.wiring import ModelSetup, model_setup

if TYPE_CHECKING:
    from chat.providers.models.openai_compatible import OpenAICompatibleModel

QUERY = "water"
ADD_A_MODEL = (
    "Start Ollama, llama.cpp, LM Studio or vLLM on this machine, or set LUMINA_MODEL_URL and "
    "LUMINA_MODEL."
)
MODEL_FIX = "Start the model's server, or correct LUMINA_MODEL_URL, LUMINA_MODEL, LUMINA_MODEL_KEY."
# What switches a provider on. The others need nothing.
SWITCHES = {
    "searxng": "the address LUMINA_SEARXNG_URL",
    "tavily": "the key LUMINA_TAVILY_KEY",
    "brave": "the key LUMINA_BRAVE_KEY",
}
TITLES = {
    "searxng": "SearXNG",
    "tavily": "Tavily",
    "brave": "Brave Search",
    "keyless": "Keyless search",
    "wikipedia": "Wikipedia",
}


async def model() -> Finding:
    setup = model_setup()
    if setup.base_url:
        return await _remote_model(remote_model(setup.base_url, setup.model))
    return await _model_nearby(setup)


async def _model_nearby(setup: ModelSetup) -> Finding:
    quotes = "The built-in answerer quotes what the search finds"
    if not setup.looks_for_one:
        return warning(f"{quotes}: no model is set, and none is looked for.", ADD_A_MODEL)
    discovery = await look_for_models()
    if discovery.found is None:
        return warning(f"{quotes}: no model was found. {_told(discovery.tried)}", ADD_A_MODEL)
    found = discovery.found
    return await _remote_model(
        remote_model(found.base_url, found.model), f" It was found at {found.base_url}."
    )


def _told(tried: Sequence[Tried]) -> str:
    """Every address that was asked, under the reason why it is no use."""
    addresses: dict[str, list[str]] = {}
    for one in tried:
        addresses.setdefault(one.reason, []).append(f"{one.server} at {one.url}")
    return " ".join(f"Asked {', '.join(urls)}: {reason}." for reason, urls in addresses.items())


async def _remote_model(model: OpenAICompatibleModel, found: str = "") -> Finding:
    try:
        offered = await model.offered()
        if offered and model.name not in offered:
            names = ", ".join(offered[:8])
            return failure(
                f"The server has no model named {model.name}.{found}",
                f"Set LUMINA_MODEL to one that it lists: {names}.",
            )
        seconds = await _first_word(model)
    except ModelError as error:
        return failure(f"{error}{found}", MODEL_FIX)
    finally:
        await model.aclose()
    return ok(f"{model.name} answers, beginning after {seconds:.1f} seconds.{found}")


async def _first_word(model: OpenAICompatibleModel) -> float:
    began = time.monotonic()
    asked = [Message(role="user", text="Say: yes")]
    async with aclosing(model.stream(asked, (), max_tokens=1)) as events:
        async for _ in events:
            break
    return time.monotonic() - began


def search_engine(name: str) -> SearchProvider | None:
    return services().provider(name)


async def search(name: str) -> Finding:
    """One real query. An engine that the operator set up must answer; a free one should."""
    provider = search_engine(name)
    if provider is None:
        switch = SWITCHES.get(name, "the address LUMINA_WIKIPEDIA_URL")
        return ok("Not set up, so it is left out.", f"To use it, set {switch}.")
    level = failure if name in SWITCHES else warning
    fix = f"Check {SWITCHES[name]}." if name in SWITCHES else _leave_out(name)
    try:
        began = time.monotonic()
        found = await provider.search(QUERY, limit=3)
    except SearchFailed as error:
        return level(str(error), fix)
    if not found:
        return level("It answers, but finds nothing.", fix)
    return ok(f"{_counted(len(found), 'result')} in {time.monotonic() - began:.1f} seconds.")


def _leave_out(name: str) -> str:
    return (
        f"Check this machine's way to the internet; or leave {name} out of "
        "LUMINA_SEARCH_PROVIDERS, or set LUMINA_WEB=off."
    )


def library() -> Finding:
    folders = list(LibraryFolder.objects.all())
    n_documents = LibraryDocument.objects.count()
    missing = [folder.path for folder in folders if not Path(folder.path).is_dir()]
    if missing:
        fix = "Bring it back, or take it out: python manage.py library remove PATH"
        return warning(f"The library's folder {missing[0]} is not there.", fix)
    if not n_documents:
        return warning("The library is empty.", "python manage.py library add PATH")
    return ok(f"{_counted(n_documents, 'document')} in {_counted(len(folders), 'folder')}.")


def _counted(n: int, word: str) -> str:
    return f"{n} {word}{'' if n == 1 else 's'}"
