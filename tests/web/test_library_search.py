"""Questions over the library: the right article first, in its language, and nobody else's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from chat.library import ensure_sample_library
from chat.library.index import scan_folder
from chat.library.search import LibrarySearch
from chat.library_models import LibraryDocument, LibraryFolder, LibraryPassage
from chat.providers.search.library import LibraryProvider

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> Any:
    return get_user_model().objects.create_user("alice")


@pytest.fixture
def charlie() -> Any:
    return get_user_model().objects.create_user("charlie")


@pytest.fixture
def search() -> LibrarySearch:
    return LibrarySearch()


def add(owner: Any, folder: Path, **files: str) -> LibraryFolder:
    """A folder with these files (`ice_md` is ice.md), in the library."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    row, _ = LibraryFolder.objects.get_or_create(owner=owner, path=str(folder))
    scan_folder(row)
    return row


QUESTIONS = {
    "why does ice float?": "en/why-ice-floats.md",
    "Why does ice float on water": "en/why-ice-floats.md",
    "¿por qué flota el hielo?": "es/why-ice-floats.md",
    "por que flota el hielo": "es/why-ice-floats.md",
    "who invented the piano?": "en/piano.md",
    "why is the sky blue": "en/why-the-sky-is-blue.md",
    "what is the speed of light?": "en/speed-of-light.md",
    "¿cómo se hace una tortilla de patatas?": "es/tortilla-de-patatas.md",
    "warum verfärben sich die Blätter im Herbst?": "de/herbstlaub.md",
    "qui a inventé le braille ?": "fr/louis-braille.md",
    "うま味を発見したのは誰ですか": "ja/umami.md",
    "富士山の高さ": "ja/fujisan.md",
}


class TestSampleLibrary:
    @pytest.fixture(autouse=True)
    def _sample(self, db: None) -> None:
        ensure_sample_library()

    def test_the_right_article_comes_first(self, search: LibrarySearch, alice: Any) -> None:
        paths = {f"/library/{row.pk}": row.path for row in LibraryDocument.objects.all()}
        first = {question: search.search(alice, question, 5)[0] for question in QUESTIONS}
        assert {question: paths[found.url] for question, found in first.items()} == QUESTIONS

    def test_both_of_a_contradicting_pair_are_found_with_their_dates(
        self, search: LibrarySearch, alice: Any
    ) -> None:
        found = search.search(alice, "how many moons does Saturn have?", 5)[:2]
        years = {result.published_at.year for result in found if result.published_at}
        assert years == {2019, 2025}

    def test_text_is_made_of_passages_that_are_in_the_document_word_for_word(
        self, search: LibrarySearch, alice: Any
    ) -> None:
        for result in search.search(alice, "water ice freezing point density", 5):
            document = LibraryDocument.objects.get(pk=result.url.removeprefix("/library/"))
            spans = {document.text[p.start : p.end] for p in document.passages.all()}
            assert result.text
            assert any(result.text.startswith(span) for span in spans)
            for paragraph in result.text.split("\n\n"):
                assert paragraph in document.text

    def test_asking_again_reads_nothing_again(self, django_assert_num_queries: Any) -> None:
        # The folder of another checkout, the folder, its documents, the time of the scan.
        with django_assert_num_queries(4):
            ensure_sample_library()


def test_nothing_in_the_library_is_no_result(search: LibrarySearch, alice: Any) -> None:
    assert search.search(alice, "why does ice float?", 5) == []


@pytest.mark.parametrize(
    "query", ["", "   ", "?!", "\x00", "🧊", '"NEAR(', "% _ AND", "ice " * 5000]
)
def test_odd_questions_do_no_harm(
    search: LibrarySearch, alice: Any, tmp_path: Path, query: str
) -> None:
    add(alice, tmp_path, ice_md="Ice floats on water.")
    assert len(search.search(alice, query, 5)) == ("ice" in query)


def test_strangers_see_nothing_of_a_folder(
    search: LibrarySearch, alice: Any, charlie: Any, tmp_path: Path
) -> None:
    add(alice, tmp_path, diary_md="My cat is called Biscuit.")
    assert search.search(alice, "cat called", 5)[0].text == "My cat is called Biscuit."
    assert search.search(charlie, "cat called", 5) == []
    assert search.search(alice, "Biscuit", 5)
    for model in (LibraryFolder, LibraryDocument, LibraryPassage):
        assert model.objects.visible_to(alice).exists()
        assert not model.objects.visible_to(charlie).exists()
        assert not model.objects.visible_to(charlie.pk).exists()


def test_strangers_documents_do_not_weigh_on_ones_own(
    search: LibrarySearch, alice: Any, charlie: Any, tmp_path: Path
) -> None:
    """Scores come from what one may see alone, so nothing can be guessed from them."""
    files = {"a_md": "Ice and snow and sleet.", "b_md": "Ice and rain."}
    add(alice, tmp_path / "a", **files)
    before = [(r.title, r.text) for r in search.search(alice, "snow ice rain", 5)]
    add(charlie, tmp_path / "c", **{f"n{n}_md": "snow snow snow" for n in range(30)})
    assert [(r.title, r.text) for r in search.search(alice, "snow ice rain", 5)] == before


def test_a_document_is_one_result_with_its_best_passages_in_their_order(
    search: LibrarySearch, alice: Any, tmp_path: Path
) -> None:
    sections = [f"## Part {n}\n\nGlaciers number {n} carry ice downhill." for n in range(6)]
    add(alice, tmp_path, g_md="\n\n".join(sections))
    (result,) = search.search(alice, "glaciers ice", 5)
    passages = result.text.split("\n\n")
    assert len(passages) == 3
    assert passages == sorted(passages)


def test_a_passage_that_fits_much_worse_is_left_out(
    search: LibrarySearch, alice: Any, tmp_path: Path
) -> None:
    text = "## A\n\nGlaciers carry ice and rock downhill.\n\n## B\n\nTrains carry people."
    add(alice, tmp_path, g_md=text, other_md="Nothing of the kind.")
    (result,) = search.search(alice, "glaciers carry ice and rock downhill", 5)
    assert result.text == "Glaciers carry ice and rock downhill."


def test_never_more_documents_than_asked_for(
    search: LibrarySearch, alice: Any, tmp_path: Path
) -> None:
    add(alice, tmp_path, **{f"n{n}_md": "Ice floats." for n in range(9)})
    assert len(search.search(alice, "ice", 4)) == 4


def test_the_title_weighs_in(search: LibrarySearch, alice: Any, tmp_path: Path) -> None:
    add(
        alice,
        tmp_path,
        a_md="# Glaciers\n\nThey are rivers of frozen water.",
        b_md="# Rivers\n\nThey flow, unlike glaciers.",
    )
    assert search.search(alice, "glaciers", 5)[0].title == "Glaciers"


def test_one_document_alone_is_found(search: LibrarySearch, alice: Any, tmp_path: Path) -> None:
    add(alice, tmp_path, a_md="Ice floats.")
    assert [result.title for result in search.search(alice, "ice", 5)] == ["a"]


def test_what_is_scanned_is_found_at_once_and_what_is_gone_is_not(
    search: LibrarySearch, alice: Any, tmp_path: Path
) -> None:
    folder = add(alice, tmp_path, a_md="Ice floats.")
    assert search.search(alice, "ice", 5)
    add(alice, tmp_path, b_md="Ice melts.")
    assert len(search.search(alice, "ice", 5)) == 2
    (tmp_path / "a.md").unlink()
    scan_folder(folder)
    assert [result.text for result in search.search(alice, "ice", 5)] == ["Ice melts."]
    folder.delete()
    assert search.search(alice, "ice", 5) == []


def test_a_document_that_goes_between_scans_falls_out(
    search: LibrarySearch, alice: Any, tmp_path: Path
) -> None:
    add(alice, tmp_path, a_md="Ice floats.", b_md="Ice melts.")
    assert len(search.search(alice, "ice", 5)) == 2
    LibraryDocument.objects.get(path="a.md").delete()
    assert [result.text for result in search.search(alice, "ice", 5)] == ["Ice melts."]


def test_the_date_of_the_document_is_that_of_the_result(
    search: LibrarySearch, alice: Any, tmp_path: Path
) -> None:
    add(alice, tmp_path, a_md="---\nupdated: 2025-01-14\n---\nIce floats.", b_md="Ice melts.")
    dates = {result.text: result.published_at for result in search.search(alice, "ice", 5)}
    assert dates == {"Ice floats.": datetime(2025, 1, 14, tzinfo=UTC), "Ice melts.": None}


@pytest.fixture
def shared(transactional_db: None, tmp_path: Path) -> Any:
    alice = get_user_model().objects.create_user("alice")
    add(alice, tmp_path, a_md="Ice floats.", b_md="Rain falls.")
    return alice


@pytest.mark.django_db(transaction=True)
async def test_the_provider_searches_for_its_owner(shared: Any) -> None:
    provider = LibraryProvider(shared.pk)
    found = await provider.search("why does ice float?", limit=5)
    assert provider.name == "Your library"
    assert [(result.title, result.text) for result in found] == [("a", "Ice floats.")]
    assert found[0].url.startswith("/library/")
    assert await LibraryProvider(shared.pk + 1).search("ice", limit=5) == []


@pytest.mark.django_db(transaction=True)
def test_threads_can_share_a_search(shared: Any, search: LibrarySearch) -> None:
    from django.db import connection

    def ask(query: str) -> list[str]:
        try:
            return [result.text for result in search.search(shared, query, 5)]
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, ["ice", "rain"] * 10))
    assert answers == [["Ice floats."], ["Rain falls."]] * 10
