"""What bytes are: told by looking, whatever somebody says of them."""

import pytest

from engram.errors import Unsupported
from engram.rules.media import TAKEN, Look, is_text, settled

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
    "video/webm": b"\x1aE\xdf\xa3\x01\x00",
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


@pytest.mark.parametrize(
    ("name", "claimed", "hint"), [("a.png", "", "Its name says otherwise"), ("", "image/png", "Leave its type out")]
)
def test_what_belies_the_bytes_is_named(name: str, claimed: str, hint: str):
    with pytest.raises(Unsupported) as refused:
        settled(looked(b"plain words"), name, claimed, TAKEN)
    assert hint in refused.value.hint


def test_the_settings_may_take_other_types():
    assert settled(looked(LOOKS["image/svg+xml"]), "a.svg", "", ("image/svg+xml",)) == "image/svg+xml"
    with pytest.raises(Unsupported):
        settled(looked(PNG), "a.png", "", ("image/svg+xml",))


def test_only_the_beginning_is_looked_at_for_signs_and_all_of_it_for_whether_it_is_text():
    look = looked(b"a" * 4090 + b"<svg" * 9, 1000)

    assert look.type() == "text/plain"
    assert looked(b"<html>" + b"a" * 5000 + b"<svg", 3000).type() == "text/html"
    assert looked("Grüße ".encode() * 2000, 4096).type() == "text/plain"


@pytest.mark.parametrize("broken", [b"a\xf0\x9f\x98", b"\xf0\x9f\x98\x20", b"\xf0\x28\x8c\x28", b"\xed\xa0\x80"])
def test_half_a_character_at_the_end_or_within_is_no_text(broken: bytes):
    assert {looked(broken, size).type() for size in (1, 2, 3, 4096)} == {"application/octet-stream"}


def test_what_begins_like_two_types_is_the_one_its_brand_names():
    assert looked(b"RIFF\x24\x00\x00\x00AVI LIST\xff").type() == "application/octet-stream"
    assert looked(b"\x00\x00\x00\x18ftypheic\x00\x00").type() == "image/heic"


def test_only_text_and_what_is_written_in_text_can_be_read_as_text():
    assert [is_text(type) for type in ("text/plain", "text/csv", "application/json")] == [True] * 3
    assert not is_text("image/png")


def test_a_name_with_several_dots_is_known_by_its_last():
    assert settled(looked(b"a,b\n"), "rows.2026.csv", "", TAKEN) == "text/csv"
    assert settled(looked(b"plain"), "md", "", TAKEN) == "text/plain"
    assert settled(looked(b"a,b\n"), "", "Text/CSV; charset=utf-8; header=present", TAKEN) == "text/csv"


def test_a_refusal_names_the_type_that_is_not_taken():
    with pytest.raises(Unsupported, match="type text/html are not taken"):
        settled(looked(LOOKS["text/html"]), "", "", TAKEN)
    with pytest.raises(Unsupported, match=r"not image/jpeg: by its bytes it is image/png"):
        settled(looked(PNG), "a.jpg", "", TAKEN)
