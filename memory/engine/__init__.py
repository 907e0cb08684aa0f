"""The pure core of memory: values in, values out; no Django, no network, no clock."""
