"""The openai and ollama SDKs ask for images and embeddings through the gateway."""

import base64
import io

import ollama
import openai
import pytest
from conftest import GATEWAY, KEY, TIMEOUT, asked_upstream
from images import DATA, PNG


@pytest.fixture(scope="module")
def client():
    with openai.OpenAI(base_url=f"{GATEWAY}/v1", api_key=KEY, timeout=TIMEOUT) as client:
        yield client


def test_the_same_dialect_passes_unchanged(client, word):
    answer = client.images.with_raw_response.generate(
        model="chat/painter", prompt=f"{word}, ripe", n=2, size="1024x1024", quality="high"
    )
    assert answer.headers["x-majordomo-target"] == "chat/painter"
    assert "x-majordomo-changes" not in answer.headers
    drawn = answer.parse()
    assert [image.b64_json for image in drawn.data] == [DATA, DATA]
    assert drawn.data[0].revised_prompt == f"painter draws {word}, ripe"
    assert (drawn.usage.input_tokens, drawn.usage.output_tokens) == (12, 34)
    [asked] = asked_upstream(word)
    assert asked["body"]["quality"] == "high"


def test_a_form_arrives_with_all_its_files(client, word, png):
    files = [("a.png", io.BytesIO(png), "image/png"), ("b.png", io.BytesIO(PNG), "image/png")]
    drawn = client.images.edit(model="chat/painter", prompt=word, image=files)
    expected = f"painter edits [{len(png)}, {len(PNG)}] by {word}"
    assert drawn.data[0].revised_prompt == expected


@pytest.mark.parametrize("model", ["swap/painter", "gemini/painter", "artist", "demo/image"])
def test_other_targets_are_translated(client, word, model):
    drawn = client.images.generate(model=model, prompt=word, size="512x512")
    assert base64.b64decode(drawn.data[0].b64_json).startswith(b"\x89PNG")
    if model in ("swap/painter", "artist"):
        [asked] = asked_upstream(word)
        assert (asked["body"]["width"], asked["body"]["model"]) == (512, "painter")


@pytest.mark.parametrize("model", ["swap/painter", "gemini/painter"])
def test_an_edit_reaches_other_targets(client, word, png, model):
    image = ("a.png", io.BytesIO(png), "image/png")
    answer = client.images.with_raw_response.edit(
        model=model, prompt=word, image=image, input_fidelity="high"
    )
    assert answer.headers["x-majordomo-changes"] == "input_fidelity dropped"
    assert answer.parse().data[0].b64_json == DATA
    [asked] = asked_upstream(word)
    assert base64.b64encode(png).decode() in str(asked["body"])


def test_errors_are_the_sdks_own(client):
    with pytest.raises(openai.BadRequestError, match="generates no images"):
        client.images.generate(model="messages/scripted", prompt="a pear")
    with pytest.raises(openai.BadRequestError, match="not streamed"):
        list(client.images.generate(model="chat/painter", prompt="a pear", stream=True))
    with pytest.raises(openai.NotFoundError):
        client.images.generate(model="no-such-model", prompt="a pear")


def test_embeddings_arrive_in_either_encoding(client):
    for options in ({}, {"encoding_format": "float"}):
        found = client.embeddings.create(model="chat/small", input=["a", "bcd"], **options)
        assert [list(item.embedding) for item in found.data] == [[1.0, 0.5], [3.0, 0.5]]
        assert found.usage.prompt_tokens == 3


def test_ollama_embeds_within_its_dialect():
    headers = {"authorization": f"Bearer {KEY}"}
    client = ollama.Client(host=GATEWAY, headers=headers, timeout=TIMEOUT)
    found = client.embed(model="ollama/small", input=["a", "bcd"])
    assert [list(vector) for vector in found.embeddings] == [[1.0, 0.5], [3.0, 0.5]]
