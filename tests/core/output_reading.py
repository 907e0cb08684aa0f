"""Reading a model's text through the filter, and putting together what comes out."""

from dataclasses import dataclass, field

from chat.agent.output import (
    CallInText,
    Followups,
    OutputEvent,
    OutputFilter,
    Retracted,
    Thought,
    Visible,
)

TOOLS = frozenset({"web_search", "read_page"})
CALL = '{"name": "web_search", "arguments": {"query": "ice"}}'
CALLED = [("web_search", '{"query": "ice"}')]


@dataclass
class Result:
    visible: str = ""
    thoughts: str = ""
    questions: tuple[str, ...] = ()
    calls: list[tuple[str, str]] = field(default_factory=list)
    n_retracted: int = 0

    def take(self, events: list[OutputEvent]) -> None:
        for event in events:
            match event:
                case Visible(text):
                    self.visible += text
                case Retracted():
                    self.visible = ""
                    self.n_retracted += 1
                case Thought(text):
                    self.thoughts += text
                case Followups(questions):
                    self.questions = questions
                case CallInText(call):
                    self.calls.append((call.name, call.arguments))


def read(*deltas: str, finish="stop", tools=TOOLS) -> Result:
    output, result = OutputFilter(tools), Result()
    for delta in deltas:
        result.take(output.feed(delta))
    result.take(output.close(finish))
    return result


def shown_before_the_end(text: str, tools=TOOLS) -> str:
    """What is visible while more may come."""
    result = Result()
    result.take(OutputFilter(tools).feed(text))
    return result.visible
