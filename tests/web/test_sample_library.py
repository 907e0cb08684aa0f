"""The articles that are shipped: each can be read, dated and quoted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pytest

LIBRARY = Path(__file__).resolve().parents[2] / "library"
SPACELESS = {"ja"}


@dataclass(frozen=True, slots=True)
class Article:
    path: Path
    title: str
    language: str
    updated: date
    tags: tuple[str, ...]
    body: str


def read_article(path: Path) -> Article:
    _, front, body = path.read_text(encoding="utf-8").split("---\n", 2)
    meta = dict(line.split(": ", 1) for line in front.strip().splitlines())
    return Article(
        path=path,
        title=meta["title"],
        language=meta["language"],
        updated=date.fromisoformat(meta["updated"]),
        tags=tuple(meta["tags"].strip("[]").split(", ")),
        body=body.strip(),
    )


def read_articles() -> list[Article]:
    return [
        read_article(path) for path in sorted(LIBRARY.rglob("*.md")) if path.name != "README.md"
    ]


ARTICLES = read_articles()


def n_words(article: Article) -> int:
    """Words, or for a script without spaces the count of words of about two characters."""
    if article.language in SPACELESS:
        return len(re.findall(r"\w", article.body)) // 2
    return len(article.body.split())


@pytest.mark.parametrize("article", ARTICLES, ids=lambda a: f"{a.language}/{a.path.stem}")
def test_an_article_has_a_title_a_date_tags_and_the_language_of_its_folder(
    article: Article,
) -> None:
    assert article.title.strip()
    assert date(2000, 1, 1) < article.updated < date(2026, 1, 1)
    assert all(tag.strip() for tag in article.tags)
    assert article.language == article.path.parent.name


@pytest.mark.parametrize("article", ARTICLES, ids=lambda a: f"{a.language}/{a.path.stem}")
def test_an_article_is_short_and_opens_with_a_sentence_rather_than_a_heading(
    article: Article,
) -> None:
    assert 150 <= n_words(article) <= 400
    assert not article.body.startswith("#")


def test_there_are_about_forty_articles_in_six_languages() -> None:
    languages = [article.language for article in ARTICLES]
    assert len(ARTICLES) >= 40
    assert set(languages) == {"en", "es", "de", "fr", "ja", "ru"}
    assert languages.count("en") >= 24


def test_no_two_articles_of_a_language_share_a_title() -> None:
    titles = [(article.language, article.title) for article in ARTICLES]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize(
    ("language", "density", "densest", "expansion"),
    [
        ("en", "917 kg/m³", "densest near 4 °C", "9 % in volume"),
        ("es", "917 kg/m³", "mayor densidad cerca de los 4 °C", "un 9 %"),
    ],
)
def test_why_ice_floats_is_told_in_english_and_in_spanish(
    language: str, density: str, densest: str, expansion: str
) -> None:
    body = read_article(LIBRARY / language / "why-ice-floats.md").body
    assert density in body
    assert densest in body
    assert expansion in body


@pytest.mark.parametrize(
    ("older", "newer", "was", "became"),
    [
        ("en/moons-of-saturn-2019", "en/moons-of-saturn-2025", "82 known moons", "274 known moons"),
        ("en/kilogram-metal-cylinder", "en/kilogram-planck-constant", "cylinder", "Planck"),
        ("en/nine-planets", "en/pluto-dwarf-planet", "nine planets", "eight planets"),
        ("es/garantia-legal-2020", "es/garantia-legal-2022", "dos años", "tres años"),
    ],
)
def test_an_article_that_was_overtaken_is_older_than_the_one_that_replaces_it(
    older: str, newer: str, was: str, became: str
) -> None:
    before, after = read_article(LIBRARY / f"{older}.md"), read_article(LIBRARY / f"{newer}.md")
    assert before.updated < after.updated
    assert was in before.body
    assert became in after.body
