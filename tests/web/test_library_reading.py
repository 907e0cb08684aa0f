"""Files to texts, texts to passages, passages to terms: the library without its database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.library.language import language_of
from chat.library.passages import MAX_WORDS, passages
from chat.library.reader import MAX_BYTES, Unreadable, list_files, read_bytes, read_document
from chat.library.terms import n_words, query_terms, terms

ARTICLE = """---
title: "Why ice floats: an answer"
language: en-GB
updated: 2025-01-14
tags: [physics, "sea water"]
aliases:
  - frozen: yes
---

Ice *floats* because it is [less dense](https://example.com/x) than `water`.
It melts.

## Lakes ##

- Fish live below.
- They do not freeze.

| place | °C |
|---|---|
| top | 0 |

```sh
# not a heading
```
"""


class TestReading:
    def test_markdown_is_read_as_words_with_its_front_matter(self) -> None:
        found = read_document("ice.md", ARTICLE.encode())
        assert (found.title, found.language) == ("Why ice floats: an answer", "en")
        assert (found.updated_on, found.tags) == (date(2025, 1, 14), ("physics", "sea water"))
        assert found.text.split("\n\n") == [
            "Ice floats because it is less dense than water. It melts.",
            "## Lakes",
            "- Fish live below.",
            "- They do not freeze.",
            "place | °C",
            "top | 0",
            "    # not a heading",
        ]

    @pytest.mark.parametrize(
        ("text", "title"),
        [
            ("# On *ice*\n\nIce floats.", "On ice"),
            ("Intro.\n\nOn ice\n======\n\nIce floats.", "On ice"),
            ("## Only second\n\nIce floats.", "my ice notes"),
            ("---\ntitle:\n---\nIce floats.", "my ice notes"),
            ("---\ntitle: 'Ice'\nno end of it\n\nIce floats.", "my ice notes"),
        ],
    )
    def test_a_title_is_declared_or_a_heading_or_the_name(self, text: str, title: str) -> None:
        assert read_document("my-ice_notes.md", text.encode()).title == title

    @pytest.mark.parametrize("value", ["soon", "2025-13-01", "", "2025"])
    def test_a_date_that_is_none_is_no_date(self, value: str) -> None:
        text = f"---\nupdated: {value}\n---\nIce floats."
        assert read_document("a.md", text.encode()).updated_on is None

    def test_html_is_read_without_its_menus(self) -> None:
        why = (
            "El hielo flota porque es menos denso que el agua líquida, y por eso queda encima. " * 3
        )
        then = "Por eso los lagos se hielan desde arriba y los peces viven debajo del hielo. " * 3
        html = (
            "<html lang=es><head><title>Hielo</title></head><body><nav>Inicio</nav>"
            f"<article><p>{why}</p><p>{then}</p></article></body></html>"
        )
        found = read_document("x.html", html.encode())
        assert (found.title, found.language) == ("Hielo", "es")
        assert found.text.split("\n\n") == [why.strip(), then.strip()]

    def test_plain_text_stays_as_it_is(self) -> None:
        text = "Ice *floats*.\n\n  indented _line_"
        assert read_document("a.txt", text.encode()).text == text

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
    def test_the_charset_is_found_out(self, encoding: str) -> None:
        text = "El año pasado heló más que nunca; la señora contó qué había visto en la montaña."
        assert read_document("a.txt", text.encode(encoding)).text == text

    @pytest.mark.parametrize(
        ("name", "body", "reason"),
        [
            ("a.txt", b"\x89PNG\x00\x00\x01", "is not text"),
            ("a.txt", b" \n ", "holds no text"),
            ("a.md", b"---\ntitle: x\n---\n", "holds no text"),
            ("a.html", b"", "holds no text"),
            ("a.html", b"<html", "holds no text"),
            ("a.html", b"<html><script>x</script></html>", "holds no text"),
        ],
    )
    def test_what_cannot_be_read_says_why(self, name: str, body: bytes, reason: str) -> None:
        with pytest.raises(Unreadable, match=reason):
            read_document(name, body)

    @given(st.sampled_from(["a.md", "a.txt", "a.html"]), st.binary(max_size=200))
    def test_any_bytes_are_read_or_refused(self, name: str, body: bytes) -> None:
        try:
            found = read_document(name, body)
        except Unreadable:
            return
        assert found.title
        assert "\x00" not in found.text
        found.text.encode()

    @pytest.mark.parametrize(
        ("text", "language"),
        [
            ("The water of a lake is warmest at the top.", "en"),
            ("El agua del lago está más caliente arriba.", "es"),
            ("Das Wasser ist an der Oberfläche am wärmsten.", "de"),
            ("富士山は日本で一番高い山です。", "ja"),
            ("Озеро Байкал самое глубокое в мире.", "ru"),
            ("Mount Everest", "en"),
            ("1234 !?", "en"),
            ("", "en"),
        ],
    )
    def test_the_language_is_told_from_script_and_small_words(
        self, text: str, language: str
    ) -> None:
        assert language_of(text) == language


class TestListing:
    def make(self, root: Path, *names: str) -> None:
        for name in names:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text("Ice floats.")

    def test_documents_are_found_at_any_depth_and_hidden_ones_are_not(self, tmp_path: Path) -> None:
        self.make(tmp_path, "a.md", "b/c.TXT", "b/d/e.html", "f.pdf", ".g.md", ".git/h.md")
        assert sorted(list_files(tmp_path).files) == ["a.md", "b/c.TXT", "b/d/e.html"]

    def test_the_readme_of_the_sample_is_no_document(self, tmp_path: Path) -> None:
        self.make(tmp_path, "README.md", "a.md")
        assert list(list_files(tmp_path, with_readme=False).files) == ["a.md"]
        assert list(list_files(tmp_path).files) == ["README.md", "a.md"]

    def test_a_link_out_of_the_folder_is_refused_and_one_inside_is_not(
        self, tmp_path: Path
    ) -> None:
        self.make(tmp_path, "secret.md", "root/a.md")
        root = tmp_path / "root"
        (root / "out.md").symlink_to(tmp_path / "secret.md")
        (root / "in.md").symlink_to(root / "a.md")
        (root / "folder").symlink_to(tmp_path)
        found = list_files(root)
        assert sorted(found.files) == ["a.md", "in.md"]
        assert found.skipped == {"out.md": "is a link to outside the folder"}

    def test_a_name_that_cannot_be_stored_is_skipped(self, tmp_path: Path) -> None:
        try:
            Path(str(tmp_path), "a\udcff.md").write_text("Ice floats.")
        except OSError:
            pytest.skip("this disk takes no such names")
        assert list(list_files(tmp_path).skipped.values()) == ["has a name that cannot be stored"]

    def test_files_that_cannot_be_read_say_why(self, tmp_path: Path) -> None:
        large = tmp_path / "large.txt"
        large.write_bytes(b"a" * (MAX_BYTES + 1))
        dangling = tmp_path / "dangling.md"
        dangling.symlink_to(tmp_path / "nowhere.md")
        for path, reason in ((large, "larger than 2 MB"), (dangling, "is not a file")):
            with pytest.raises(Unreadable, match=reason):
                read_bytes(path)


class TestPassages:
    def shown(self, text: str) -> list[tuple[str, str]]:
        return [(piece.heading, text[piece.start : piece.end]) for piece in passages(text)]

    def test_paragraphs_are_put_together_under_their_heading(self) -> None:
        text = "# T\n\nOne.\n\nTwo.\n## S ##\nThree\nfour.\n\n## S\n\n#tag stays"
        assert self.shown(text) == [
            ("T", "One.\n\nTwo."),
            ("S", "Three\nfour."),
            ("S", "#tag stays"),
        ]

    def test_a_passage_ends_where_it_would_become_too_long(self) -> None:
        text = "\n\n".join([" ".join(["word"] * 70)] * 5)
        assert [n_words(text[piece.start : piece.end]) for piece in passages(text)] == [
            140,
            140,
            70,
        ]

    def test_a_long_paragraph_is_cut_between_sentences(self) -> None:
        text = " ".join(f"Sentence {n} has six words here." for n in range(60))
        found = [text[piece.start : piece.end] for piece in passages(text)]
        assert len(found) > 2
        assert all(part.startswith("Sentence") and part.endswith("here.") for part in found)
        assert " ".join(found) == text

    def test_a_long_japanese_paragraph_is_cut_between_sentences(self) -> None:
        text = "富士山は日本で一番高い山です。" * 60
        found = [text[piece.start : piece.end] for piece in passages(text)]
        assert len(found) > 2
        assert all(part.endswith("。") for part in found)
        assert "".join(found) == text

    @given(st.text("aB .。\n#-漢", max_size=400).map(lambda text: text * 8))
    def test_passages_hold_every_word_once_and_are_short(self, text: str) -> None:
        found = passages(text)
        position = 0
        between = ""
        for piece in found:
            assert position <= piece.start < piece.end
            shown = text[piece.start : piece.end]
            assert shown == shown.strip()
            # The longest sentence: 400 characters, every other one a word.
            assert n_words(shown) <= max(MAX_WORDS, 200)
            between += text[position : piece.start]
            position = piece.end
        between += text[position:]
        lost = [line for line in between.splitlines() if line.strip()]
        assert all(line.startswith("#") for line in lost)

    def test_a_very_long_line_without_spaces_is_cut_too(self) -> None:
        text = "a" * 100_000
        assert "".join(text[p.start : p.end] for p in passages(text)) == text
        assert max(p.end - p.start for p in passages(text)) <= 1_600


class TestTerms:
    @pytest.mark.parametrize(
        ("one", "other", "language"),
        [
            ("floating", "Floats", "en"),
            ("flotaban", "flotó", "es"),
            ("CANCIÓN", "cancion", "es"),
            ("Straße", "STRASSE", "de"),
            ("naïve", "naive", "pl"),
            ("ｆｕｌｌ", "full", "en"),
            ("плавают", "плавает", "ru"),
            ("ё", "е", "ru"),
        ],
    )
    def test_forms_of_a_word_are_one_term(self, one: str, other: str, language: str) -> None:
        assert terms(one, language) == terms(other, language) != []

    def test_words_of_other_scripts_stay_whole(self) -> None:
        assert terms("ガラス", "xx") == ["ガラ", "ラス"]
        assert len(terms("पानी में तैरती", "xx")) == 3
        assert terms("Ελλάδα 2024 b52", "xx") == ["ελλαδα", "2024", "b52"]

    def test_text_without_spaces_becomes_pairs_and_single_characters(self) -> None:
        assert terms("氷は浮く", "ja") == ["氷は", "は浮", "浮く", "氷", "浮"]
        assert set(query_terms("氷", ["en", "ja"])) <= set(terms("氷は浮く", "ja"))

    def test_a_question_has_the_forms_of_every_language_once(self) -> None:
        assert query_terms("why floats float", ["en", "ja"]) == ["whi", "why", "float", "floats"]

    @given(st.text(max_size=100), st.sampled_from(["en", "es", "ru", "ja", "tr", "xx"]))
    def test_a_text_asked_as_a_question_has_the_same_terms(self, text: str, language: str) -> None:
        assert set(query_terms(text, [language])) == set(terms(text, language))

    def test_threads_do_not_mix_their_words(self) -> None:
        words = [f"float{n}ing floats{n} swimming{n}" for n in range(300)]
        alone = [terms(text, "en") for text in words]
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(lambda text: terms(text, "en"), words)) == alone
