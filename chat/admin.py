"""The operator's view of the tables. Nothing that anybody wrote is shown here: not in a list, not
in a form, and not among what would go with an account."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import NestedObjects
from django.contrib.auth.admin import UserAdmin
from django.db import router
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect

from chat.inspecting.admin import ConversationAdmin
from chat.models import (
    AuditEntry,
    ContentAccess,
    Conversation,
    Invitation,
    Quota,
    Run,
    Usage,
    User,
)

admin.site.register(Conversation, ConversationAdmin)


@admin.register(User)
class PersonAdmin(UserAdmin):
    """For owners alone: whoever may change these rows can become one."""

    fieldsets = (*(UserAdmin.fieldsets or ()), ("Lumina", {"fields": ("time_zone",)}))

    def has_module_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_active and request.user.is_superuser)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.has_module_permission(request)

    has_change_permission = has_view_permission
    has_delete_permission = has_view_permission

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self.has_module_permission(request)

    def user_change_password(
        self,
        request: HttpRequest,
        id: str,  # noqa: A002  (so is it called there)
        form_url: str = "",
    ) -> HttpResponse:
        """Nobody chooses somebody else's password: their page makes a link, which is logged."""
        if not (id.isascii() and id.isdecimal()):
            raise Http404
        return redirect("person", id)

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """How many rows of each kind go along. Their names are what people wrote."""
        collector: Any = NestedObjects(using=router.db_for_write(User))
        collector.collect(list(objs))
        counts = {
            str(model._meta.verbose_name_plural): len(rows)
            for model, rows in collector.model_objs.items()
        }
        return [f"{n} {name}" for name, n in counts.items()], counts, set(), []


class _ToRead(admin.ModelAdmin):
    """Rows that are made and changed elsewhere, where it is checked and logged."""

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return [field.name for field in self.model._meta.fields]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Run)
class RunAdmin(_ToRead):
    list_display = ("id", "owner", "status", "model_name", "n_steps", "started_at", "finished_at")
    list_filter = ("status",)
    fields = (*list_display, "prompt_tokens", "completion_tokens", "n_stray_markers")


@admin.register(AuditEntry)
class AuditEntryAdmin(_ToRead):
    list_display = ("at", "action", "by_name", "about_name", "target", "address")
    list_filter = ("action",)
    search_fields = ("by_name", "about_name", "address")


@admin.register(Invitation)
class InvitationAdmin(_ToRead):
    list_display = ("id", "made_by", "email", "for_operator", "expires_at", "used_at", "used_by")
    fields = list_display


@admin.register(ContentAccess)
class ContentAccessAdmin(_ToRead):
    list_display = ("operator", "person", "reason", "opened_at", "ends_at")


@admin.register(Quota)
class QuotaAdmin(_ToRead):
    list_display = ("owner", "tokens_a_day", "tokens_a_month", "snapshot_bytes", "library_bytes")


@admin.register(Usage)
class UsageAdmin(_ToRead):
    list_display = ("owner", "day", "asks", "searches", "tokens")
