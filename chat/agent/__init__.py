"""The pure core of the conversation: values in, events out; no Django, no network, no clock."""
