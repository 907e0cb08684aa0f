from django.apps import AppConfig


class ChatConfig(AppConfig):
    name = "chat"

    def ready(self) -> None:
        from chat import checks, summarising  # noqa: F401

        summarising.connect()
