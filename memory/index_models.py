"""What is known of every message, written once: the index that recall reads.

Messages of one branch are gathered in blocks; a path is a list of blocks with how far each counts.
The rows hold no text of a message but what names a call or states a fact, so that forgetting is a
matter of deleting rows. Formats of the binary columns: `memory.stored.formats`.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q


class IndexState(models.Model):
    """One a conversation: whoever writes its index holds this row. `problem` says in plain words
    why lines have no vectors."""

    conversation = models.OneToOneField(
        "chat.Conversation", on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="index_states"
    )
    version = models.PositiveIntegerField()
    problem = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"Index of conversation {self.conversation_id}"


class Block(models.Model):
    """Consecutive messages of one branch. `chain` names the blocks before it on its path, each
    with the number of its parts that belong to it. A part is one message of the engine."""

    state = models.ForeignKey(IndexState, on_delete=models.CASCADE, related_name="blocks")
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="index_blocks"
    )
    chain = models.JSONField(default=list)
    first_part = models.PositiveIntegerField()
    first_row = models.PositiveIntegerField()
    n_parts = models.PositiveIntegerField(default=0)
    n_rows = models.PositiveIntegerField(default=0)
    directory = models.BinaryField(default=b"")
    columns = models.BinaryField(default=b"")

    def __str__(self) -> str:
        return f"Block {self.pk}"


class Mark(models.Model):
    """A message that is indexed: its last part is number `end` - 1 of the block. `totals` are those
    of the whole path up to here."""

    message = models.OneToOneField(
        "chat.Message", on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    block = models.ForeignKey(Block, on_delete=models.CASCADE, related_name="marks")
    end = models.PositiveIntegerField()
    totals = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"Mark of message {self.message_id}"


class Part(models.Model):
    """One message of the engine: how its lines lie in its text, and what was done to them later.

    `closings`, where there are any, is a list of `{"by": [block, position], "closed": [line…],
    "texts": {line: text}}`. `place` is block and position in one number. `as_written` tells that
    its text needs no cleaning to fit the spans.
    """

    message = models.ForeignKey("chat.Message", on_delete=models.CASCADE, related_name="+")
    block = models.ForeignKey(Block, on_delete=models.CASCADE, related_name="parts")
    position = models.PositiveIntegerField()
    place = models.BigIntegerField(unique=True)
    key = models.CharField(max_length=40)
    said_at = models.DateTimeField(null=True)
    first_row = models.PositiveIntegerField()
    n_lines = models.PositiveIntegerField()
    spans = models.BinaryField()
    as_written = models.BooleanField()
    dates = models.JSONField(null=True)
    closings = models.JSONField(null=True)
    target_key = models.CharField(max_length=24, blank=True)
    space = models.CharField(max_length=100, blank=True)

    class Meta:
        indexes = (
            models.Index(fields=("block", "target_key")),
            models.Index(fields=("key",)),
            models.Index(fields=("space",)),
        )

    def __str__(self) -> str:
        return f"Part {self.key}"


class PartVectors(models.Model):
    """The vectors of a part's lines: pooled ones in half precision, and of talk its tokens'."""

    part = models.OneToOneField(
        Part, on_delete=models.CASCADE, primary_key=True, related_name="vectors"
    )
    pooled = models.BinaryField()
    tokens = models.BinaryField(default=b"")

    def __str__(self) -> str:
        return f"Vectors of part {self.part_id}"


class Posting(models.Model):
    """Where a term occurs in a block. A term that begins with `=` stands for a whole line."""

    block = models.ForeignKey(
        Block, on_delete=models.CASCADE, related_name="postings", db_index=False
    )
    term = models.CharField(max_length=128)
    data = models.BinaryField()

    class Meta:
        constraints = (models.UniqueConstraint(name="term_once_a_block", fields=("block", "term")),)

    def __str__(self) -> str:
        return f"Posting {self.pk}"


class Event(models.Model):
    """A call, counted under a topic. `is_first`: of its name on its path."""

    block = models.ForeignKey(Block, on_delete=models.CASCADE, related_name="events")
    position = models.PositiveIntegerField()
    topic = models.CharField(max_length=12)
    name = models.TextField()
    name_key = models.CharField(max_length=24)
    is_first = models.BooleanField()

    class Meta:
        indexes = (
            models.Index(fields=("block", "name_key")),
            models.Index(fields=("block", "position"), condition=Q(is_first=True), name="first_of"),
        )

    def __str__(self) -> str:
        return f"Event {self.pk}: {self.topic}"


class StoredFact(models.Model):
    """What a line states: one value for a subject and an attribute."""

    block = models.ForeignKey(Block, on_delete=models.CASCADE, related_name="facts")
    position = models.PositiveIntegerField()
    row = models.PositiveIntegerField()
    subject = models.TextField()
    attribute = models.CharField(max_length=400)
    value = models.TextField()
    said_at = models.DateTimeField(null=True)

    class Meta:
        indexes = (models.Index(fields=("block", "attribute")),)

    def __str__(self) -> str:
        return f"Fact {self.pk}"
