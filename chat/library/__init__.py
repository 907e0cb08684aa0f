from chat.library.sample import ensure_sample_library

__all__ = ["ensure_sample_library"]
