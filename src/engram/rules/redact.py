"""What must not be kept: private spans and credentials are taken out of a text before anything is stored.

Each reader reports spans: the tags `<private>…</private>`, armoured keys, a table of credential shapes, and a
gate for long unlabelled tokens that look random. The spans are united and replaced by marks. A text that
changed is read again until nothing more is found, so the answer is stable by construction: taking something
out may join what stood around it to a new secret.

Nothing is compiled when the module is imported, and a plain text leaves before any pattern is tried.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from math import log2
from typing import NamedTuple


class Redaction(NamedTuple):
    """Text that may be stored, and what was taken out of it."""

    text: str
    kinds: tuple[str, ...]


def redact(text: str) -> Redaction:
    """Replace private spans and credentials by marks `[redacted:KIND]`; `kinds` lists them in order.

    Idempotent. A text that still changes after several readings was built to confuse and is withheld whole.
    """
    marks: list[_Span] = []
    for _ in range(_READINGS):
        found = _found(text)
        if not found:
            return Redaction(text, tuple(mark.kind for mark in marks))
        text, marks = _replaced(text, _united([*marks, *found]))
    return Redaction(_mark("unreadable"), ("unreadable",))


_READINGS = 8


class _Span(NamedTuple):
    """A piece of text to replace; of two that overlap, the kind of the lower rank stays."""

    start: int
    end: int
    rank: int
    kind: str


def _mark(kind: str) -> str:
    """What stands for a removed span; the empty kind is a tag that is dropped without a trace."""
    return f"[redacted:{kind}]" if kind else ""


def _united(spans: Iterable[_Span]) -> list[_Span]:
    """The same ground covered by spans that do not overlap, in order."""
    united: list[_Span] = []
    for span in sorted(spans):
        if united and span.start < united[-1].end:
            last = united[-1]
            best = min(last, span, key=lambda one: one.rank)
            united[-1] = _Span(last.start, max(last.end, span.end), best.rank, best.kind)
        else:
            united.append(span)
    return united


def _replaced(text: str, spans: list[_Span]) -> tuple[str, list[_Span]]:
    """The text with every span replaced, and where the marks now stand."""
    pieces: list[str] = []
    marks: list[_Span] = []
    read = written = 0
    for span in spans:
        mark = _mark(span.kind)
        start = written + span.start - read
        pieces += (text[read : span.start], mark)
        read, written = span.end, start + len(mark)
        if mark:
            marks.append(_Span(start, written, span.rank, span.kind))
    pieces.append(text[read:])
    return "".join(pieces), marks


def _found(text: str) -> list[_Span]:
    """Every span to replace, in no order; the cheap questions come first, for most texts hold nothing."""
    spans: list[_Span] = []
    lowered = text.lower()
    if "<" in text and "private" in lowered:
        spans += _private(text)
    if "-begin" in lowered or "- begin" in lowered:
        spans += _key_blocks(text)
    if "=" in text or ":" in text or "：" in text or _any(_SPOKEN, lowered):  # noqa: RUF001 (full-width colon)
        spans += _by_table(text, lowered, _CONTEXTS, _CONTEXT_RANK, re.ASCII | re.IGNORECASE)
    if _compiled(_LONG_RUN).search(text):
        spans += _by_table(text, lowered, _TOKENS, _TOKEN_RANK, re.ASCII)
        spans += _random_runs(text)
    return spans


@cache
def _compiled(pattern: str, flags: int = re.ASCII) -> re.Pattern[str]:
    return re.compile(pattern, flags)


def _any(anchors: tuple[str, ...], lowered: str) -> bool:
    for anchor in anchors:  # noqa: SIM110 (a generator here would double the cost of a plain text)
        if anchor in lowered:
            return True
    return False


# --- Private spans ---

_PRIVATE_RANK = 0

# White space and attributes are bounded, so that a row of half-open tags costs no more than its length.
_PRIVATE_TAG = r"<\s{0,9}(/?)\s{0,9}private(?:[\s/][^<>]{0,500})?>"


def _private(text: str) -> Iterator[_Span]:
    """Outermost private spans; one that is never closed reaches to the end of the text.

    A closing tag without an opening one is dropped: what it was meant to close cannot be known.
    """
    depth = start = 0
    for tag in _compiled(_PRIVATE_TAG, re.IGNORECASE | re.ASCII).finditer(text):
        if not tag[1]:
            start = start if depth else tag.start()
            depth += 1
        elif depth == 0:
            yield _Span(*tag.span(), _PRIVATE_RANK, "")
        else:
            depth -= 1
            if depth == 0:
                yield _Span(start, tag.end(), _PRIVATE_RANK, "private")
    if depth:
        yield _Span(start, len(text), _PRIVATE_RANK, "private")


# --- Key blocks ---

_BLOCK_RANK = 1
_BLOCK_EDGE = r"-{4,5} ?(BEGIN|END) ((?:[A-Z0-9]{1,12} ){0,4})PRIVATE KEY(?: BLOCK)? ?-{4,5}"

# The body of a block that was cut off: header lines, and runs of base64 divided by real or written line ends.
_BLOCK_BODY = (
    r"(?:(?:[\s>|#\"',]|\\[nr])++(?:(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): [^\n]{0,200}+"
    r"|[A-Za-z0-9+/=]{16,}+))++(?:(?:[\s>|#\"',]|\\[nr])*+[A-Za-z0-9+/=]*+\s*+\Z)?+"
)


def _key_blocks(text: str) -> Iterator[_Span]:
    """Private keys in PEM or PGP armour, and what is there of one whose END line is missing.

    The mere mention of a BEGIN line, with no key after it, stays.
    """
    edges = list(_compiled(_BLOCK_EDGE).finditer(text))
    for place, edge in enumerate(edges):
        if edge[1] == "END":
            continue
        following = edges[place + 1] if place + 1 < len(edges) else None
        kind = "pgp-private-key" if "PGP" in edge[2] else "private-key"
        if following is not None and following[1] == "END":
            yield _Span(edge.start(), following.end(), _BLOCK_RANK, kind)
        elif body := _compiled(_BLOCK_BODY).match(text, edge.end()):
            yield _Span(edge.start(), body.end(), _BLOCK_RANK, kind)


# --- What a value looks like ---

# Words as people write identifiers: TOKEN, Token, token, 2024.
_PIECE = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"

_STAND_IN = (
    r"^(?:\$[A-Za-z_]\w*$|\$[{(]|<|\{|%\w+%|\*{3}|\[redacted:[a-z0-9-]+\]|\.\.\.|xxx|arn:|op:/|env[.:\[(]|process\.|os\."
    r"|(?:sha-?\d+|md5|bcrypt|scrypt|argon2i?d?|pbkdf2|oauth-?2|base64|utf-?8|1password|lastpass|bitwarden)$"
    r"|(?:[a-z]+[_-])*(?:password|passwd|secret|token|key)[_-]?\d?$)"
    r"|your|example|placeholder|change[_-]?me|redacted|dummy|sample|\*\*\*|xxxx|\.\.\.|://"
)
_CODE = r"^[A-Za-z_][\w.]*[(\[]|^\(?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$|^v?\d+(?:\.\d+)+|^\d{4}-\d\d-\d\dT"
_JOINED = r"^[./~]*[A-Za-z0-9]+(?:[-_./:\\]+[A-Za-z0-9]+)+/?$"


def _stands_in(value: str) -> bool:
    """Whether the value only holds the place of a secret, or is code or an address that leads to one."""
    return bool(_compiled(_STAND_IN, re.ASCII | re.IGNORECASE).search(value) or _compiled(_CODE).match(value))


def _worded(value: str, least: float = 2.75) -> bool:
    """Whether the value falls into pieces as long as words; random characters change class sooner."""
    pieces: list[str] = _compiled(_PIECE).findall(value)
    return sum(map(len, pieces)) >= least * len(pieces)


def _mixed(value: str) -> int:
    """How many of lower case, upper case, digits and signs occur."""
    return sum(bool(_compiled(one).search(value)) for one in ("[a-z]", "[A-Z]", "[0-9]", "[^A-Za-z0-9]"))


def _joined_words(value: str) -> bool:
    """Whether the value is words and numbers joined by hyphens, dots, slashes and their like."""
    return bool(_compiled(_JOINED).match(value)) and _worded(value, 2.4)


def _any_value(_value: str) -> bool:
    return True


def _is_password(value: str) -> bool:
    """For `password = …`: what is no plain word and holds no place."""
    if len(value) < 6 or _stands_in(value):
        return False
    if not _compiled(r"[0-9]").search(value) and (value.isalpha() or _joined_words(value)):
        return not _worded(value, 2.4)
    return _mixed(value) > 1 or value.isdigit()


def _is_named_password(value: str) -> bool:
    """For `password: …`, which prose writes too: joined words are left as well."""
    return _is_password(value) and not _joined_words(value)


def _is_spoken_password(value: str) -> bool:
    """For `the password is …`, which is mostly prose: letters with a digit or a sign among them, and no words."""
    if len(value) < 5 or _stands_in(value) or _joined_words(value):
        return False
    signed = _compiled(r"[A-Za-z0-9][!@#$%^&*+=?][!-~]").search(value)
    return bool(_compiled(r"[A-Za-z]").search(value) and (_compiled(r"[0-9]").search(value) or signed))


def _is_secret_word(value: str) -> bool:
    """For `my password is …`, where it ends a clause: a word that says nothing about the password itself."""
    word = value.lower()
    told = _compiled(rf"{_STATES}|.*(?:ed|ing|able|ible|ous|ive|less|ly)").fullmatch(word)
    return not told and not _stands_in(value)


def _is_secret_phrase(value: str) -> bool:
    """For `my passphrase is …`: several words, and none that a sentence is held together by."""
    words = value.lower().replace("-", " ").split()
    binding = _compiled(_BINDING)
    return all(len(word) > 2 and not binding.fullmatch(word) for word in words) and _is_secret_word(words[0])


def _is_credential(value: str) -> bool:
    """For `token: …` and its like, words with many uses: digits among letters, and no joined words."""
    if len(value) < 8:
        return False
    letters = sum(map(str.isalpha, value))
    digits = sum(map(str.isdigit, value))
    if letters == len(value):
        return letters >= 16 and not _worded(value)
    if letters < 2 or not (digits > 1 or (digits == 1 and _mixed(value) > 2)):
        return False
    return not _stands_in(value) and not _joined_words(value)


def _is_header_value(value: str) -> bool:
    """For an `Authorization` header: anything but a single plain word or a stand-in."""
    plain = _compiled(r"[A-Za-z]?(?:[a-z_-]+|[A-Z_-]+)[.,]?").fullmatch(value)
    return not plain and not _stands_in(value) and not (value.isalpha() and _worded(value))


def _is_url_password(value: str) -> bool:
    """For `scheme://user:…@host`: even a plain word, unless it only names what belongs there."""
    return value.lower() not in {"pass", "pwd"} and not _stands_in(value)


def _is_not_kebab(value: str) -> bool:
    """Keeps `sk-learn-contrib-…`: a key of this form has digits and both cases."""
    return _mixed(value) > 3 or not _joined_words(value)


# What a password may be said to be, without telling it.
_STATES = (
    r"absent|alphanumeric|ascii|back|bad|bare|blank|broken|case|clear|cleartext|complex|"
    r"default|different|easy|empty|exposed|fine|gone|good|great|hard|here|hidden|insecure|"
    r"invalid|kept|known|later|local|long|lost|mandatory|masked|mine|missing|more|new|none|"
    r"not|null|numeric|okay|old|online|optional|permanent|plain|plaintext|private|public|"
    r"random|ready|right|safe|same|secret|secure|sensitive|sent|set|short|shown|simple|stale|"
    r"strong|stuck|temporary|there|unique|unknown|unsafe|unset|valid|visible|weak|written|"
    r"wrong|yours"
)

_BINDING = (
    r"and|are|because|been|before|but|can|could|does|each|every|for|from|had|has|have|how|"
    r"into|like|likely|long|many|more|most|much|must|needs|never|not|now|once|one|only|"
    r"our|out|over|per|same|should|since|some|than|that|the|their|then|there|they|this|"
    r"too|two|until|very|was|what|when|where|which|who|why|will|with|within|without|would|"
    r"you|your"
)


# --- The table ---


class _Rule(NamedTuple):
    """One shape: tried when an anchor (lower case) occurs; the last group matched is the secret."""

    kind: str
    anchors: tuple[str, ...]
    pattern: str
    judge: Callable[[str], bool] = _any_value


_TOKEN_RANK = 10
_CONTEXT_RANK = 100
_GATE_RANK = 1000

# `\b` would count CJK characters as letters and miss a key that stands beside them.
_L = r"(?<![A-Za-z0-9_])"
_R = r"(?![A-Za-z0-9_-])"

# Shapes that speak for themselves. Each holds a run of 20 or more characters, which `_LONG_RUN` asks for.
_TOKENS = (
    _Rule("aws-access-key", ("akia", "asia", "abia", "acca"), _L + r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}" + _R),
    _Rule("github-token", ("github_pat_",), _L + r"github_pat_[A-Za-z0-9_]{22,}"),
    _Rule("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), _L + r"gh[pousr]_[A-Za-z0-9]{30,}"),
    _Rule("gitlab-token", ("glpat-", "gldt-", "glrt-"), _L + r"gl(?:pat|dt|rt)-[A-Za-z0-9_-]{20,}"),
    _Rule("slack-token", ("xox",), _L + r"xox[abeoprs]-[A-Za-z0-9-]{16,}"),
    _Rule("slack-token", ("xapp-",), _L + r"xapp-\d-[A-Za-z0-9-]{20,}"),
    _Rule(
        "slack-webhook",
        ("hooks.slack.com",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/_-]{20,})",
    ),
    _Rule("discord-webhook", ("/api/webhooks/",), r"/api/webhooks/\d{16,20}/([A-Za-z0-9_-]{50,})"),
    _Rule("stripe-key", ("k_live_", "k_test_"), _L + r"[srp]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    _Rule("stripe-webhook-secret", ("whsec_",), _L + r"whsec_[A-Za-z0-9+/=]{24,}"),
    _Rule("anthropic-key", ("sk-ant-",), _L + r"sk-ant-[A-Za-z0-9_-]{16,}"),
    _Rule("openrouter-key", ("sk-or-",), _L + r"sk-or-v1-[0-9a-f]{40,}"),
    _Rule("openai-key", ("sk-",), _L + r"sk-[A-Za-z0-9_-]{20,}", _is_not_kebab),
    _Rule("google-api-key", ("aiza",), _L + r"AIza[A-Za-z0-9_-]{35,}"),
    _Rule("google-oauth-secret", ("gocspx-",), _L + r"GOCSPX-[A-Za-z0-9_-]{20,}"),
    _Rule("google-oauth-token", ("ya29.",), _L + r"ya29\.[A-Za-z0-9_-]{20,}"),
    _Rule("huggingface-token", ("hf_",), _L + r"hf_[A-Za-z0-9]{30,}"),
    _Rule("npm-token", ("npm_",), _L + r"npm_[A-Za-z0-9]{36,}"),
    _Rule("pypi-token", ("pypi-agei",), _L + r"pypi-AgEI[A-Za-z0-9_-]{30,}"),
    _Rule("rubygems-key", ("rubygems_",), _L + r"rubygems_[0-9a-f]{40,}"),
    _Rule("docker-token", ("dckr_pat_",), _L + r"dckr_pat_[A-Za-z0-9_-]{20,}"),
    _Rule("sendgrid-key", ("sg.",), _L + r"SG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}"),
    _Rule("twilio-key", ("sk", "ac"), _L + r"(?:SK|AC)[0-9a-f]{32}" + _R),
    _Rule("mailgun-key", ("key-",), _L + r"key-[0-9a-f]{32}" + _R),
    _Rule("mailchimp-key", ("-us",), _L + r"[0-9a-f]{32}-us\d{1,2}" + _R),
    _Rule("brevo-key", ("xkeysib-",), _L + r"xkeysib-[0-9a-f]{40,}(?:-[A-Za-z0-9]{1,40})?"),
    _Rule("digitalocean-token", ("_v1_",), _L + r"do[opr]_v1_[0-9a-f]{40,}"),
    _Rule("shopify-token", ("shp",), _L + r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32,}"),
    _Rule("square-token", ("sq0",), _L + r"sq0[a-z]{3}-[A-Za-z0-9_-]{22,}"),
    _Rule("square-token", ("eaaa",), _L + r"EAAA[A-Za-z0-9_-]{60}" + _R),
    _Rule("telegram-token", (":aa",), _L + r"\d{8,10}:AA[A-Za-z0-9_-]{32,}"),
    _Rule("discord-token", (".",), _L + r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"),
    _Rule("databricks-token", ("dapi",), _L + r"dapi[0-9a-f]{32}(?:-\d{1,2})?" + _R),
    _Rule("linear-key", ("lin_",), _L + r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}"),
    _Rule("notion-token", ("ntn_", "secret_"), _L + r"(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43})" + _R),
    _Rule("figma-token", ("figd_",), _L + r"figd_[A-Za-z0-9_-]{30,}"),
    _Rule("sentry-token", ("sntry",), _L + r"sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    _Rule("vault-token", ("hvs.", "hvb.", "hvr."), _L + r"hv[sbr]\.[A-Za-z0-9_-]{20,}"),
    _Rule("terraform-token", (".atlasv1.",), _L + r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}"),
    _Rule("doppler-token", ("dp.",), _L + r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{36,}"),
    _Rule("postman-key", ("pmak-",), _L + r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    _Rule(
        "grafana-token",
        ("glsa_", "glc_"),
        _L + r"(?:glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|glc_[A-Za-z0-9+/=]{32,})",
    ),
    _Rule("atlassian-token", ("atatt3", "atctt3"), _L + r"AT[AC]TT3[A-Za-z0-9_=-]{50,}"),
    _Rule("airtable-token", ("pat",), _L + r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _Rule("newrelic-key", ("nrak-",), _L + r"NRAK-[A-Z0-9]{27}"),
    _Rule("groq-key", ("gsk_",), _L + r"gsk_[A-Za-z0-9]{40,}"),
    _Rule("xai-key", ("xai-",), _L + r"xai-[A-Za-z0-9]{60,}"),
    _Rule("replicate-token", ("r8_",), _L + r"r8_[A-Za-z0-9]{36,}"),
    _Rule("supabase-token", ("sbp_",), _L + r"sbp_[0-9a-f]{40,}"),
    _Rule("tailscale-key", ("tskey-",), _L + r"tskey-[a-z]{3,10}-[A-Za-z0-9-]{20,}"),
    _Rule("age-key", ("age-secret-key-",), _L + r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    _Rule(
        "jwt",
        ("eyj",),
        r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*)?",
    ),
)

_ASSIGN = r"[\"'`\]]{0,2}[ \t]{0,3}(?:=>|:=|={1,2}|＝)[ \t]{0,3}"  # noqa: RUF001 (full-width sign)
_COLON = r"[\"'`\]*]{0,3}[ \t]{0,3}[:：](?!=)[*]{0,2}[ \t]{0,3}"  # noqa: RUF001 (full-width colon)
_EITHER = r"[\"'`\]*]{0,3}[ \t]{0,3}(?:=>|:=|={1,2}|[:：＝])[*]{0,2}[ \t]{0,3}"  # noqa: RUF001
_SUFFIX = r"(?:[_-]?(?:\d{1,3}|prod|dev|staging|test|live|value))?"

# In quotes a value may hold any sign; bare it ends where a list, a query or a sentence goes on.
_VALUE = (
    r"(?:[\"'`]([!#-&(-_a-~]{3,512})[\"'`]?"
    r"|([!#-%(-:=?-_a-~]{3,512}(?<![.,:)\]}!?])))"
)
_WORD = (
    r"(?:password|passwd|passphrase|passwort|pwd|[_-]pass|mot de passe|contraseña|senha|[Пп]ароль"
    r"|密码|密碼|口令|パスワード|비밀번호|암호)"
)
_WORD_ANCHORS = (
    "pass",
    "pwd",
    "contraseña",
    "senha",
    "пароль",
    "密码",
    "密碼",
    "口令",
    "パスワード",
    "비밀번호",
    "암호",
)
_KEY_LABEL = (
    r"(?<!:)(?:(?:api|access|auth|account|secret|private|signing|encryption|master|shared|webhook)[_ -]?key"
    r"|(?:client|app|consumer|webhook)[_ -]?secret|secret|token|credentials?"
    r"|密钥|密鑰|令牌|トークン|シークレット|秘密鍵|APIキー|토큰|시크릿)"
)
_KEY_ANCHORS = (
    "key",
    "secret",
    "token",
    "credential",
    "bearer",
    "密",
    "令牌",
    "トークン",
    "シークレット",
    "キー",
    "토큰",
    "시크릿",
)

# How a password is spoken of: "the wifi password is …", "my passphrase for the backup is now …".
_SAID = (
    r"(?:password|passphrase|passcode|passwort|kennwort|contraseña)"
    r"(?: (?:for|to|of|für|zum|de) (?:[\w.'-]{1,30} ){1,4}?| )"
    r"(?:is|was|ist|lautet|es)(?: (?:now|still|currently|jetzt|ahora))?:? "
)
_OF_ONES_OWN = _L + r"(?:my|our|his|her|their|wi-?fi|meine?|unser|mi|nuestra) (?:[\w-]{1,20} ){0,2}?"
_CLAUSE_ENDS = r"(?=[ \t]{0,3}(?:[.,;!?)\n]|\Z|[ \t](?:and|but|for|on|so|und|aber|für|y|pero|para)(?![\w])))"

# Anchors of rules that need neither `=` nor `:` in the text.
_SPOKEN = (
    "bearer ",
    "password ",
    "passwort ",
    "passphrase ",
    "passcode ",
    "kennwort ",
    "contraseña ",
    "pin ",
    "--",
    "<pass",
)
_SAID_ANCHORS = ("password", "passwort", "passphrase", "passcode", "kennwort", "contraseña")

# Shapes that their surroundings give away; read without regard to case.
_CONTEXTS = (
    _Rule(
        "aws-secret-key",
        ("aws", "secret"),
        r"(?:aws[A-Za-z_ -]{0,24}|secret[_ -]?access[_ -]?)key"
        + _EITHER
        + r"[\"'`]?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
    ),
    _Rule("aws-session-token", ("session",), r"aws_?session_?token" + _EITHER + r"[\"'`]?([A-Za-z0-9/+=]{50,})"),
    _Rule(
        "azure-key",
        ("accountkey", "accesskey"),
        r"(?:Account|SharedAccess)Key[ ]?=[ ]?([A-Za-z0-9+/]{32,}={0,2})",
    ),
    _Rule("azure-signature", ("sig=",), r"(?<![A-Za-z0-9_])sig=([A-Za-z0-9%+/_-]{24,}={0,2})"),
    _Rule(
        "heroku-key",
        ("heroku",),
        r"heroku[A-Za-z0-9_ .-]{0,30}" + _EITHER + r"[\"'`]?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})",
    ),
    _Rule(
        "cloudflare-token",
        ("cloudflare", "cf_", "cf-"),
        r"(?:cloudflare|(?<![a-z])cf[_-])[A-Za-z0-9_ .-]{0,30}" + _EITHER + r"[\"'`]?([A-Za-z0-9_-]{37,45})" + _R,
        _is_credential,
    ),
    _Rule(
        "authorization",
        ("authorization",),
        r"authorization[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?(?:bearer|basic|token|apikey|digest)[ \t]{1,3}"
        r"([A-Za-z0-9._~+/-]{6,}={0,2})",
        _is_header_value,
    ),
    _Rule("authorization", ("bearer ",), _L + r"bearer[ \t]{1,3}([A-Za-z0-9._~+/-]{20,}={0,2})", _is_credential),
    _Rule(
        "url-password",
        ("://",),
        r"(?<=://)[^\s/:@?#\"'`<>]{0,256}+:((?:(?![/?\"'`<>])[!-~]){1,256})@(?=[A-Za-z0-9\[$])",
        _is_url_password,
    ),
    _Rule("password", _WORD_ANCHORS, _WORD + _SUFFIX + _ASSIGN + _VALUE, _is_password),
    _Rule("password", _WORD_ANCHORS, _WORD + _SUFFIX + _COLON + _VALUE, _is_named_password),
    _Rule("password", ("<pass",), r"<(?:password|passphrase)>([^\s<>]{6,256})</", _is_password),
    _Rule("password", _SAID_ANCHORS, _SAID + _VALUE, _is_spoken_password),
    _Rule("password", _SAID_ANCHORS, _SAID + r"[\"'`]([^\"'`\s]{4,128})[\"'`]", _is_secret_word),
    _Rule("password", _SAID_ANCHORS, _SAID + r"(\d{4,64})" + _CLAUSE_ENDS),
    _Rule("password", _SAID_ANCHORS, _OF_ONES_OWN + _SAID + r"([a-z]{4,64})" + _CLAUSE_ENDS, _is_secret_word),
    _Rule(
        "password",
        _SAID_ANCHORS,
        _SAID + r"[\"'`]?([a-z]{2,20}(?:[ -][a-z]{2,20}){2,11})[\"'`]?" + _CLAUSE_ENDS,
        _is_secret_phrase,
    ),
    _Rule(
        "pin",
        ("pin",),
        _L
        + r"pin(?:[ -]?(?:code|number|nummer))?(?: (?:is|was|ist|lautet|es)(?: (?:now|still|jetzt))?:? |"
        + _EITHER
        + r")[\"'`]?(\d{4,12})(?![\w.,:-]?\d)",
    ),
    _Rule("password", ("--pass",), r"--pass(?:word|wd|phrase)? " + _VALUE, _is_named_password),
    _Rule("credential", _KEY_ANCHORS, _KEY_LABEL + _SUFFIX + _EITHER + _VALUE, _is_credential),
    _Rule("credential", ("--",), r"--(?:[a-z]{1,12}-)?(?:token|secret|key) " + _VALUE, _is_credential),
)


def _by_table(text: str, lowered: str, rules: tuple[_Rule, ...], rank: int, flags: int) -> Iterator[_Span]:
    """The secrets that the rules find; an earlier rule, the more exact one, ranks before a later."""
    for place, rule in enumerate(rules):
        if _any(rule.anchors, lowered):
            for start, end in _matches(_compiled(rule.pattern, flags), rule.judge, text):
                yield _Span(start, end, rank + place, rule.kind)


# A value is known by its beginning; with no bound, a row of labels would be judged over and over.
_JUDGED = 64


def _matches(pattern: re.Pattern[str], judge: Callable[[str], bool], text: str) -> Iterator[tuple[int, int]]:
    """Where the secrets stand. A value that was refused is searched again: it may hold the next label."""
    place = 0
    while match := pattern.search(text, place):
        start, end = match.span(match.lastindex or 0)
        if judge(text[start : min(end, start + _JUDGED)]):
            yield start, end
            place = match.end()
        else:
            place = start if start > match.start() else match.end()


# --- The gate for what no table knows ---

_LONG_RUN = r"[A-Za-z0-9+/_-]{20}"
_GATED_RUN = r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,}={0,2}"

# Random to look at, and yet public: addresses up to their query, checksums, embedded data, public keys.
_PUBLIC = (
    r"(?:https?|git|ssh|s3|gs|file)://(?:(?![?#\"'`<>])[!-~])+"
    r"|(?<![A-Za-z0-9])(?:sha(?:1|224|256|384|512)|md5|h1)[-:=][A-Za-z0-9+/_-]+"
    r"|;base64,[A-Za-z0-9+/=]+"
    r"|(?<![A-Za-z0-9+/])AAAA[BCE][23]N[A-Za-z0-9+/=]+"
    r"|-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}(?:CERTIFICATE|PUBLIC KEY|REQUEST|SIGNATURE|MESSAGE)"
    r"(?: BLOCK)?-----(?:\\[nr]|[A-Za-z0-9+/=\s])*+"
)


def _random_runs(text: str) -> Iterator[_Span]:
    """Long runs that look random and stand in nothing public."""
    public: list[tuple[int, int]] | None = None
    for run in _compiled(_GATED_RUN).finditer(text):
        start, end = run.span()
        if not _looks_random(run[0]):
            continue
        if public is None:
            public = [found.span() for found in _compiled(_PUBLIC, re.ASCII | re.IGNORECASE).finditer(text)]
            public.reverse()
        while public and public[-1][1] <= start:
            public.pop()
        if not (public and public[-1][0] <= start):
            yield _Span(start, end, _GATE_RANK, "secret")


# A checksum within a name: `build_5114f85…`.
_HASH = r"(?<![A-Za-z0-9])[0-9a-f]{7,}+(?![A-Za-z0-9])"


def _looks_random(run: str) -> bool:
    """Whether the run mixes both cases and digits and holds no words, as a whole or in one segment."""
    run = _compiled(_HASH).sub("", run)
    if _compiled(r"[a-z]").search(run) is None or _compiled(r"[A-Z]").search(run) is None:
        return False
    if _compiled(r"[0-9]").search(run) is None:
        return False
    if len(run) >= 20 and not _worded(run) and _entropy(run) >= 3.7:
        return not _compiled(r"[0-9a-fA-F_/-]+").fullmatch(run)
    return "/" in run and any(len(part) >= 24 and _looks_random(part) for part in run.split("/"))


def _entropy(run: str) -> float:
    """Shannon entropy in bits per character."""
    total = len(run)
    return -sum(count / total * log2(count / total) for count in Counter(run).values())
