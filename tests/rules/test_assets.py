"""Which attachments a memory has, how they are named, and which are refused."""

import pytest

from engram.errors import Conflict, Invalid, NotFound
from engram.model.memory import Asset
from engram.model.record import replace
from engram.rules import assets
from engram.rules.changes import compose, step
from rules.world import memory, request

ONE, TWO = (Asset("ab" + digit * 62, f"{digit}.txt", "text/plain", 1) for digit in "12")
KEY = "AKIA" + "IOSFODNN7EXAMPLQ"


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
        ("report. ", "report."),
        ("x" * 116 + ".png", "x" * 116 + ".png"),
        ("x" * 100 + "." + "y" * 15 + "." + "z" * 15, "x" * 100 + ".yyy." + "z" * 15),
        ("x" * 100 + "." + "y" * 60, "x" * 100 + "." + "y" * 19),
        ("x" * 110 + "." + "y" * 16, "x" * 110 + "." + "y" * 9),
        ("x" * 300, "x" * 120),
        ("日" * 130 + ".png", "日" * 84 + ".png"),
    ],
)
def test_a_name_is_one_part_and_hides_nothing(said: str, name: str):
    assert assets.name_of(said, "feed" * 16) == name


@pytest.mark.parametrize("said", ["日" * 130 + ".png", "😀" * 200, "é" * 120 + "." + "ü" * 15])
def test_a_name_fits_whatever_script_it_is_written_in(said: str):
    assert Asset("ab" * 32, assets.name_of(said, "ab" * 32)).name


def test_an_attachment_is_found_by_name_or_by_the_beginning_of_its_hash():
    both = memory(assets=(ONE, TWO))

    assert assets.found(both, "1.txt") == assets.found(both, "ab11") == assets.found(both, "AB11") == ONE
    assert assets.found(both, "ab222") == TWO
    for ref, code in (("ab", "not_found"), ("3.txt", "not_found"), ("", "not_found")):
        with pytest.raises(Exception, match=r"no attachment") as refused:
            assets.found(both, ref)
        assert refused.value.code == code


def test_what_names_two_attachments_names_none_and_tells_their_hashes():
    both = memory(assets=(replace(ONE, sha256="ab12" + "3" * 60), replace(TWO, sha256="ab12" + "4" * 60)))

    with pytest.raises(Conflict, match="may be 2 attachments") as refused:
        assets.found(both, "ab12")
    assert "ab1233333333, ab1244444444." in refused.value.hint


def test_a_name_goes_before_the_beginning_of_a_hash():
    both = memory(assets=(ONE, replace(TWO, name="ab11")))

    assert assets.found(both, "ab11") == both.assets[1]


def test_one_more_is_joined_and_the_same_bytes_keep_their_name():
    one = memory(assets=(ONE,))

    assert assets.joined(one, TWO) == (ONE, TWO)
    assert assets.joined(one, replace(ONE, name="other.txt")) == (ONE,)
    assert assets.known(memory(assets=(ONE, TWO)), replace(TWO, name="other.txt")) == TWO
    assert assets.known(one, TWO) is None
    assert assets.without(memory(assets=(ONE, TWO)), ONE) == (TWO,)


def test_two_attachments_of_one_memory_do_not_share_a_name():
    with pytest.raises(Conflict, match=r"mem-0007 has another attachment '1.txt'"):
        assets.joined(memory(handle="mem-0007", assets=(TWO, ONE)), replace(ONE, sha256="cd" * 32))
    with pytest.raises(Conflict, match="memory-1 has"):
        assets.joined(memory(assets=(ONE,)), replace(TWO, name=ONE.name))


def test_a_refusal_names_the_memory_as_the_next_command_would():
    with pytest.raises(NotFound) as refused:
        assets.found(memory(handle="mem-0007"), "1.txt")
    assert refused.value.hint == "See what it has: engram assets mem-0007."


def test_an_attachment_holds_something():
    assets.require_bytes(1)
    with pytest.raises(Invalid):
        assets.require_bytes(0)


def test_an_attachment_with_a_credential_in_its_words_or_its_name_is_refused():
    assets.require_no_secret(ONE, b"nothing to hide")
    with pytest.raises(Invalid, match=r"1\.txt holds what is not to be kept: aws-access-key"):
        assets.require_no_secret(ONE, f"key {KEY}".encode())
    with pytest.raises(Invalid, match="The name of the file holds"):
        assets.require_no_secret(replace(ONE, name=f"{KEY}.txt"), b"nothing to hide")


def test_the_bytes_of_a_picture_are_not_read_as_words():
    assets.require_no_secret(replace(ONE, media_type="image/png"), f"\x00 {KEY}".encode())


def test_history_calls_a_revision_by_what_became_of_the_attachment_and_a_proposal_stays_one():
    moved = [step(memory(), request(), assets=(ONE,))]

    assert assets.told_as("attach", compose("revise", request(), moved)).draft.action == "attach"
    assert assets.told_as("attach", compose("propose", request(), moved)).draft.action == "propose"
