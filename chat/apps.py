from django.apps import AppConfig


class ChatConfig(AppConfig):
    name = "chat"

    def ready(self) -> None:
        from chat import checks, summarising  # noqa: F401
        from chat.accounts import receivers
        from chat.memory_reader import StoredMessages
        from memory.service import read_messages_with

        read_messages_with(StoredMessages())
        summarising.connect()
        receivers.connect()
