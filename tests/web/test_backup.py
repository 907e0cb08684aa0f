"""Back up, destroy, restore: the same rows in every table; and files that cannot be used."""

from __future__ import annotations

import json
import stat
import threading
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test import Client

from chat.backup import BackupError, Damaged, back_up, is_fresh, restore
from chat.backup.archive import MANIFEST, VERSION
from chat.backup.tables import LEFT_OUT, empty, snapshot, tables
from chat.models import Conversation, LibraryDocument, LibraryFolder, Message, Run, User
from tests.web.conftest import begun
from tests.web.test_pages import answered

pytestmark = pytest.mark.django_db(transaction=True)


def rows() -> dict[str, list[str]]:
    """Every row of every table that is backed up, as the database gives it."""
    return {
        model._meta.label: [repr(row) for row in model._base_manager.order_by("pk").values_list()]
        for model in tables()
    }


def destroy() -> None:
    with transaction.atomic():
        empty(tables())
    assert not any(rows().values())


@pytest.fixture
def lived_in(alice: User, charlie: User) -> User:
    """An installation with all that can be in it."""
    alice.set_password("correct horse battery")
    alice.save()
    folder = LibraryFolder.objects.create(owner=alice, path="/home/alice/notes")
    document = LibraryDocument.objects.create(
        folder=folder, path="a.md", title="A", text="Ice floats.", mtime_ns=2**61
    )
    document.passages.create(start=0, end=3, terms=["ice", "氷"])
    run = answered(alice, "Ice floats [1].", 'Why? 日本語 \\ "quotes" \n\t🧊')
    answered(alice, "And lakes [1].", "And lakes?", conversation=run.conversation_id)
    answered(charlie, "No [1].", "Mine?")
    begun(alice, "Still running?")
    return alice


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "lumina.backup"


def test_after_destroying_all_a_restore_gives_the_same_rows_in_every_table(
    lived_in: User, file: Path
) -> None:
    before = rows()
    assert all(before[f"chat.{name}"] for name in ("Message", "Source", "Passage", "Citation"))
    back_up(file)
    destroy()
    restore(file)
    assert rows() == before


def test_every_table_is_backed_up_but_those_with_ways_to_come_in() -> None:
    from django.apps import apps

    all_models = {one._meta.label_lower for one in apps.get_models(include_auto_created=True)}
    assert {one._meta.label_lower for one in tables()} == all_models - LEFT_OUT


def test_pages_and_new_rows_work_after_a_restore(
    lived_in: User, file: Path, browser_of: Callable[[User], Client]
) -> None:
    back_up(file)
    destroy()
    restore(file)
    alice = User.objects.get(username="alice")
    assert alice.check_password("correct horse battery")
    run = Run.objects.filter(owner=alice, status="complete").earliest("pk")
    html = browser_of(alice).get(f"/c/{run.conversation_id}/").content.decode()
    assert 'class="citation"' in html
    newest = Message.objects.latest("pk").pk
    assert begun(alice, "A new one?").question_id > newest


def test_times_stay_to_the_microsecond(alice: User, file: Path) -> None:
    at = datetime(2024, 2, 29, 23, 59, 59, 999_999, tzinfo=UTC)
    row = Conversation.objects.create(owner=alice)
    Conversation.objects.update(created_at=at, updated_at=at)
    back_up(file)
    destroy()
    restore(file)
    kept = Conversation.objects.get(pk=row.pk)
    assert (kept.created_at, kept.updated_at) == (at, at)


def test_a_backup_shows_one_moment_and_holds_up_no_writer(alice: User) -> None:
    Conversation.objects.create(owner=alice, title="before")
    written = threading.Event()

    def write() -> None:
        Conversation.objects.create(owner=alice, title="meanwhile")
        connection.close()
        written.set()

    with snapshot():
        assert Conversation.objects.count() == 1
        writer = threading.Thread(target=write)
        writer.start()
        assert written.wait(5)
        assert Conversation.objects.count() == 1
    writer.join()
    assert Conversation.objects.count() == 2


def test_only_the_owner_can_read_the_file_and_it_is_not_overwritten(
    alice: User, file: Path
) -> None:
    back_up(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with pytest.raises(BackupError, match="exists already"):
        back_up(file)
    back_up(file, overwrite=True)
    assert [one.name for one in file.parent.iterdir()] == [file.name]


def test_a_place_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(BackupError, match="cannot be written"):
        back_up(tmp_path / "missing" / "x")
    assert list(tmp_path.iterdir()) == []


def test_no_session_and_no_secret_is_in_the_file_unless_asked_for(
    lived_in: User, file: Path, settings: Any, tmp_path: Path, browser_of: Callable[[User], Client]
) -> None:
    settings.SECRET_KEY = "the-key-of-this-installation"
    key = browser_of(lived_in).session.session_key
    back_up(file)

    def text() -> str:
        with zipfile.ZipFile(file) as archive:
            return "".join(archive.read(name).decode() for name in archive.namelist())

    assert key not in text()
    assert settings.SECRET_KEY not in text()
    back_up(file, with_secret_key=True, overwrite=True)
    settings.VAR_DIR = tmp_path / "var"
    settings.VAR_DIR.mkdir()
    restore(file, overwrite=True)
    kept = settings.VAR_DIR / "secret_key"
    assert kept.read_text() == "the-key-of-this-installation"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


# --- What is refused -----------------------------------------------------------------------------


def test_an_installation_in_use_is_not_replaced_unless_forced(lived_in: User, file: Path) -> None:
    back_up(file)
    Conversation.objects.create(owner=lived_in, title="Written later")
    with pytest.raises(CommandError, match="in use"):
        call_command("restore", str(file))
    assert Conversation.objects.filter(title="Written later").exists()
    call_command("restore", str(file), "--force")
    assert not Conversation.objects.filter(title="Written later").exists()


def test_an_installation_as_it_is_after_its_first_start_is_fresh() -> None:
    call_command("prepare")
    assert is_fresh()
    User.objects.update(password="pbkdf2_sha256$1$a$b")
    assert not is_fresh()


@pytest.mark.parametrize("at", [0.02, 0.3, 0.6, 0.97])
def test_a_damaged_file_changes_nothing(lived_in: User, file: Path, at: float) -> None:
    back_up(file)
    data = bytearray(file.read_bytes())
    middle = int(len(data) * at)
    data[middle : middle + 40] = bytes(byte ^ 0xFF for byte in data[middle : middle + 40])
    file.write_bytes(data)
    before = rows()
    with pytest.raises(BackupError):
        restore(file, overwrite=True)
    assert rows() == before


@pytest.mark.parametrize("keep", [0, 100, 0.5, 0.99])
def test_half_a_file_is_refused(lived_in: User, file: Path, keep: float) -> None:
    back_up(file)
    data = file.read_bytes()
    file.write_bytes(data[: int(keep if keep >= 1 else keep * len(data))])
    with pytest.raises(Damaged):
        restore(file, overwrite=True)


def rewritten(file: Path, name: str, change: Callable[[str], str]) -> None:
    """The same archive with one entry changed, its checksum right."""
    with zipfile.ZipFile(file) as archive:
        entries = {one: archive.read(one).decode() for one in archive.namelist()}
    entries[name] = change(entries[name])
    with zipfile.ZipFile(file, "w") as archive:
        for one, text in entries.items():
            archive.writestr(one, text)


def test_another_format_is_refused_with_its_number(alice: User, file: Path) -> None:
    back_up(file)
    rewritten(file, MANIFEST, lambda text: text.replace(f'"version": {VERSION}', '"version": 9'))
    with pytest.raises(BackupError, match="format 9"):
        restore(file, overwrite=True)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda names: [*names, "chat.9999_future"], "newer than this installation"),
        (lambda names: names[:-1], "older than this installation"),
    ],
)
def test_another_version_is_refused_with_what_helps(
    alice: User, file: Path, change: Callable[[list[str]], list[str]], words: str
) -> None:
    back_up(file)

    def changed(text: str) -> str:
        told = json.loads(text)
        return json.dumps(told | {"migrations": change(told["migrations"])})

    rewritten(file, MANIFEST, changed)
    with pytest.raises(BackupError, match=words):
        restore(file, overwrite=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.rsplit("\n", 2)[0] + "\n",  # a row is missing
        lambda text: text.replace("\n[", "\n[[", 1),  # no JSON
        lambda text: text.replace("\n[", "\n[1, ", 1),  # a value too many
        lambda text: text.replace('"question_id"', '"other"', 1),  # another column
        lambda text: text + text.splitlines()[1] + "\n",  # a row twice
    ],
)
def test_tables_that_do_not_fit_change_nothing(
    lived_in: User, file: Path, change: Callable[[str], str]
) -> None:
    back_up(file)
    rewritten(file, "tables/chat.Run.jsonl", change)
    before = rows()
    with pytest.raises(Damaged):
        restore(file, overwrite=True)
    assert rows() == before


def test_rows_that_point_nowhere_change_nothing(lived_in: User, file: Path) -> None:
    back_up(file)

    def without_rows(text: str) -> str:
        return text.partition("\n")[0] + "\n"

    def none_counted(text: str) -> str:
        told = json.loads(text)
        told["tables"]["chat.Conversation"] = 0
        return json.dumps(told)

    rewritten(file, "tables/chat.Conversation.jsonl", without_rows)
    rewritten(file, MANIFEST, none_counted)
    before = rows()
    with pytest.raises(Damaged, match="nothing was changed"):
        restore(file, overwrite=True)
    assert rows() == before


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04 nonsense"])
def test_any_other_file_is_no_backup(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(CommandError, match="no backup of Lumina"):
        call_command("restore", str(file))
    file.unlink()
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("restore", str(file))
