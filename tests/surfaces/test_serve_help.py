"""What `engram serve` takes: every option is in its help, and its examples would start."""

import re
import shlex

import pytest

from engram.surfaces.server.serve import FLAGS, OPTIONS, _read, run

HELP = run.__doc__ or ""
EXAMPLES = re.findall(r"^ +engram (serve .*|serve)$", HELP, re.MULTILINE)


def test_help_tells_of_every_option_under_a_heading():
    told = re.findall(r"^ {6}(--[a-z-]+) ", HELP, re.MULTILINE)
    assert sorted(told) == sorted([*OPTIONS, *FLAGS, "--json"])


def test_the_examples_are_for_oneself_for_a_trial_and_for_a_team():
    assert len(EXAMPLES) == 3


def test_an_address_is_the_same_with_a_slash_at_its_end(tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    team = ["--oidc-issuer", "https://id.example.org"]
    assert _read([*team, "--url", "https://memory.example.org/"]).url == "https://memory.example.org"
    monkeypatch.setenv("ENGRAM_PUBLIC_URL", "https://memory.example.org/")
    assert _read(team).url == "https://memory.example.org"


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_one_that_would_start(example: str, tmp_path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    asked = _read(shlex.split(example)[1:])
    assert bool(asked.issuer) == ("oidc" in example)
