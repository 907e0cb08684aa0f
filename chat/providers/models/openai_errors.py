"""The failures of OpenAI-compatible servers, told apart and put in words that a person can act on.

Servers agree on little here: the same fault comes with other codes and in other shapes, so a
fault is read from its status, its code and its words together.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import openai

from chat.agent.errors import (
    ContextTooLong,
    ModelBusy,
    ModelError,
    ModelGarbled,
    ModelRefused,
    ModelUnavailable,
)

MESSAGE_MAX_CHARS = 300

_TOO_LONG = re.compile(
    r"context[ _](length|window|size)|exceed_context|maximum (prompt|sequence|input) length"
    r"|max_model_len|prompt is too long|too many (input )?tokens|input token count"
    r"|(inputs?|prompt)\b.{0,80}\btokens?\b.{0,40}(exceed|must be <=|too (long|large))"
    r"|tokens? to keep|reduce the length|context the overflows"
)
_NO_CREDIT = re.compile(r"insufficient_quota|insufficient[ _](credit|balance|fund)|credit|billing")
_BUSY = re.compile(r"rate[ _-]?limit|too many requests|overloaded")
_UNKNOWN_MODEL = re.compile(r"model_not_found|model\b.{0,120}(not found|not exist|unknown|invalid)")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a model is asked. `url` is as it may be shown: without a name and a password."""

    url: str
    model: str
    has_key: bool
    secrets: tuple[str, ...] = ()

    @classmethod
    def of(cls, base_url: str, model: str, api_key: str) -> Address:
        parts = urlsplit(base_url)
        shown = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="")
        secrets = tuple(secret for secret in (api_key, parts.password) if secret)
        return cls(shown.geturl(), model, bool(api_key), secrets)

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or self.url


@dataclass(frozen=True, slots=True)
class Fault:
    """What a server said was wrong: `status` 0 if it gave none; `words` are for matching."""

    status: int
    message: str
    words: str

    @classmethod
    def of(cls, error: openai.APIError) -> Fault:
        return cls.read(error.body, getattr(error, "status_code", 0))

    @classmethod
    def read(cls, body: object, status: int = 0) -> Fault:
        message = _message(body)
        code = _field(body, "code")
        if not status and str(code).isdecimal():
            status = int(str(code))
        words = " ".join(str(part) for part in (code, _field(body, "type"), message) if part)
        return cls(status, message, words.lower())

    @property
    def is_too_long(self) -> bool:
        return self.status == 413 or bool(
            self.status in {0, 400, 422, 500} and _TOO_LONG.search(self.words)
        )

    @property
    def is_unknown_model(self) -> bool:
        return self.status in {400, 404} and bool(_UNKNOWN_MODEL.search(self.words))


def _field(body: object, name: str) -> Any:
    return body.get(name) if isinstance(body, dict) else None


def _message(body: object) -> str:
    """The sentence in an error body, whatever its shape; none for a page of HTML."""
    if isinstance(body, str):
        return "" if body.lstrip().startswith("<") else " ".join(body.split())
    if isinstance(body, list) and body:
        return _message(body[0])
    if isinstance(body, dict):
        if "msg" in body:
            place = ".".join(str(part) for part in body.get("loc", ()))
            return f"{place}: {body['msg']}"
        return next(
            (_message(body[key]) for key in ("message", "error", "detail") if key in body), ""
        )
    return ""


# --- Answers that are no success ----------------------------------------------------------------


def from_fault(fault: Fault, address: Address, offered: Sequence[str] | None = None) -> ModelError:
    """`offered` are the models that the server lists, or None when it lists none."""
    url, status = address.url, fault.status
    says = _says(fault, address)
    if fault.is_too_long:
        return ContextTooLong(f"The question with its history is too long for the model.{says}")
    if status == 402 or (status in {0, 403, 429} and _NO_CREDIT.search(fault.words)):
        return ModelBusy(f"The account at {url} has no credit left.{says}")
    if status == 429 or (status == 0 and _BUSY.search(fault.words)):
        return ModelBusy(f"The model server at {url} takes no more requests now. Try later.{says}")
    if status in {401, 403}:
        return ModelRefused(_about_the_key(fault, address))
    if fault.is_unknown_model or status in {404, 405}:
        return ModelRefused(_about_the_name(fault, address, offered))
    if 400 <= status < 500:
        return ModelRefused(f"The model server at {url} did not accept the request.{says}")
    number = f" (status {status})" if status else ""
    return ModelUnavailable(f"The model server at {url} is in trouble{number}.{says}")


def _says(fault: Fault, address: Address) -> str:
    text = fault.message
    for secret in address.secrets:
        text = text.replace(secret, "…")
    if len(text) > MESSAGE_MAX_CHARS:
        text = text[:MESSAGE_MAX_CHARS] + "…"
    return f" It says: {text}" if text else ""


def _about_the_key(fault: Fault, address: Address) -> str:
    if not address.has_key:
        return f"The model server at {address.url} asks for a key. Set LUMINA_MODEL_KEY."
    if fault.status == 403:
        return f"The key is not allowed to use {address.model!r}.{_says(fault, address)}"
    return f"The model server at {address.url} does not accept the key. Check LUMINA_MODEL_KEY."


def _about_the_name(fault: Fault, address: Address, offered: Sequence[str] | None) -> str:
    if offered is None and not fault.is_unknown_model:
        return (
            f"There is no chat endpoint at {address.url}. "
            "Check LUMINA_MODEL_URL: such an address usually ends in /v1."
        )
    if offered and address.model in offered:
        return (
            f"The model server at {address.url} cannot use {address.model}.{_says(fault, address)}"
        )
    sentence = f"The model server at {address.url} does not know the model {address.model!r}."
    if not offered:
        return f"{sentence} Check LUMINA_MODEL."
    more = f" and {len(offered) - 10} more" if len(offered) > 10 else ""
    return f"{sentence} It offers {', '.join(offered[:10])}{more}. Set LUMINA_MODEL to one of them."


# --- No answer at all ---------------------------------------------------------------------------


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what led to it, the outermost first."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


def is_broken_connection(error: BaseException) -> bool:
    """Refused or dropped, by the peer: worth one more try when nothing has come yet."""
    return any(
        isinstance(cause, ConnectionError) or "Server disconnected" in str(cause)
        for cause in causes(error)
    )


def from_connection(
    error: openai.APIConnectionError, address: Address, *, began: bool, timeout_seconds: float
) -> ModelError:
    url, found = address.url, list(causes(error))
    names = {type(cause).__name__ for cause in found}
    if "DecodingError" in names:
        return ModelGarbled(f"The answer of the model server at {url} cannot be unpacked.")
    if any(isinstance(cause, socket.gaierror) for cause in found):
        return ModelUnavailable(
            f"No address is known for {address.host}, the model server's name. "
            "Check LUMINA_MODEL_URL and the network."
        )
    if any(isinstance(cause, ssl.SSLError) for cause in found):
        reason = next(str(cause) for cause in found if isinstance(cause, ssl.SSLError))
        return ModelUnavailable(f"No secure connection to the model server at {url}: {reason}")
    if names & {"ConnectTimeout", "ConnectError", "PoolTimeout"}:
        return ModelUnavailable(
            f"No model server answers at {url}. Start it, or set LUMINA_MODEL_URL to where it runs."
        )
    if isinstance(error, openai.APITimeoutError):
        return ModelUnavailable(
            f"The model server at {url} said nothing for {timeout_seconds:g} seconds. It may be "
            "loading the model or be overloaded: try again, or raise LUMINA_MODEL_TIMEOUT_SECONDS."
        )
    moment = "in the middle of the answer" if began else "before it answered"
    return ModelUnavailable(
        f"The model server at {url} dropped the connection {moment}. Try again."
    )
