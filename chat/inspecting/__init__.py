"""What the model saw of one turn, put together again from the receipt and the stored texts.

The receipt names messages, sources and places and holds no text. Every text is read when it is
looked at, so what has been deleted since is not shown, and its place says so.
"""
