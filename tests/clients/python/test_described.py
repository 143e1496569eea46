"""Claude Code on a text-only model, with OCR as the describer."""

import json
import os
import shutil
from pathlib import Path

import pytest
from conftest import asked_upstream
from test_claude_code import claude

IMAGES = os.environ.get("MAJORDOMO_OCR_IMAGES")
DRAWN = sorted(Path(IMAGES).glob("*.[!t]*")) if IMAGES else []

pytestmark = pytest.mark.skipif(not IMAGES, reason="tests/ocr_describer/run starts the reader")


def letters(text: str) -> str:
    """Letters and digits only: OCR is unreliable about spaces."""
    return "".join(filter(str.isalnum, text)).lower()


def words_of(image: Path) -> str:
    return letters(image.with_suffix(".txt").read_text(encoding="utf-8"))


def test_there_is_an_image_of_every_format():
    assert [image.suffix for image in DRAWN] == [".webp", ".jpg", ".png", ".gif"]


@pytest.mark.parametrize("image", DRAWN, ids=lambda image: image.name)
def test_an_image_on_its_command_line_arrives_as_text(desk, word, image):
    shutil.copy(image, desk.work)
    ran = claude(desk, f"what does @{image.name} say? {word}", "--model=via-blind")
    assert ran.code == 0, ran.all
    asked = json.dumps(asked_upstream(word)[-1]["body"])
    assert words_of(image) in letters(asked)
    assert "[image: " in asked and "image_url" not in asked


@pytest.mark.parametrize("image", DRAWN, ids=lambda image: image.name)
def test_an_image_that_its_tool_reads_arrives_as_text(desk, image):
    shutil.copy(image, desk.work)
    call = json.dumps({"file_path": str(desk.work / image.name)})
    ran = claude(desk, f"call Read with {call}", "--model=via-blind")
    assert ran.code == 0, ran.all
    assert words_of(image) in letters(ran.out), ran.all
    assert "I see" not in ran.out
