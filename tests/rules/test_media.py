"""What bytes are: told by looking, whatever somebody says of them."""

import pytest

from engines.samples import START as NOW
from engram.errors import Unsupported
from engram.model.memory import Asset, Memory
from engram.rules import assets
from engram.rules.media import TAKEN, Look, settled

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
LOOKS = {
    "image/png": PNG,
    "image/jpeg": b"\xff\xd8\xff\xe0\x00\x10JFIF",
    "image/webp": b"RIFF\x24\x00\x00\x00WEBPVP8 \xff",
    "audio/wav": b"RIFF\x24\x00\x00\x00WAVEfmt \xff",
    "video/mp4": b"\x00\x00\x00\x18ftypisom\x00",
    "image/avif": b"\x00\x00\x00\x18ftypavif\x00",
    "application/pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3",
    "application/zip": b"PK\x03\x04\x14\x00",
    "text/plain": "Grüße, 日本語\n".encode(),
    "text/html": b"\xef\xbb\xbf \n<!DOCTYPE html><p>",
    "image/svg+xml": b'<?xml version="1.0"?><svg onload="x()">',
    "text/xml": b'<?xml version="1.0"?><a/>',
    "text/x-script": b"#!/bin/sh\nrm -rf /\n",
    "application/x-executable": b"\x7fELF\x02\x01\x01\x00",
    "application/octet-stream": b"\x00\x01\x02\x03",
}


def looked(content: bytes, size: int = 7) -> Look:
    look = Look()
    for at in range(0, len(content), size):
        look.see(content[at : at + size])
    return look


@pytest.mark.parametrize("type", LOOKS)
def test_bytes_are_what_they_look_like_however_they_are_cut(type: str):
    assert [looked(LOOKS[type], size).type() for size in (1, 2, 3, 5, 4096)] == [type] * 5


def test_text_is_text_to_its_last_byte():
    assert looked(b"a" * 9000 + b"\x00").type() == "application/octet-stream"
    assert looked(b"a" * 9000 + b"\xff").type() == "application/octet-stream"
    assert looked("日".encode()[:2]).type() == "application/octet-stream"
    assert looked(b"MZ is how it begins").type() == "text/plain"


@pytest.mark.parametrize(
    ("content", "name", "claimed", "kept"),
    [
        (PNG, "", "", "image/png"),
        (PNG, "photo", "image/png", "image/png"),
        (PNG, "photo.PNG", "application/octet-stream", "image/png"),
        (b"# A\n", "notes.md", "", "text/markdown"),
        (b"a,b\n", "rows", "text/csv; charset=utf-8", "text/csv"),
        (b"{}", "a.json", "", "application/json"),
        (b"fn main() {}", "main.rs", "", "text/plain"),
    ],
)
def test_a_claim_and_a_name_may_say_more_exactly_what_is_seen(content, name, claimed, kept):
    assert settled(looked(content), name, claimed, TAKEN) == kept


@pytest.mark.parametrize(
    ("content", "name", "claimed"),
    [
        (PNG, "photo.pdf", ""),
        (PNG, "", "image/jpeg"),
        (PNG, "photo.png", "text/plain"),
        (LOOKS["text/html"], "notes.txt", ""),
        (LOOKS["text/html"], "", "text/plain"),
        (LOOKS["text/html"], "", ""),
        (b"hello", "hello.html", ""),
        (b"hello", "hello.js", "text/plain"),
        (b"hello", "", "text/html"),
        (LOOKS["image/svg+xml"], "drawing.svg", "image/svg+xml"),
        (LOOKS["text/x-script"], "run", ""),
        (LOOKS["application/x-executable"], "run", "application/octet-stream"),
        (b"echo hi", "run.bat", ""),
        (b"\x00\x01", "", ""),
    ],
)
def test_a_lie_and_what_a_program_would_run_are_refused(content, name, claimed):
    with pytest.raises(Unsupported):
        settled(looked(content), name, claimed, TAKEN)


def test_the_settings_may_take_other_types():
    assert settled(looked(LOOKS["image/svg+xml"]), "a.svg", "", ("image/svg+xml",)) == "image/svg+xml"
    with pytest.raises(Unsupported):
        settled(looked(PNG), "a.png", "", ("image/svg+xml",))


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\temp\\a.txt", "a.txt"),
        (".bashrc", "bashrc"),
        ("..", "feedfeedfeed"),
        ("", "feedfeedfeed"),
        ("a\u202egpj.exe", "agpj.exe"),
        ("a\r\nSet-Cookie: x", "x"),
        ("日本.png", "日本.png"),
        ("x" * 300 + ".png", "x" * 116 + ".png"),
    ],
)
def test_a_name_is_one_part_and_hides_nothing(said: str, name: str):
    assert assets.name_of(said, "feed" * 16) == name


def test_an_attachment_is_found_by_name_or_by_the_beginning_of_its_hash():
    one, two = (Asset("ab" + digit * 62, f"{digit}.txt", "text/plain", 1) for digit in "12")
    memory = Memory(id="m", text="t", assets=(one, two), created_at=NOW, updated_at=NOW)

    assert assets.found(memory, "1.txt") == assets.found(memory, "ab11") == one
    for ref, code in (("ab", "not_found"), ("3.txt", "not_found"), ("", "not_found")):
        with pytest.raises(Exception, match=r"no attachment") as refused:
            assets.found(memory, ref)
        assert refused.value.code == code
