"""The operator's view. Texts of other people's conversations are not shown here."""

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.http import HttpRequest

from chat.inspecting.admin import ConversationAdmin
from chat.models import Conversation, Run, User

admin.site.register(Conversation, ConversationAdmin)


@admin.register(User)
class PersonAdmin(UserAdmin):
    fieldsets = (*(UserAdmin.fieldsets or ()), ("Lumina", {"fields": ("time_zone",)}))


@admin.register(Run)
class RunAdmin(admin.ModelAdmin):
    list_display = ("id", "owner", "status", "model_name", "n_steps", "started_at", "finished_at")
    list_filter = ("status",)
    fields = (*list_display, "reason", "prompt_tokens", "completion_tokens", "n_stray_markers")
    readonly_fields = fields

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Run | None = None) -> bool:
        return False
