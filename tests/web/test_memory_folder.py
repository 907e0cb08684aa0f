"""Memory files as a folder: out, edited, and back, without a way out of the folder."""

from __future__ import annotations

import json
import os
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from chat.models import User
from memory import store
from memory.models import Revision
from memory.store import By

pytestmark = pytest.mark.django_db

USER_FILE = "knowledge/user.md"


def memory(*arguments: str | Path) -> str:
    out = StringIO()
    call_command("memory", *map(str, arguments), stdout=out)
    return out.getvalue()


def refused(*arguments: str | Path) -> str:
    """What a command that ends with an error has said."""
    out = StringIO()
    with pytest.raises(CommandError) as error:
        call_command("memory", *map(str, arguments), stdout=out)
    return f"{out.getvalue()}{error.value}"


@pytest.fixture
def folder(alice: User, tmp_path: Path) -> Path:
    """An export of two files."""
    store.put(alice.pk, USER_FILE, "- Name: Kacper", By())
    store.put(alice.pk, "AGENTS.md", "- Short answers", By())
    folder = tmp_path / "notes"
    memory("export", folder)
    return folder


def text(owner: User, path: str = USER_FILE) -> str:
    return store.text_of(owner.pk, path)


def test_files_go_out_as_they_are_and_a_second_time_nothing_happens(
    alice: User, folder: Path
) -> None:
    assert (folder / USER_FILE).read_text() == "- Name: Kacper\n"
    assert (folder / "AGENTS.md").read_text() == "- Short answers\n"
    assert "0 written, 2 unchanged" in memory("export", folder)
    assert "0 taken, 2 unchanged" in memory("import", folder)
    assert Revision.objects.count() == 2


def test_edits_come_back_as_revisions_by_their_author(alice: User, folder: Path) -> None:
    (folder / USER_FILE).write_text("- Name: Kasper\r\n")
    (folder / "skills").mkdir()
    (folder / "skills" / "boat.md").write_text("Trigger: boat\n")
    told = memory("import", folder, "--author", "Berta")
    assert "taken: knowledge/user.md" in told
    assert text(alice) == "- Name: Kasper\n"
    assert text(alice, "skills/boat.md") == "Trigger: boat\n"
    newest = Revision.objects.get(file__path=USER_FILE, number=2)
    assert (newest.author, newest.author_name, newest.source) == ("import", "Berta", None)
    memory("import", folder)
    assert Revision.objects.count() == 4


def test_the_author_is_the_owner_by_default(alice: User, folder: Path) -> None:
    (folder / USER_FILE).write_text("- Name: Kasper\n")
    memory("import", folder)
    assert Revision.objects.get(file__path=USER_FILE, number=2).author_name == "alice"


def test_a_file_that_changed_on_both_sides_is_shown_and_left_alone(
    alice: User, folder: Path
) -> None:
    (folder / USER_FILE).write_text("- Name: Kasper\n")
    (folder / "AGENTS.md").write_text("- Long answers\n")
    store.put(alice.pk, USER_FILE, "- Name: Jan", By())
    told = refused("import", folder)
    assert "conflict: knowledge/user.md" in told
    assert "-- Name: Jan" in told
    assert "+- Name: Kasper" in told
    assert text(alice) == "- Name: Jan\n"
    assert text(alice, "AGENTS.md") == "- Long answers\n"
    assert "conflict: knowledge/user.md" in refused("export", folder)
    assert (folder / USER_FILE).read_text() == "- Name: Kasper\n"
    (folder / USER_FILE).write_text("- Name: Jan\n")
    assert "0 in conflict" in memory("import", folder)


def test_what_only_lumina_changed_is_not_taken_back(alice: User, folder: Path) -> None:
    store.put(alice.pk, USER_FILE, "- Name: Jan", By())
    memory("import", folder)
    assert text(alice) == "- Name: Jan\n"
    assert "written: knowledge/user.md" in memory("export", folder)
    assert (folder / USER_FILE).read_text() == "- Name: Jan\n"


def test_a_forgotten_file_leaves_the_folder_and_does_not_come_back(
    alice: User, folder: Path
) -> None:
    store.remove_file(alice.pk, USER_FILE)
    assert "was deleted in Lumina" in memory("import", folder)
    assert text(alice) == ""
    assert "deleted: knowledge/user.md" in memory("export", folder)
    assert not (folder / USER_FILE).exists()
    assert "Kacper" not in "".join(path.read_text() for path in folder.rglob("*") if path.is_file())


def test_a_file_that_is_gone_from_the_folder_goes_only_when_told(alice: User, folder: Path) -> None:
    (folder / USER_FILE).unlink()
    assert "--delete" in memory("import", folder)
    assert text(alice) == "- Name: Kacper\n"
    assert "deleted: knowledge/user.md" in memory("import", folder, "--delete")
    assert text(alice) == ""


def test_a_folder_of_unknown_origin_overwrites_nothing(alice: User, tmp_path: Path) -> None:
    store.put(alice.pk, USER_FILE, "- Name: Kacper", By())
    (tmp_path / "knowledge").mkdir()
    (tmp_path / USER_FILE).write_text("- Name: Other\n")
    (tmp_path / "README.md").write_text("not a memory file\n")
    assert "conflict" in refused("export", tmp_path)
    assert "conflict" in refused("import", tmp_path)
    assert (tmp_path / USER_FILE).read_text() == "- Name: Other\n"
    assert text(alice) == "- Name: Kacper\n"
    assert text(alice, "knowledge/readme.md") == ""


@pytest.mark.parametrize("what", ["file", "folder", "inner folder", "top file", "manifest"])
def test_symbolic_links_are_refused(alice: User, folder: Path, tmp_path: Path, what: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "user.md").write_text("- Stolen\n")
    if what == "file":
        (folder / USER_FILE).unlink()
        (folder / USER_FILE).symlink_to(outside / "user.md")
    elif what == "folder":
        (folder / USER_FILE).unlink()
        (folder / "knowledge").rmdir()
        (folder / "knowledge").symlink_to(outside)
    elif what == "inner folder":
        (folder / "knowledge" / "projects").symlink_to(outside)
    elif what == "top file":
        (folder / "AGENTS.md").unlink()
        (folder / "AGENTS.md").symlink_to(outside / "user.md")
    else:
        (folder / ".lumina-memory.json").unlink()
        (folder / ".lumina-memory.json").symlink_to(outside / "user.md")
    store.put(alice.pk, "knowledge/projects/boat.md", "- Leaks", By())
    store.put(alice.pk, USER_FILE, "- Name: Jan", By())
    store.put(alice.pk, "AGENTS.md", "- Terse", By())
    for action in ("import", "export"):
        try:
            told = memory(action, folder)
        except CommandError as error:
            told = str(error)
        assert "symbolic link" in told, action
    assert sorted(path.name for path in outside.iterdir()) == ["user.md"]
    assert (outside / "user.md").read_text() == "- Stolen\n"
    assert "Stolen" not in "".join(store.texts_of(alice.pk).values())


def test_names_and_texts_that_cannot_be_are_passed_over_with_the_reason(
    alice: User, folder: Path
) -> None:
    (folder / "knowledge" / "Big.md").write_text("- Big\n")
    (folder / "knowledge" / "bytes.md").write_bytes(b"\xff\xfe\x00")
    (folder / "knowledge" / "secret.md").write_text("- my password is hunter2\n")
    (folder / "knowledge" / "long.md").write_text("x" * 500_000)
    os.mkfifo(folder / "knowledge" / "pipe.md")
    told = memory("import", folder)
    assert "knowledge/Big.md must be named knowledge/big.md" in told
    assert "knowledge/bytes.md is not UTF-8" in told
    assert "knowledge/secret.md was not taken: The text holds a password" in told
    assert "knowledge/long.md is too large" in told
    assert "knowledge/pipe.md is not a regular file" in told
    assert store.paths_of(alice.pk) == ["AGENTS.md", USER_FILE]


def test_a_manifest_leads_nowhere(alice: User, folder: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim.md"
    victim.write_text("- Precious\n")
    told = json.loads((folder / ".lumina-memory.json").read_text())
    told["files"]["../victim.md"] = told["files"]["AGENTS.md"]
    (folder / ".lumina-memory.json").write_text(json.dumps(told))
    memory("export", folder)
    memory("import", folder, "--delete")
    assert victim.read_text() == "- Precious\n"
    (folder / ".lumina-memory.json").write_text("{}")
    assert "damaged" in refused("import", folder)


def test_one_persons_folder_is_not_anothers(alice: User, charlie: User, folder: Path) -> None:
    assert "another person's" in refused("import", folder, "--owner", "charlie")
    assert "no user named" in refused("import", folder, "--owner", "nobody")
    assert store.files_of(charlie.pk) == []


def test_a_folder_that_is_not_there_is_said(alice: User, tmp_path: Path) -> None:
    assert "cannot be used" in refused("import", tmp_path / "nowhere")
