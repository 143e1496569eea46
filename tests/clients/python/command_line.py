"""Runs a client's program in a clean home directory, as in a terminal."""

import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

PACKAGES = Path(os.environ["MAJORDOMO_CLIENTS"])
TIMEOUT = 120.0
NOTE = "the password is swordfish"


@dataclass
class Ran:
    code: int
    out: str
    all: str  # including stderr


class Desk:
    """An empty home directory, and a folder with a note and an image."""

    # How long a program may take, if not the default.
    timeout: float | None = None

    def __init__(self, folder: Path, png: bytes):
        self.home, self.work, self.scratch = folder / "home", folder / "work", folder / "tmp"
        for made in (self.home, self.work, self.scratch):
            made.mkdir()
        self.note, self.picture = self.work / "note.txt", self.work / "picture.png"
        self.note.write_text(NOTE + "\n", encoding="utf-8")
        self.picture.write_bytes(png)

    def setting(self, path: str, text: str):
        """Writes a settings file into the home directory."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def run(self, program: str, *arguments: str, **variables: str) -> Ran:
        """Runs a package's program with Node.js and only these variables set."""
        return self.launch(["node", str(PACKAGES / program), *arguments], **variables)

    def start(self, command: list[str], **variables: str) -> subprocess.Popen:
        """Starts a program in its own process group."""
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TMPDIR": str(self.scratch),
            # Any other connection ends at the upstream, which rejects it.
            "HTTPS_PROXY": os.environ["UPSTREAM"],
            "NO_PROXY": "127.0.0.1",
            **variables,
        }
        return subprocess.Popen(
            command,
            cwd=self.work,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )

    def launch(self, command: list[str], **variables: str) -> Ran:
        """Runs a program to its end."""
        process = self.start(command, **variables)
        try:
            out, err = process.communicate(timeout=self.timeout or TIMEOUT)
        finally:
            kill(process)
        return Ran(process.returncode, out, f"{out}\n{err}")


def kill(process: subprocess.Popen):
    """Ends a program and those that it spawned."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
