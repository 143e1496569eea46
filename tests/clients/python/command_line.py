"""Runs a client's program in a home of its own, as somebody would in a terminal."""

import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

PACKAGES = Path(os.environ["MAJORDOMO_CLIENTS"])
PATIENCE = 120.0
NOTE = "the password is swordfish"


@dataclass
class Ran:
    code: int
    out: str
    all: str  # with what went to stderr


class Desk:
    """A home with nothing in it, and a folder with a note and a picture."""

    def __init__(self, folder: Path, png: bytes):
        self.home, self.work, self.scratch = folder / "home", folder / "work", folder / "tmp"
        for made in (self.home, self.work, self.scratch):
            made.mkdir()
        self.note, self.picture = self.work / "note.txt", self.work / "picture.png"
        self.note.write_text(NOTE + "\n", encoding="utf-8")
        self.picture.write_bytes(png)

    def setting(self, path: str, text: str):
        """Writes a file of settings into the home."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def run(self, program: str, *arguments: str, **variables: str) -> Ran:
        """Runs a program of a package. Only these variables are set."""
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TMPDIR": str(self.scratch),
            # Whatever else it would like to reach, it reaches the upstream, which refuses.
            "HTTPS_PROXY": os.environ["UPSTREAM"],
            "NO_PROXY": "127.0.0.1",
            **variables,
        }
        process = subprocess.Popen(
            ["node", PACKAGES / program, *arguments],
            cwd=self.work,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )
        try:
            out, err = process.communicate(timeout=PATIENCE)
        finally:
            # These programs start others; none of them may stay.
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        return Ran(process.returncode, out, f"{out}\n{err}")
