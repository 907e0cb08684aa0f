"""What can go wrong in a turn, and who can do something about it.

AgentError
├── ToolError            the model can adapt: it becomes a tool result
│   ├── SearchFailed     one provider gave nothing usable
│   ├── PageRefused      an address that must not or cannot be read
│   ├── PageFailed       a page that did not come, or not in a readable form
│   └── MemoryRefused    a memory file or a change of one that cannot be taken
└── ModelError           the person or the operator can act: a plain sentence in the page
    ├── ModelUnavailable nobody answers at the address, or the server is in trouble
    ├── ModelRefused     the key, the model's name or the request was not accepted
    ├── ModelBusy        too many requests, or no credit left
    ├── ContextTooLong   the prompt is longer than the model can take
    └── ModelGarbled     the server answered something that is not a model's answer
"""

from __future__ import annotations


class AgentError(Exception):
    """The message is a plain sentence that can be shown as it is."""


class ToolError(AgentError):
    pass


class SearchFailed(ToolError):
    pass


class PageRefused(ToolError):
    pass


class PageFailed(ToolError):
    pass


class MemoryRefused(ToolError):
    pass


class ModelError(AgentError):
    pass


class ModelUnavailable(ModelError):
    pass


class ModelRefused(ModelError):
    pass


class ModelBusy(ModelError):
    pass


class ContextTooLong(ModelError):
    pass


class ModelGarbled(ModelError):
    pass
