"""Pieces in the files of others: in once, out again, and every other byte as it was."""

import json
import re
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.errors import Conflict, Invalid
from engram.projects import jsonc
from engram.projects.edits import Block, Script, apply, strip
from engram.projects.edits_json import Default, Hook, Member
from engram.projects.edits_toml import Table

ENTRY = {"command": "/opt/engram", "args": ["mcp"], "env": {"ENGRAM_AGENT": "x"}}
SERVER = Member(("mcpServers", "engram"), ENTRY, "ENGRAM_AGENT")
TABLE = Table(("mcp_servers", "engram"), ENTRY, "ENGRAM_AGENT")
ENDING = "hook stop --agent x"
HOOK = Hook(("hooks", "Stop"), {"hooks": [{"type": "command", "command": f"/opt/engram {ENDING}"}]}, ENDING)
SCRIPT = Script("/opt/engram hook stop --agent x", ("hook", "stop", "--agent", "x"))
BLOCK = Block("<!-- begin -->", "One.\nTwo.\n", "<!-- end -->")

EMPTY = {
    "nothing": "",
    "an empty object": "{}",
    "an empty object over lines": "{\n}\n",
    "a comment alone in an object": "{\n  // nothing yet\n}\n",
}
JSON_FILES = {
    "one line": '{"a": 1}',
    "one line with a trailing comma": '{"a": [1, 2,],}\n',
    "comments everywhere": (
        '// first\n{\n  /* a */ "a": 1, // one\n  "mcpServers": {\n    // ours below?\n'
        '    "x": { "command": "y" } // last\n    // the end\n  } /* after */\n}\n// bye\n'
    ),
    "trailing commas": '{\n\t"mcpServers": {\n\t\t"x": {},\n\t},\n\t"z": [\n\t\t1,\n\t],\n}\n',
    "carriage returns": '{\r\n    "a": 1,\r\n    "mcpServers": {\r\n        "x": {}\r\n    }\r\n}\r\n',
    "no last newline": '{\n  "mcpServers": {"y": null}\n}',
    "a closing brace on the line of the last member": '{ "a": 1,\n  "mcpServers": { "x": 1 } }',
    "words in strings that look like marks": '{"a": "// no comment, } and ] and /* */", "b\\"": "\\u00e9"}\n',
    "a group of others beside ours": '{"hooks": {"Stop": [{"hooks": [{"command": "chime"}]}]}}',
}


def expected(text: str, piece: Member | Hook) -> Any:
    """What a file says with the piece in it, by means of Python alone."""
    value = holder = jsonc.read(text)
    for key in piece.path[:-1]:
        holder = holder.setdefault(key, {})
    if isinstance(piece, Member):
        holder[piece.path[-1]] = piece.value
    else:
        holder.setdefault(piece.path[-1], []).append(piece.value)
    return value


# --- JSON ---


@pytest.mark.parametrize("text", (EMPTY | JSON_FILES).values(), ids=EMPTY | JSON_FILES)
@pytest.mark.parametrize("piece", [SERVER, HOOK], ids=["member", "hook"])
def test_a_piece_of_json_goes_in_once_and_keeps_what_was_there(text: str, piece: Member | Hook):
    once = apply(text.encode(), [piece]).decode()

    assert jsonc.read(once) == expected(text, piece)
    assert apply(once.encode(), [piece]).decode() == once
    assert all(comment in once for comment in re.findall(r"// \w+|/\* \w+ \*/", text))
    assert once.count("\r\n") == (once.count("\n") if "\r" in text else 0)


@pytest.mark.parametrize("text", JSON_FILES.values(), ids=JSON_FILES)
@pytest.mark.parametrize("piece", [SERVER, HOOK], ids=["member", "hook"])
def test_a_piece_of_json_comes_out_to_the_byte(text: str, piece: Member | Hook):
    assert strip(apply(text.encode(), [piece]), [piece], text.encode()) == text.encode()


@pytest.mark.parametrize("text", EMPTY.values(), ids=EMPTY)
def test_an_empty_object_comes_out_empty(text: str):
    out = strip(apply(text.encode(), [SERVER]), [SERVER], text.encode()).decode()

    assert jsonc.read(out) == {}
    assert ("nothing yet" in out) == ("nothing yet" in text)


def test_a_byte_order_mark_stays():
    text = b'\xef\xbb\xbf{\n  "a": 1\n}\n'

    assert apply(text, [SERVER]).startswith(b"\xef\xbb\xbf{\n")
    assert strip(apply(text, [SERVER]), [SERVER], text) == text


def test_a_new_member_is_written_in_the_style_of_its_file():
    text = '{\n    "mcpServers": {\n        "x": {}\n    }\n}\n'

    assert apply(text.encode(), [SERVER]).decode() == (
        '{\n    "mcpServers": {\n        "x": {},\n        "engram": {\n'
        '            "command": "/opt/engram",\n            "args": ["mcp"],\n            "env": {\n'
        '                "ENGRAM_AGENT": "x"\n            }\n        }\n    }\n}\n'
    )


def test_an_outdated_entry_is_brought_up_to_date_and_keeps_what_a_person_added():
    text = '{"mcpServers": {"engram": {"command": "/old", "timeout": 9, "env": {"ENGRAM_AGENT": "x"}}}}'
    new = jsonc.read(apply(text.encode(), [SERVER]).decode())["mcpServers"]["engram"]

    assert new == {**ENTRY, "timeout": 9}


def test_an_outdated_hook_is_brought_up_to_date_where_it_stands():
    text = (
        '{"hooks": {"Stop": [{"hooks": [{"command": "chime"}, {"command": "/old/engram hook stop --agent x"}]}]}}'
    )
    new = jsonc.read(apply(text.encode(), [HOOK]).decode())["hooks"]["Stop"]

    assert new == [{"hooks": [{"command": "chime"}, {"command": "/opt/engram hook stop --agent x"}]}]
    out = jsonc.read(strip(json.dumps({"hooks": {"Stop": new}}).encode(), [HOOK]).decode())
    assert out == {"hooks": {"Stop": [{"hooks": [{"command": "chime"}]}]}}


def test_a_piece_comes_out_of_a_file_that_others_changed_since():
    text = apply(b'{\n  "a": 1\n}\n', [SERVER, HOOK]).decode()
    changed = text.replace('"a": 1,', '"a": 2, // mine').replace('"hooks": {', '"more": true,\n  "hooks": {', 1)

    assert strip(changed.encode(), [SERVER, HOOK], b'{\n  "a": 1\n}\n').decode() == (
        '{\n  "a": 2, // mine\n  "more": true\n}\n'
    )


def test_a_default_is_set_where_it_is_missing_and_goes_with_the_last_of_ours():
    pieces = [Default(("version",), 1), HOOK]

    assert jsonc.read(apply(b"", pieces).decode())["version"] == 1
    assert jsonc.read(apply(b'{"version": 2}', pieces).decode())["version"] == 2
    assert strip(apply(b"", pieces), pieces) == b""
    assert strip(apply(b'{"version": 1}', pieces), pieces, b'{"version": 1}') == b'{"version": 1}'


TAKEN = {
    "a member of another": ('{"mcpServers": {"engram": {"command": "other"}}}', SERVER),
    "a member that is a word": ('{"mcpServers": {"engram": "off"}}', SERVER),
    "a parent that is a list": ('{"mcpServers": []}', SERVER),
    "a list that is an object": ('{"hooks": {"Stop": {"command": "x"}}}', HOOK),
    "a root that is a list": ("[]", SERVER),
    "a parent that stands there twice": ('{"mcpServers": {}, "mcpServers": {}}', SERVER),
    "a table of another": ('[mcp_servers.engram]\ncommand = "other"\n', TABLE),
    "a parent that is an inline table": ('mcp_servers = { x = { command = "y" } }\n', TABLE),
    "a parent that is a word": ('mcp_servers = "off"\n', TABLE),
    "a parent that is a list of tables": ('[[mcp_servers]]\ncommand = "y"\n', TABLE),
    "a mark without its end": ("<!-- begin -->\nwords\n", BLOCK),
    "marks in the wrong order": ("<!-- end -->\n<!-- begin -->\n", BLOCK),
    "a script of another": ("#!/bin/sh\necho mine\n", SCRIPT),
    "a script that calls us and more": ("#!/bin/sh\naudit\nexec /opt/engram hook stop --agent x\n", SCRIPT),
    "a script that calls more on our line": ("#!/bin/sh\nexec audit; engram hook stop --agent x\n", SCRIPT),
    "a script of another program": ("#!/bin/sh\nexec /my/wrapper hook stop --agent x\n", SCRIPT),
    "a script for another agent": ("#!/bin/sh\nexec /opt/engram hook stop --agent y\n", SCRIPT),
    "a script that cannot be read": ("#!/bin/sh\nexec 'engram hook stop --agent x\n", SCRIPT),
}


@pytest.mark.parametrize(("text", "piece"), TAKEN.values(), ids=TAKEN)
def test_a_place_that_is_taken_is_refused(text: str, piece: Any):
    with pytest.raises(Conflict):
        apply(text.encode(), [piece])


BROKEN = ["{", '{"a" 1}', '{"a": 1 "b": 2}', '{"a": }', "{} {}", '{"a": "b}', "nonsense", '{"a": \\u12}', "[" * 500]
BROKEN += ['{"a": ' + "9" * 5000 + "}"]


@pytest.mark.parametrize("text", BROKEN, ids=lambda text: text[:20])
def test_what_is_not_json_is_refused(text: str):
    with pytest.raises(Invalid, match="not valid JSON"):
        apply(text.encode(), [SERVER])


def test_what_is_not_utf_8_is_refused():
    with pytest.raises(Invalid, match="UTF-8"):
        apply(b'{"a": "\xff"}', [SERVER])


BLANKS = st.sampled_from(["", "", " ", "\n", "\n  ", "\r\n\t", " /* a */ ", " // b\n", "\n// c }\n"])
PLAIN = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
VALUES = st.recursive(
    PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def files(draw: st.DrawFn) -> str:
    """JSON with comments, written by somebody with odd habits."""

    def written(value: Any) -> str:
        if isinstance(value, dict):
            parts = [
                f"{json.dumps(key)}{draw(BLANKS)}:{draw(BLANKS)}{written(each)}" for key, each in value.items()
            ]
            return inside("{", parts, "}")
        if isinstance(value, list):
            return inside("[", [written(each) for each in value], "]")
        return json.dumps(value, ensure_ascii=draw(st.booleans()))

    def inside(begin: str, parts: list[str], end: str) -> str:
        padded = [draw(BLANKS) + part + draw(BLANKS) for part in parts]
        last = "," + draw(BLANKS) if parts and draw(st.booleans()) else ""
        return begin + (",".join(padded) or draw(BLANKS)) + last + end

    value = draw(st.dictionaries(st.sampled_from(["a", "mcpServers", "hooks", "é"]), VALUES, max_size=3))
    for key in ("mcpServers", "hooks"):
        if not isinstance(value.get(key, {}), dict):
            value[key] = {}
    value.get("mcpServers", {}).pop("engram", None)
    value.get("hooks", {}).pop("Stop", None)
    return draw(BLANKS) + written(value) + draw(BLANKS)


@given(files())
def test_whatever_the_habits_of_a_file_a_piece_goes_in_and_comes_out(text: str):
    once = apply(text.encode(), [SERVER, HOOK])

    assert jsonc.read(once.decode()) == expected(json.dumps(expected(text, SERVER)), HOOK)
    assert apply(once, [SERVER, HOOK]) == once
    assert jsonc.read(strip(once, [SERVER, HOOK], text.encode()).decode()) == jsonc.read(text)


# --- TOML ---

TOML_FILES = {
    "keys alone": 'model = "x" # c\n',
    "no last newline": 'model = "x"',
    "tables": '[a]\nb = 1\n\n# about c\n[c.d]\ne = [\n  ["f"],\n  ["g"]\n]\n',
    "carriage returns": "[a]\r\nb = 1\r\n",
    "a text that looks like a header": "x = \"\"\"\n[mcp_servers.engram]\n\"\"\"\ny = '''\n[a]'''\n",
    "other servers": '[mcp_servers.x]\ncommand = "y"\n[mcp_servers.x.env]\nA = "[b]" # [c]\n\n\n[[z]]\n',
}


@pytest.mark.parametrize("text", TOML_FILES.values(), ids=TOML_FILES)
def test_a_table_goes_in_once_and_comes_out_to_the_byte(text: str):
    once = apply(text.encode(), [TABLE])
    data = tomllib.loads(text)
    data.setdefault("mcp_servers", {})["engram"] = ENTRY

    assert tomllib.loads(once.decode()) == data
    assert apply(once, [TABLE]) == once
    assert strip(once, [TABLE], text.encode()) == text.encode()


def test_a_table_takes_the_tables_below_it_along():
    text = "a = 1\n"
    more = (
        apply(text.encode(), [TABLE]).decode()
        + '\n[mcp_servers.engram.tools.recall]\nmode = "approve"\n\n[b]\nc = 2\n'
    )

    assert strip(more.encode(), [TABLE], text.encode()).decode() == "a = 1\n\n[b]\nc = 2\n"


def test_an_outdated_table_is_brought_up_to_date_and_keeps_what_a_person_added():
    text = (
        '[mcp_servers.engram]\n# mine\ncommand = "/old"\nstartup_timeout_sec = 30\nenv = { ENGRAM_AGENT = "x" }\n'
    )
    new = apply(text.encode(), [TABLE]).decode()

    assert tomllib.loads(new)["mcp_servers"]["engram"] == {**ENTRY, "startup_timeout_sec": 30}
    assert "# mine\n" in new


def test_a_table_in_a_form_we_cannot_edit_is_refused():
    inline = '[mcp_servers]\nengram = { command = "/old", args = ["mcp"], env = { ENGRAM_AGENT = "x" } }\n'
    for change in (lambda: apply(inline.encode(), [TABLE]), lambda: strip(inline.encode(), [TABLE])):
        with pytest.raises(Conflict, match="did not write"):
            change()


@pytest.mark.parametrize(
    "text",
    ["a = \n", f"a = {'9' * 5000}\n", f"a = {'[' * 2000}{']' * 2000}\n"],
    ids=lambda text: text[:20],
)
def test_what_is_not_toml_is_refused(text: str):
    with pytest.raises(Invalid, match="not valid TOML"):
        apply(text.encode(), [TABLE])


# --- text ---

TEXTS = ["", "# Mine\n", "# Mine", "# Mine\n\n", "a\r\nb\r\n", "\n"]


@pytest.mark.parametrize("text", TEXTS)
def test_a_block_goes_in_once_and_comes_out_to_the_byte(text: str):
    once = apply(text.encode(), [BLOCK])

    assert once.startswith(text.encode())
    assert apply(once, [BLOCK]) == once
    assert strip(once, [BLOCK], text.encode()) == text.encode()


def test_a_block_is_replaced_where_it_stands_and_text_around_it_stays():
    old = apply(b"# Mine\n", [BLOCK._replace(text="Old.")]) + b"\nAfter.\n"

    assert apply(old, [BLOCK]).decode() == "# Mine\n\n<!-- begin -->\nOne.\nTwo.\n<!-- end -->\n\nAfter.\n"
    assert strip(apply(old, [BLOCK]), [BLOCK], b"# Mine\n").decode() == "# Mine\n\nAfter.\n"


def test_a_block_with_a_front_takes_it_along_only_where_nothing_else_is_left():
    piece = BLOCK._replace(front="---\ntitle: x\n---\n\n")
    once = apply(b"", [piece])

    assert once.decode() == "---\ntitle: x\n---\n\n<!-- begin -->\nOne.\nTwo.\n<!-- end -->\n"
    assert apply(once, [piece]) == once
    assert strip(once, [piece]) == b""
    assert strip(once + b"Mine.\n", [piece]).decode() == "---\ntitle: x\n---\nMine.\n"
    assert strip(apply(b"Mine.\n", [piece]), [piece], b"Mine.\n") == b"Mine.\n"


@pytest.mark.parametrize("start", ["/opt/engram", "'/my tools/engram'", "/usr/bin/python3 -m engram.surfaces.cli"])
def test_a_script_of_ours_is_written_anew_and_goes_as_it_came(start: str):
    old = f"#!/bin/sh\nexec {start} hook stop --agent x\n".encode()

    assert apply(old, [SCRIPT]) == apply(b"", [SCRIPT]) == b"#!/bin/sh\nexec /opt/engram hook stop --agent x\n"
    assert strip(old, [SCRIPT]) == b""
    assert strip(b"somebody else's\n", [SCRIPT]) == b"somebody else's\n"


def test_a_script_that_a_person_added_to_is_not_taken_out():
    with pytest.raises(Conflict, match="not what setup writes"):
        strip(apply(b"", [SCRIPT]) + b"echo mine\n", [SCRIPT])


# --- what spoke of Engram before ---

OWN = {"command": "/my/wrapper", "args": ["x"], "env": {"ENGRAM_AGENT": "me", "ENGRAM_STORE": "/data/m.db"}}
OWN_TABLE = """a = 1

[mcp_servers.engram]
command = "/my/wrapper" # mine
env = { ENGRAM_AGENT = "me", ENGRAM_STORE = "/data/m.db" }

[mcp_servers.engram.tools.recall]
mode = "approve"

[b]
"""


@pytest.mark.parametrize(
    ("text", "piece"),
    [
        (json.dumps({"a": 1, "mcpServers": {"engram": OWN, "z": {}}}), SERVER),
        (json.dumps({"hooks": {"Stop": [{"command": "nice engram hook stop --agent x"}, {"command": "b"}]}}), HOOK),
        (OWN_TABLE, TABLE),
        ("Mine.\n\n<!-- begin -->\nMine too.\n<!-- end -->\n\nAfter.\n", BLOCK),
    ],
    ids=["member", "hook", "table", "block"],
)
def test_what_spoke_of_engram_before_comes_back_as_it_was(text: str, piece: Any):
    once = apply(text.encode(), [piece])

    assert once != text.encode()
    assert strip(once, [piece], text.encode()).decode() == text


def test_what_a_person_put_beside_ours_stays_at_every_depth():
    json_text = json.dumps({"mcpServers": {"engram": OWN}})
    toml_text = '[mcp_servers.engram]\ncommand = "/w"\nenv = { ENGRAM_AGENT = "me", ENGRAM_STORE = "/data/m.db" }\n'
    entries = (
        jsonc.read(apply(json_text.encode(), [SERVER]).decode())["mcpServers"]["engram"],
        tomllib.loads(apply(toml_text.encode(), [TABLE]).decode())["mcp_servers"]["engram"],
    )

    for entry in entries:
        assert entry == {**ENTRY, "env": {"ENGRAM_AGENT": "x", "ENGRAM_STORE": "/data/m.db"}}
