"""Folders in the library: what a scan takes up, leaves alone and drops, and the command for it."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction

from chat.library import ensure_sample_library
from chat.library.index import FolderUnreadable, scan_all, scan_folder
from chat.library_models import LibraryDocument, LibraryFolder, LibraryPassage

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> Any:
    return get_user_model().objects.create_user("alice")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "ice.md").write_text("# Ice\n\nIce floats.")
    (folder / "rain.txt").write_text("Rain falls.")
    return folder


@pytest.fixture
def folder(alice: Any, root: Path) -> LibraryFolder:
    return LibraryFolder.objects.create(owner=alice, path=str(root))


def texts() -> dict[str, str]:
    return dict(LibraryDocument.objects.values_list("path", "text"))


class TestScan:
    def test_documents_and_passages_are_taken_up(self, folder: LibraryFolder) -> None:
        report = scan_folder(folder)
        assert (report.added, report.n_documents, report.skipped) == (2, 2, {})
        passage = LibraryPassage.objects.get(document__path="ice.md")
        assert passage.document.text[passage.start : passage.end] == "Ice floats."
        assert passage.terms == ["ice", "float", "ice", "ice", "ice"]
        assert folder.scanned_at is not None

    def test_a_second_scan_leaves_everything_alone(self, folder: LibraryFolder) -> None:
        scan_folder(folder)
        before = set(LibraryPassage.objects.values_list("pk", flat=True))
        report = scan_folder(folder)
        assert (report.added, report.updated, report.unchanged, report.removed) == (0, 0, 2, 0)
        assert set(LibraryPassage.objects.values_list("pk", flat=True)) == before

    def test_what_is_unchanged_is_not_even_read(self, folder: LibraryFolder, root: Path) -> None:
        scan_folder(folder)
        stat = (root / "ice.md").stat()
        (root / "ice.md").write_text("# Ice\n\nIce sinks!!")
        os.utime(root / "ice.md", ns=(stat.st_atime_ns, stat.st_mtime_ns))
        assert scan_folder(folder).unchanged == 2

    def test_a_touched_file_with_the_same_words_keeps_its_passages(
        self, folder: LibraryFolder, root: Path
    ) -> None:
        scan_folder(folder)
        before = set(LibraryPassage.objects.values_list("pk", flat=True))
        os.utime(root / "ice.md", (1, 1))
        assert scan_folder(folder).unchanged == 2
        assert set(LibraryPassage.objects.values_list("pk", flat=True)) == before
        assert LibraryDocument.objects.get(path="ice.md").mtime_ns == 10**9

    def test_changed_new_and_missing_files_are_followed(
        self, folder: LibraryFolder, root: Path
    ) -> None:
        scan_folder(folder)
        (root / "ice.md").write_text("Ice melts.")
        os.utime(root / "ice.md", (1, 1))
        (root / "rain.txt").unlink()
        (root / "snow.md").write_text("Snow falls.")
        report = scan_folder(folder)
        assert (report.added, report.updated, report.unchanged, report.removed) == (1, 1, 0, 1)
        assert texts() == {"ice.md": "Ice melts.", "snow.md": "Snow falls."}
        assert LibraryPassage.objects.count() == 2

    def test_a_file_that_became_unreadable_disappears_with_a_reason(
        self, folder: LibraryFolder, root: Path
    ) -> None:
        scan_folder(folder)
        (root / "ice.md").write_bytes(b"\x00\x01\x02")
        os.utime(root / "ice.md", (1, 1))
        report = scan_folder(folder)
        assert report.skipped == {"ice.md": "is not text"}
        assert list(texts()) == ["rain.txt"]

    def test_a_newer_way_of_reading_reads_everything_anew(
        self, folder: LibraryFolder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        scan_folder(folder)
        monkeypatch.setattr("chat.library.index._READING", "next")
        assert scan_folder(folder).updated == 2

    def test_a_folder_that_is_not_there_keeps_its_documents(
        self, folder: LibraryFolder, root: Path
    ) -> None:
        scan_folder(folder)
        root.rename(root.with_name("elsewhere"))
        with pytest.raises(FolderUnreadable, match="does not exist"):
            scan_folder(folder)
        assert len(texts()) == 2

    def test_progress_is_told(self, folder: LibraryFolder) -> None:
        heard: list[tuple[int, int]] = []
        scan_folder(folder, lambda done, files: heard.append((done, files)))
        assert heard == [(1, 2), (2, 2)]

    def test_every_folder_is_scanned_and_a_missing_one_stops_nothing(
        self, folder: LibraryFolder, alice: Any
    ) -> None:
        LibraryFolder.objects.create(owner=alice, path="/nowhere/at/all")
        found = scan_all()
        assert isinstance(found["/nowhere/at/all"], FolderUnreadable)
        assert len(texts()) == 2


class TestConstraints:
    def test_a_folder_is_there_once_for_each_person(self, folder: LibraryFolder) -> None:
        bob = get_user_model().objects.create_user("bob")
        LibraryFolder.objects.create(owner=bob, path=folder.path)
        with pytest.raises(IntegrityError), transaction.atomic():
            LibraryFolder.objects.create(owner=folder.owner, path=folder.path)

    def test_the_sample_is_there_once(self) -> None:
        LibraryFolder.objects.create(owner=None, path="/sample")
        with pytest.raises(IntegrityError), transaction.atomic():
            LibraryFolder.objects.create(owner=None, path="/sample")

    def test_a_passage_is_never_empty(self, folder: LibraryFolder) -> None:
        scan_folder(folder)
        document = LibraryDocument.objects.first()
        with pytest.raises(IntegrityError), transaction.atomic():
            LibraryPassage.objects.create(document=document, start=3, end=3)

    def test_a_person_takes_their_library_along(self, folder: LibraryFolder, alice: Any) -> None:
        scan_folder(folder)
        alice.delete()
        assert not LibraryFolder.objects.exists()
        assert not LibraryPassage.objects.exists()


class TestSample:
    def test_it_is_everybodys_and_made_once(self, alice: Any) -> None:
        ensure_sample_library()
        ensure_sample_library()
        (folder,) = LibraryFolder.objects.visible_to(alice)
        assert folder.owner is None
        languages = set(folder.documents.values_list("language", flat=True))
        assert len(languages) >= 4
        assert not folder.documents.filter(path__icontains="readme").exists()

    def test_the_sample_of_another_place_goes(self) -> None:
        LibraryFolder.objects.create(owner=None, path="/old/checkout/library")
        ensure_sample_library()
        assert not LibraryFolder.objects.filter(path="/old/checkout/library").exists()


class TestCommand:
    def run(self, *arguments: str) -> str:
        out = io.StringIO()
        call_command("library", *arguments, stdout=out, stderr=out)
        return out.getvalue()

    def test_a_folder_is_added_for_a_person(self, alice: Any, root: Path) -> None:
        (root / "broken.md").write_bytes(b"\x00")
        said = self.run("add", str(root), "--owner", "alice")
        assert "2 new" in said
        assert "skipped: broken.md is not text" in said
        assert "alice can now search 2 documents." in said
        assert LibraryFolder.objects.get().owner == alice

    def test_without_a_name_it_is_the_owners(self, root: Path) -> None:
        self.run("add", str(root))
        assert LibraryFolder.objects.get().owner.is_superuser

    def test_adding_twice_is_reading_anew(self, alice: Any, root: Path) -> None:
        self.run("add", str(root), "--owner", "alice")
        (root / "snow.md").write_text("Snow falls.")
        said = self.run("add", f"{root}/../notes/", "--owner", "alice")
        assert "1 new, 0 changed, 2 unchanged" in said
        assert LibraryFolder.objects.count() == 1

    def test_many_files_show_progress(self, alice: Any, root: Path) -> None:
        for n in range(60):
            (root / f"{n}.txt").write_text(f"Note {n}.")
        assert "50 of 62 files" in self.run("add", str(root), "--owner", "alice")

    @pytest.mark.parametrize(
        ("path", "words"),
        [("nowhere", "does not exist"), ("notes/ice.md", "is not a folder"), ("empty", "Nothing")],
    )
    def test_what_cannot_be_added_says_why_and_leaves_nothing(
        self, alice: Any, root: Path, path: str, words: str
    ) -> None:
        (root.parent / "empty").mkdir()
        with pytest.raises(CommandError, match=words):
            self.run("add", str(root.parent / path), "--owner", "alice")
        assert not LibraryFolder.objects.exists()

    def test_a_folder_that_may_not_be_opened_says_so(
        self, alice: Any, root: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def denied(path: object) -> None:
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr("chat.library.reader.os.scandir", denied)
        with pytest.raises(CommandError, match="may not be opened"):
            self.run("add", str(root), "--owner", "alice")
        assert not LibraryFolder.objects.exists()

    def test_an_unknown_person_is_named(self, root: Path) -> None:
        with pytest.raises(CommandError, match="no user named 'nobody'"):
            self.run("add", str(root), "--owner", "nobody")

    def test_the_list_shows_whose_and_how_many(self, alice: Any, root: Path) -> None:
        assert "empty" in self.run("list")
        self.run("add", str(root), "--owner", "alice")
        ensure_sample_library()
        said = self.run("list")
        assert f"{root}\n    2 documents, alice, scanned 20" in said
        assert "everybody (sample)" in said

    def test_a_folder_is_removed_and_its_files_stay(self, alice: Any, root: Path) -> None:
        self.run("add", str(root), "--owner", "alice")
        with pytest.raises(CommandError, match="has no folder"):
            self.run("remove", str(root))
        assert "stay" in self.run("remove", str(root), "--owner", "alice")
        assert not LibraryDocument.objects.exists()
        assert (root / "ice.md").exists()

    def test_a_folder_that_is_gone_from_the_disk_can_be_removed(
        self, alice: Any, root: Path
    ) -> None:
        self.run("add", str(root), "--owner", "alice")
        root.rename(root.with_name("elsewhere"))
        self.run("remove", str(root), "--owner", "alice")
        assert not LibraryFolder.objects.exists()

    def test_a_scan_follows_all_folders_and_names_missing_ones(
        self, alice: Any, root: Path
    ) -> None:
        self.run("add", str(root), "--owner", "alice")
        (root / "snow.md").write_text("Snow falls.")
        LibraryFolder.objects.create(owner=alice, path="/nowhere")
        said = self.run("scan")
        assert f"{root}: 1 new, 0 changed, 2 unchanged, 0 removed" in said
        assert "/nowhere does not exist. Its documents are kept." in said
        assert LibraryFolder.objects.filter(owner=None).exists()
