"""The forms in which models write citations: what each becomes, however its text arrives."""

import re
from dataclasses import dataclass

import pytest

from chat.rendering import AnswerStream, Append, Block, answer_html


@dataclass(frozen=True)
class Card:
    number: int
    title: str = "Ice"
    url: str = "https://en.wikipedia.org/wiki/Ice"
    domain: str = "en.wikipedia.org"


CARDS = [
    Card(1),
    Card(2, "Water", "https://www.asahi.co.jp/water", "asahi.co.jp"),
    Card(3, "Snow notes", "/library/3", "library"),
]
_CITATION = re.compile(r'<a class="citation" data-source="(\d+)" href="#source-\1".*?</a>')
_TAG = re.compile(r"</?(?:p|span)\b[^>]*>")


def shown(html):
    """The HTML with each citation as {n}, without paragraphs and spans."""
    return _TAG.sub("", _CITATION.sub(r"{\1}", html)).strip()


def streamed(pieces, cards=CARDS):
    """The page's blocks after the pieces, each once a character as text and once as HTML."""
    stream = AnswerStream(cards)
    fragments = [fragment for piece in pieces for fragment in stream.feed(piece)]
    fragments += stream.close()
    blocks = [fragment.html for fragment in fragments if isinstance(fragment, Block)]
    texts = [fragment.text for fragment in fragments if isinstance(fragment, Append)]
    assert "".join(texts) == "".join(pieces)
    return "".join(blocks)


CODE = '<div class="code" data-language="py"><pre><code>x = arr[1]\n</code></pre></div>'
PLAIN_CODE = '<div class="code"><pre><code>x = arr[1]\n</code></pre></div>'
CHECKED = (
    '<li class="task-list-item"><input class="task-list-item-checkbox" disabled="" '
    'type="checkbox" checked=""> '
)
UNCHECKED = CHECKED.replace(' checked=""', "")
MATHS_19 = (
    '<math display="inline" alttext="x_{[1]} + a[2]"><mrow><msub><mi>x</mi><mrow>'
    '<mo stretchy="false">[</mo><mn>1</mn><mo stretchy="false">]</mo></mrow></msub><mo>+</mo>'
    '<mi>a</mi><mo stretchy="false">[</mo><mn>2</mn><mo stretchy="false">]</mo></mrow></math>'
)
MATHS_20 = (
    '<math display="inline" alttext="a[1]"><mrow><mi>a</mi><mo stretchy="false">[</mo>'
    '<mn>1</mn><mo stretchy="false">]</mo></mrow></math>'
)
TABLE = (
    '<div class="table"><table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n'
    "<tr>\n<td>x{1}</td>\n<td>y {2}</td>\n</tr>\n</tbody>\n</table></div>"
)

FORMS = [
    ("Water floats[1][2].", "Water floats{1}{2}."),
    ("Water floats [1, 2].", "Water floats {1}{2}."),
    ("水[1、2]浮く。", "水{1}{2}浮く。"),
    ("See [1-3].", "See {1}{2}{3}."),
    ("冰【1】浮", "冰{1}浮"),
    ("Ice floats【1†source】.", "Ice floats{1}."),
    ("Ice floats【2:1†L3-L9】.", "Ice floats{2}."),
    ("Ice floats[^1].", "Ice floats{1}."),
    ("Ice [source 1] floats [Source: 2].", "Ice {1} floats {2}."),
    ("Ice floats [9].", "Ice floats."),
    ("arr first [0] item", "arr first [0] item"),
    ("Use `arr[1]` to read.", "Use <code>arr[1]</code> to read."),
    ("```py\nx = arr[1]\n```\n\nDone [1].", CODE + "\nDone {1}."),
    ("~~~py\nx = arr[1]\n~~~\n\nDone [1].", CODE + "\nDone {1}."),
    ("    x = arr[1]\n\nDone [1].", PLAIN_CODE + "\nDone {1}."),
    ("```py\nx = arr[1]", CODE.replace("\n", "")),
    ("[1](https://evil.example) says", "{1} says"),
    ("Text [1].\n\n[1]: https://evil.example", "Text {1}."),
    (r"\(x_{[1]} + a[2]\)", MATHS_19),
    ("$a[1]$ costs", MATHS_20 + " costs"),
    ("The act [2024] passed", "The act [2024] passed"),
    (
        "- [x] done\n- [ ] todo [1]",
        f'<ul class="contains-task-list">\n{CHECKED}done</li>\n{UNCHECKED}todo {{1}}</li>\n</ul>',
    ),
    ("| a | b |\n|---|---|\n| x[1] | y [2] |", TABLE),
    ("one[1]two", "one{1}two"),
    ("[ 1 ] claim", "{1} claim"),
    (r"literal \[1\] text", "literal [1] text"),
    ("claim [[1]].", "claim {1}."),
    ("https://x.example/a[1].html ok", "https://x.example/a[1].html ok"),
]
NUMBERED = [pytest.param(*form, id=str(number)) for number, form in enumerate(FORMS, 1)]


def test_there_are_28_forms():
    assert len(FORMS) == 28


@pytest.mark.parametrize(("text", "expected"), NUMBERED)
def test_the_form_becomes(text, expected):
    assert shown(answer_html(text, CARDS)) == expected


@pytest.mark.parametrize(("text", "expected"), NUMBERED)
def test_the_form_is_the_same_however_it_arrives(text, expected):
    whole = answer_html(text, CARDS)
    assert streamed([text]) == whole
    assert streamed(list(text)) == whole
    for cut in range(len(text) + 1):
        assert streamed([text[:cut], text[cut:]]) == whole


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[1]](https://evil.example) says", "{1} says"),
        ("[9](https://evil.example) says", "[9] says"),
        ("Ice floats [9](https://evil.example).", "Ice floats."),
        ("[2024](https://evil.example) was warm", "2024 was warm"),
        ("[1](https://asahi.co.jp.evil.example) says", "{1} says"),
        ("[1](http://www.asahi.co.jp/water/?utm_source=x#y) says", "{2} says"),
        ("[Ice](https://en.wikipedia.org/wiki/Ice) floats", "Ice{1} floats"),
        ("[Ice [1]](https://en.wikipedia.org/wiki/Ice) floats", "Ice {1} floats"),
        ("[Ice [2]](https://evil.example) floats", "Ice {2} floats"),
        ("<https://www.asahi.co.jp/water>", "https://www.asahi.co.jp/water{2}"),
        ("[notes](/library/3)", "notes{3}"),
        ("[1](see below)", "{1}(see below)"),
        ("[1] (https://x.example)", "{1} (https://x.example)"),
        ("[Ice][1] floats", "[Ice]{1} floats"),
        ("see https://x.example/Ice[1]. More", "see https://x.example/Ice{1}. More"),
        ("(https://x.example/a_(b)_c[1][2])", "(https://x.example/a_(b)_c{1}{2})"),
        ("![1](https://evil.example/p.png)", "1"),
        ("wow![1]", "wow!{1}"),
        ("**bold**[1] and *it [2]*", "<strong>bold</strong>{1} and <em>it {2}</em>"),
        ("Ice **floats** [9].", "Ice <strong>floats</strong>."),
        ("Ice floats **[9]**.", "Ice floats<strong></strong>."),
        ("Ice floats\n[9].", "Ice floats."),
        ("Ice floats\\\n[9] says", "Ice floats<br>\n[9] says"),
        ("Ice [1, 9] floats.", "Ice {1} floats."),
        ("[9] says", "[9] says"),
        ("[9][8] says", "[9][8] says"),
        ("Ice[1][9] and [9][1]", "Ice{1} and{1}"),
        ("- [9] says\n- Ice [9]", "<ul>\n<li>[9] says</li>\n<li>Ice</li>\n</ul>"),
        ("a [0, 1] interval, [1.5] and [x]", "a [0, 1] interval, [1.5] and [x]"),
        ("`[1]` ``[1] ` [2]`` [1]", "<code>[1]</code> <code>[1] ` [2]</code> {1}"),
        ("［１］ says", "{1} says"),
        ("&#91;1&#93; says", "[1] says"),
    ],
)
def test_neighbours_of_the_forms(text, expected):
    assert shown(answer_html(text, CARDS)) == expected
    assert streamed(list(text)) == answer_html(text, CARDS)


@pytest.mark.parametrize(
    "text", ["[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]", "[" + "7" * 50 + "]", "[1][2]", "[1] [2, 3]"]
)
def test_an_answer_that_is_only_numbers_is_shown_as_written_without_sources(text):
    assert shown(answer_html(text, [])) == text


def test_citations_do_not_depend_on_how_many_there_are():
    cards = [Card(number, url=f"https://x.example/{number}") for number in range(1, 100)]
    text = " ".join(f"Fact [{number}]." for number in range(1, 100))
    expected = " ".join(f"Fact {{{number}}}." for number in range(1, 100))
    assert shown(answer_html(text, cards)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A.\n\n[^1]: Ice – https://x.example/ice", "A."),
        ('A.\n[1]: https://x.example/ice\n[2]: <https://x.example/b> "B"', "A."),
        ("A.\n\n[1]: [Ice](https://x.example/ice).", "A."),
        ("> A.\n> [1]: https://x.example", "<blockquote>\nA.\n</blockquote>"),
        ("[1]: so it floats", "{1}: so it floats"),
        ("[1]: as https://x.example says, it floats", "{1}: as https://x.example says, it floats"),
        ("[ice]: https://x.example\n\n[ice] floats", "[ice]: https://x.example\n[ice] floats"),
    ],
)
def test_a_line_that_lists_a_source_is_dropped_and_prose_is_not(text, expected):
    assert shown(answer_html(text, CARDS)) == expected


@pytest.mark.parametrize(
    ("card", "label"),
    [
        (Card(1), "wikipedia"),
        (Card(1, url="https://news.bbc.co.uk/x", domain="news.bbc.co.uk"), "bbc"),
        (Card(1, url="https://www.asahi.co.jp", domain="asahi.co.jp"), "asahi"),
        (Card(1, url="http://127.0.0.1:8000/x", domain="127.0.0.1"), "127.0.0.1"),
        (Card(1, url="http://localhost/x", domain="localhost"), "localhost"),
        (Card(1, "My notes", "/library/1", "library"), "My notes"),
        (Card(1, "A title that is far longer than a badge", "/library/1", "library"),
         "A title that is far lon…"),
        (Card(1, "", "https://en.wikipedia.org/wiki/Ice", ""), "wikipedia"),
        (Card(1, "Ice", "", ""), "Ice"),
        (Card(1, "", "", ""), "source 1"),
        (Card(1, "Ice", "javascript:alert(1)", ""), "Ice"),
    ],
)  # fmt: skip
def test_a_badge_names_its_source(card, label):
    html = answer_html("Ice [1]", [card])
    assert f'<span class="citation-domain">{label}</span>' in html
    assert "undefined" not in html


def test_a_badge_leads_to_its_card_and_says_its_title():
    html = answer_html("Ice [1]", [Card(1, 'Ice & "Snow"')], prefix="m12-")
    assert 'href="#m12-source-1"' in html
    assert 'aria-label="Source 1: Ice &amp; &quot;Snow&quot;"' in html
