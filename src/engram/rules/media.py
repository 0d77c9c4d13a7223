"""What the bytes of an attachment are, told by looking at them: no name and no claim is believed alone."""

from collections.abc import Collection, Mapping

from engram.errors import Unsupported

HEAD = 4096
"""How many bytes at the beginning are looked at for signs."""

UNKNOWN, TEXT, PROGRAM = "application/octet-stream", "text/plain", "application/x-executable"

SIGNS: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"\x1aE\xdf\xa3", "video/webm"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"\xff\xf3", "audio/mpeg"),
    (b"\xff\xf2", "audio/mpeg"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (b"\x00asm", "application/wasm"),
    (b"\x7fELF", PROGRAM),
    (b"MZ", PROGRAM),
    (b"\xca\xfe\xba\xbe", PROGRAM),
    (b"\xcf\xfa\xed\xfe", PROGRAM),
    (b"\xce\xfa\xed\xfe", PROGRAM),
    (b"\xfe\xed\xfa\xce", PROGRAM),
    (b"\xfe\xed\xfa\xcf", PROGRAM),
)
"""How files of a type begin. What is text is none of these, whatever its first letters are, but for PDF."""

RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
BRANDS = {b"avif": "image/avif", b"heic": "image/heic", b"heix": "image/heic", b"mif1": "image/heic",
          b"M4A ": "audio/mp4"}  # fmt: skip
MARKUP = (b"<!doctype html", b"<html", b"<head", b"<body", b"<script", b"<iframe", b"<svg", b"<?xml", b"#!")
"""How a text begins that another program would run or draw instead of showing it."""

OFFICE = "application/vnd.openxmlformats-officedocument"
FAMILIES: Mapping[str, frozenset[str]] = {
    TEXT: frozenset({
        "text/markdown", "text/csv", "text/tab-separated-values", "text/html", "text/xml", "text/javascript",
        "text/css", "text/x-script", "image/svg+xml", "application/json", "application/x-ndjson",
        "application/yaml", "application/toml", "application/xml", "application/xhtml+xml",
    }),
    "text/xml": frozenset({"image/svg+xml", "application/xml", "application/xhtml+xml"}),
    "application/zip": frozenset({
        f"{OFFICE}.wordprocessingml.document", f"{OFFICE}.spreadsheetml.sheet",
        f"{OFFICE}.presentationml.presentation", "application/epub+zip", "application/java-archive",
        "application/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.spreadsheet",
    }),
    "application/gzip": frozenset({"application/x-gzip"}),
    "audio/ogg": frozenset({"audio/opus", "video/ogg", "application/ogg"}),
    "video/webm": frozenset({"audio/webm", "video/x-matroska"}),
    "video/mp4": frozenset({"audio/mp4", "video/quicktime"}),
}  # fmt: skip
"""What bytes that look like one type may be more exactly."""

BY_NAME: Mapping[str, str] = {
    "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif", "webp": "image/webp",
    "avif": "image/avif", "heic": "image/heic", "svg": "image/svg+xml", "pdf": "application/pdf",
    "txt": TEXT, "log": TEXT, "md": "text/markdown", "csv": "text/csv", "tsv": "text/tab-separated-values",
    "html": "text/html", "htm": "text/html", "xhtml": "application/xhtml+xml", "xml": "text/xml",
    "css": "text/css", "js": "text/javascript", "mjs": "text/javascript", "json": "application/json",
    "jsonl": "application/x-ndjson", "ndjson": "application/x-ndjson", "yaml": "application/yaml",
    "yml": "application/yaml", "toml": "application/toml", "zip": "application/zip", "gz": "application/gzip",
    "tgz": "application/gzip", "jar": "application/java-archive", "epub": "application/epub+zip",
    "docx": f"{OFFICE}.wordprocessingml.document", "xlsx": f"{OFFICE}.spreadsheetml.sheet",
    "pptx": f"{OFFICE}.presentationml.presentation", "odt": "application/vnd.oasis.opendocument.text",
    "ods": "application/vnd.oasis.opendocument.spreadsheet", "mp3": "audio/mpeg", "wav": "audio/wav",
    "ogg": "audio/ogg", "flac": "audio/flac", "m4a": "audio/mp4", "mp4": "video/mp4", "webm": "video/webm",
    "exe": PROGRAM, "dll": PROGRAM, "so": PROGRAM, "msi": PROGRAM, "com": PROGRAM, "scr": PROGRAM,
    "lnk": PROGRAM, "app": PROGRAM, "sh": "text/x-script", "bat": "text/x-script", "cmd": "text/x-script",
    "ps1": "text/x-script", "vbs": "text/x-script", "hta": "text/x-script", "desktop": "text/x-script",
    "wasm": "application/wasm", "sqlite": "application/vnd.sqlite3",
}  # fmt: skip
"""What the end of a name says of the type."""

TAKEN: tuple[str, ...] = (
    "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/heic", "application/pdf",
    TEXT, "text/markdown", "text/csv", "text/tab-separated-values", "application/json", "application/x-ndjson",
    "application/yaml", "application/toml", "audio/mpeg", "audio/wav", "audio/ogg", "audio/flac", "audio/mp4",
    "video/mp4", "video/webm", "application/zip", "application/gzip", f"{OFFICE}.wordprocessingml.document",
    f"{OFFICE}.spreadsheetml.sheet", f"{OFFICE}.presentationml.presentation",
)  # fmt: skip
"""The types that are taken unless the settings name others: none that a program would run."""

_CONTROL = bytes(sorted(set(range(32)) - {9, 10, 12, 13, 27}))  # escapes colour the logs people attach


class Look:
    """A look at bytes as they come by: at their beginning, and at all of them for whether they are text."""

    def __init__(self) -> None:
        self._head, self._rest, self._text = b"", b"", True

    def see(self, block: bytes) -> None:
        """Look at some more."""
        self._head += block[: HEAD - len(self._head)]
        if not self._text:
            return
        said, self._rest = self._rest + block, b""
        try:
            said.decode()
        except UnicodeDecodeError as error:
            self._rest = said[error.start :]  # a character may go on in the next block
            self._text = error.reason == "unexpected end of data"
        self._text = self._text and len(said.translate(None, _CONTROL)) == len(said)

    def type(self) -> str:
        """What all that was seen is."""
        if self._text and not self._rest:
            return _of_text(self._head)
        if self._head[:4] == b"RIFF":
            return RIFF.get(self._head[8:12], UNKNOWN)
        if self._head[4:8] == b"ftyp":
            return BRANDS.get(self._head[8:12], "video/mp4")
        return next((type for sign, type in SIGNS if self._head.startswith(sign)), UNKNOWN)


def is_text(media_type: str) -> bool:
    """Whether what is of this type can be read as text."""
    return media_type == TEXT or media_type in FAMILIES[TEXT]


def _of_text(head: bytes) -> str:
    if head.startswith(b"%PDF-"):
        return "application/pdf"
    lead = head.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    begins = next((each for each in MARKUP if lead.startswith(each)), b"")
    if not begins:
        return TEXT
    if begins == b"#!":
        return "text/x-script"
    if b"<svg" in lead:
        return "image/svg+xml"
    return "text/xml" if begins == b"<?xml" else "text/html"


def settled(look: Look, name: str, claimed: str, taken: Collection[str]) -> str:
    """The type under which bytes are kept: as claimed, else as the name says, else as they look.

    Raises:
        Unsupported: when the bytes are not what they are said to be, or the type is not taken here.
    """
    seen = look.type()
    claim = claimed.partition(";")[0].strip().lower()
    named = BY_NAME.get(name.rpartition(".")[2].lower(), "") if "." in name else ""
    said = [each for each in (claim if claim != UNKNOWN else "", named) if each]
    for each in said:
        if each != seen and each not in FAMILIES.get(seen, ()):
            hint = (
                "Leave its type out, and it is taken from its bytes."
                if each == claim
                else "Its name says otherwise: give it one that fits what it is."
            )
            raise Unsupported(f"This is not {each}: by its bytes it is {seen}.", hint)
    type = said[0] if said else seen
    if wrong := [each for each in (type, *said) if each not in taken]:
        raise Unsupported(
            f"Attachments of the type {wrong[0]} are not taken here.",
            "Attach another form of it, or add the type to the setting asset_types.",
        )
    return type
