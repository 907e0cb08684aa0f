from django.apps import AppConfig


class ChatConfig(AppConfig):
    name = "chat"

    def ready(self) -> None:
        from chat import checks  # noqa: F401
        from chat.accounts import receivers

        receivers.connect()
