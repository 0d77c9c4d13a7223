"""What a secret looks like: shapes that speak for themselves, and shapes that their surroundings give away.

Two tables, which `redact` goes through, and what tells a secret from a word that only holds the place of one.
Nothing is compiled when the module is imported.
"""

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple


@cache
def compiled(pattern: str, flags: int = re.ASCII) -> re.Pattern[str]:
    """A pattern, compiled when it is first asked for."""
    return re.compile(pattern, flags)


# Words as people write identifiers: TOKEN, Token, token, 2024.
_PIECE = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"

_STAND_IN = (
    r"^(?:\$[A-Za-z_]\w*$|\$[{(]|<|\{|%\w+%|\*{3}|\[redacted:[a-z0-9-]+\]|\.\.\.|xxx|arn:|op:/|env[.:\[(]|process\.|os\."
    r"|(?:sha-?\d+|md5|bcrypt|scrypt|argon2i?d?|pbkdf2|oauth-?2|base64|utf-?8|x?ed25519|[ehpr]s(?:256|384|512)|1password|lastpass|bitwarden)$"
    r"|(?:[a-z]+[_-])*(?:password|passwd|secret|token|key)[_-]?\d?$)"
    r"|your|example|placeholder|change[_-]?me|redacted|dummy|sample|\*\*\*|xxxx|\.\.\.|://"
)
_CODE = r"^[A-Za-z_][\w.]*[(\[]|^\(?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$|^v?\d+(?:\.\d+)+|^\d{4}-\d\d-\d\dT"
_JOINED = r"^[./~]*[A-Za-z0-9]+(?:[-_./:\\]+[A-Za-z0-9]+)+/?$"


def _stands_in(value: str) -> bool:
    """Whether the value only holds the place of a secret, or is code or an address that leads to one."""
    return bool(compiled(_STAND_IN, re.ASCII | re.IGNORECASE).search(value) or compiled(_CODE).match(value))


def worded(value: str, least: float = 2.75) -> bool:
    """Whether the value falls into pieces as long as words; random characters change class sooner."""
    pieces: list[str] = compiled(_PIECE).findall(value)
    return sum(map(len, pieces)) >= least * len(pieces)


def _mixed(value: str) -> int:
    """How many of lower case, upper case, digits and signs occur."""
    return sum(bool(compiled(one).search(value)) for one in ("[a-z]", "[A-Z]", "[0-9]", "[^A-Za-z0-9]"))


def _joined_words(value: str) -> bool:
    """Whether the value is words and numbers joined by hyphens, dots, slashes and their like."""
    return bool(compiled(_JOINED).match(value)) and worded(value, 2.4)


def _any_value(_value: str) -> bool:
    return True


def _is_password(value: str) -> bool:
    """For `password = …`: what is no plain word and holds no place."""
    if len(value) < 6 or _stands_in(value):
        return False
    if not compiled(r"[0-9]").search(value) and (value.isalpha() or _joined_words(value)):
        return not worded(value, 2.4)
    return _mixed(value) > 1 or value.isdigit()


def _is_named_password(value: str) -> bool:
    """For `password: …`, which prose writes too: joined words are left as well."""
    return _is_password(value) and not _joined_words(value)


def _is_spoken_password(value: str) -> bool:
    """For `the password is …`, which is mostly prose: letters with a digit or a sign among them, and no words."""
    if len(value) < 5 or _stands_in(value) or _joined_words(value):
        return False
    signed = compiled(r"[A-Za-z0-9][!@#$%^&*+=?][!-~]").search(value)
    return bool(compiled(r"[A-Za-z]").search(value) and (compiled(r"[0-9]").search(value) or signed))


def _is_secret_word(value: str) -> bool:
    """For `my password is …`, where it ends a clause: a word that says nothing about the password itself."""
    word = value.lower()
    told = compiled(rf"{_STATES}|.*(?:ed|ing|able|ible|ous|ive|less|ly)").fullmatch(word)
    return not told and not _stands_in(value)


def _is_secret_phrase(value: str) -> bool:
    """For `my passphrase is …`: several words, and none that a sentence is held together by."""
    words = value.lower().replace("-", " ").split()
    binding = compiled(_BINDING)
    return all(len(word) > 2 and not binding.fullmatch(word) for word in words) and _is_secret_word(words[0])


def _is_spoken_in_pieces(value: str) -> bool:
    """For `the password is …` with spaces in it: no piece is a plain word, and together they are long enough."""
    pieces = value.split()
    return len(value) > 7 and all(_is_piece(piece) for piece in pieces)


def _is_piece(piece: str) -> bool:
    """Whether letters have digits or signs among them, and are no words that hold a place or are joined."""
    marked = compiled(r"[A-Za-z][0-9!@#$%^&*+=?]|[0-9!@#$%^&*+=?][A-Za-z]").search(piece)
    return bool(marked) and not _stands_in(piece) and not _joined_words(piece)


def _is_quoted_password(value: str) -> bool:
    """For `password = "…"` with spaces in it: what no sentence is, or holds a piece that is a password."""
    if " " not in value.strip() or _stands_in(value):
        return False
    words = value.lower().split()
    if any(_is_spoken_password(word) for word in value.split()):
        return True
    return not any(compiled(rf"{_BINDING}|{_SMALL}|.*{_SPEAKING_OF}.*").fullmatch(word) for word in words)


def _is_quoted_phrase(value: str) -> bool:
    """For `password: "…"` and `the password is "…"`, which prose writes too: no word says what it is like."""
    return _is_quoted_password(value) and (
        all(_is_secret_word(word) for word in value.split())
        or any(_is_spoken_password(word) for word in value.split())
    )


def _is_quoted_credential(value: str) -> bool:
    """For `token: "…"` with spaces in it: where one piece is a credential, all of it goes."""
    return " " in value.strip() and any(_is_credential(piece) for piece in value.split())


def _is_credential(value: str) -> bool:
    """For `token: …` and its like, words with many uses: digits among letters, and no joined words."""
    if len(value) < 8:
        return False
    letters = sum(map(str.isalpha, value))
    digits = sum(map(str.isdigit, value))
    if letters == len(value):
        return letters >= 16 and not worded(value)
    if letters < 2 or not (digits > 1 or (digits == 1 and _mixed(value) > 2)):
        return False
    return not _stands_in(value) and not _joined_words(value)


def _is_header_value(value: str) -> bool:
    """For an `Authorization` header: anything but a single plain word or a stand-in."""
    plain = compiled(r"[A-Za-z]?(?:[a-z_-]+|[A-Z_-]+)[.,]?").fullmatch(value)
    return not plain and not _stands_in(value) and not (value.isalpha() and worded(value))


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

_SMALL = r"an|as|at|be|by|if|in|is|it|no|of|on|or|to|was"
_SPEAKING_OF = r"(?:pass|secret|token|character|letter|digit)"


# --- The tables ---


class Shape(NamedTuple):
    """One shape: tried when an anchor (lower case) occurs; the last group matched is the secret."""

    kind: str
    anchors: tuple[str, ...]
    pattern: str
    judge: Callable[[str], bool] = _any_value
    tail: str = ""  # signs that go with the secret where they follow it: they may be its end


# `\b` would count CJK characters as letters and miss a key that stands beside them.
_L = r"(?<![A-Za-z0-9_])"
_R = r"(?![A-Za-z0-9_-])"

# Shapes that speak for themselves. Each holds a run of 20 or more characters, which `redact` asks for first.
TOKENS = (
    Shape("aws-access-key", ("akia", "asia", "abia", "acca"), _L + r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}" + _R),
    Shape("github-token", ("github_pat_",), _L + r"github_pat_[A-Za-z0-9_]{22,}"),
    Shape("github-token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), _L + r"gh[pousr]_[A-Za-z0-9]{30,}"),
    Shape("gitlab-token", ("glpat-", "gldt-", "glrt-"), _L + r"gl(?:pat|dt|rt)-[A-Za-z0-9_-]{20,}"),
    Shape("slack-token", ("xox",), _L + r"xox[abeoprs]-[A-Za-z0-9-]{16,}"),
    Shape("slack-token", ("xapp-",), _L + r"xapp-\d-[A-Za-z0-9-]{20,}"),
    Shape(
        "slack-webhook",
        ("hooks.slack.com",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9+/_-]{20,})",
    ),
    Shape("discord-webhook", ("/api/webhooks/",), r"/api/webhooks/\d{16,20}/([A-Za-z0-9_-]{50,})"),
    Shape("stripe-key", ("k_live_", "k_test_"), _L + r"[srp]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    Shape("stripe-webhook-secret", ("whsec_",), _L + r"whsec_[A-Za-z0-9+/=]{24,}"),
    Shape("anthropic-key", ("sk-ant-",), _L + r"sk-ant-[A-Za-z0-9_-]{16,}"),
    Shape("openrouter-key", ("sk-or-",), _L + r"sk-or-v1-[0-9a-f]{40,}"),
    Shape("openai-key", ("sk-",), _L + r"sk-[A-Za-z0-9_-]{20,}", _is_not_kebab),
    Shape("google-api-key", ("aiza",), _L + r"AIza[A-Za-z0-9_-]{35,}"),
    Shape("google-oauth-secret", ("gocspx-",), _L + r"GOCSPX-[A-Za-z0-9_-]{20,}"),
    Shape("google-oauth-token", ("ya29.",), _L + r"ya29\.[A-Za-z0-9_-]{20,}"),
    Shape("huggingface-token", ("hf_",), _L + r"hf_[A-Za-z0-9]{30,}"),
    Shape("npm-token", ("npm_",), _L + r"npm_[A-Za-z0-9]{36,}"),
    Shape("pypi-token", ("pypi-agei",), _L + r"pypi-AgEI[A-Za-z0-9_-]{30,}"),
    Shape("rubygems-key", ("rubygems_",), _L + r"rubygems_[0-9a-f]{40,}"),
    Shape("docker-token", ("dckr_pat_",), _L + r"dckr_pat_[A-Za-z0-9_-]{20,}"),
    Shape("sendgrid-key", ("sg.",), _L + r"SG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}"),
    Shape("twilio-key", ("sk", "ac"), _L + r"(?:SK|AC)[0-9a-f]{32}" + _R),
    Shape("mailgun-key", ("key-",), _L + r"key-[0-9a-f]{32}" + _R),
    Shape("mailchimp-key", ("-us",), _L + r"[0-9a-f]{32}-us\d{1,2}" + _R),
    Shape("brevo-key", ("xkeysib-",), _L + r"xkeysib-[0-9a-f]{40,}(?:-[A-Za-z0-9]{1,40})?"),
    Shape("digitalocean-token", ("_v1_",), _L + r"do[opr]_v1_[0-9a-f]{40,}"),
    Shape("shopify-token", ("shp",), _L + r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32,}"),
    Shape("square-token", ("sq0",), _L + r"sq0[a-z]{3}-[A-Za-z0-9_-]{22,}"),
    Shape("square-token", ("eaaa",), _L + r"EAAA[A-Za-z0-9_-]{60}" + _R),
    Shape("telegram-token", (":aa",), _L + r"\d{8,10}:AA[A-Za-z0-9_-]{32,}"),
    Shape("discord-token", (".",), _L + r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"),
    Shape("databricks-token", ("dapi",), _L + r"dapi[0-9a-f]{32}(?:-\d{1,2})?" + _R),
    Shape("linear-key", ("lin_",), _L + r"lin_(?:api|oauth)_[A-Za-z0-9]{30,}"),
    Shape("notion-token", ("ntn_", "secret_"), _L + r"(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43})" + _R),
    Shape("figma-token", ("figd_",), _L + r"figd_[A-Za-z0-9_-]{30,}"),
    Shape("sentry-token", ("sntry",), _L + r"sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    Shape("vault-token", ("hvs.", "hvb.", "hvr."), _L + r"hv[sbr]\.[A-Za-z0-9_-]{20,}"),
    Shape("terraform-token", (".atlasv1.",), _L + r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{40,}"),
    Shape("doppler-token", ("dp.",), _L + r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{36,}"),
    Shape("postman-key", ("pmak-",), _L + r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}"),
    Shape(
        "grafana-token",
        ("glsa_", "glc_"),
        _L + r"(?:glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}|glc_[A-Za-z0-9+/=]{32,})",
    ),
    Shape("atlassian-token", ("atatt3", "atctt3"), _L + r"AT[AC]TT3[A-Za-z0-9_=-]{50,}"),
    Shape("airtable-token", ("pat",), _L + r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    Shape("newrelic-key", ("nrak-",), _L + r"NRAK-[A-Z0-9]{27}"),
    Shape("groq-key", ("gsk_",), _L + r"gsk_[A-Za-z0-9]{40,}"),
    Shape("xai-key", ("xai-",), _L + r"xai-[A-Za-z0-9]{60,}"),
    Shape("replicate-token", ("r8_",), _L + r"r8_[A-Za-z0-9]{36,}"),
    Shape("supabase-token", ("sbp_",), _L + r"sbp_[0-9a-f]{40,}"),
    Shape("tailscale-key", ("tskey-",), _L + r"tskey-[a-z]{3,10}-[A-Za-z0-9-]{20,}"),
    Shape("age-key", ("age-secret-key-",), _L + r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    Shape(
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
    r"|((?:[!#-%(-:=?-_a-~]|&(?!&|[\w.%\[\]-]{1,64}=)){3,512}(?<![.,:)\]}!?&])))"
)
_END = "!?"  # of a password; a judge reads it without them, or every word that is called out would be one

# Words in quotes, to the quote that closes them.
_QUOTED = r"(?:\"([^\"\n]{3,256})\"|'([^'\n]{3,256})'(?!\w)|`([^`\n]{3,256})`)"
_WORD = (
    r"(?:password|passwd|passphrase|passwort|pwd|(?<![A-Za-z0-9])pw|[_-]pass|mot de passe|contraseña|senha"
    r"|[Пп]ароль|密码|密碼|口令|パスワード|비밀번호|암호)"
)
_WORD_ANCHORS = (
    "pass",
    "pwd",
    "pw",
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
_SPOKEN_OF = (
    r"(?: (?:for|to|of|für|zum|de) (?:[\w.'-]{1,30} ){1,4}?| )"
    r"(?:is|was|ist|lautet|es)(?: (?:now|still|currently|jetzt|ahora))?:? "
)
_SAID = r"(?:password|passphrase|passcode|passwort|kennwort|contraseña)" + _SPOKEN_OF
_SAID_SHORT = _L + r"(?:pw|secret)" + _SPOKEN_OF  # words with other uses: only what looks like a password is one
_OF_ONES_OWN = _L + r"(?:my|our|his|her|their|wi-?fi|meine?|unser|mi|nuestra) (?:[\w-]{1,20} ){0,2}?"
_CLAUSE_ENDS = r"(?=[ \t]{0,3}(?:[.,;!?)\n]|\Z|[ \t](?:and|but|for|on|so|und|aber|für|y|pero|para)(?![\w])))"

# Anchors of shapes that need neither `=` nor `:` in the text.
SPOKEN = (
    "bearer ",
    "password ",
    "passwort ",
    "passphrase ",
    "passcode ",
    "kennwort ",
    "contraseña ",
    "pw ",
    "secret ",
    "pin ",
    "--",
    "<pass",
)
_SAID_ANCHORS = ("password", "passwort", "passphrase", "passcode", "kennwort", "contraseña")
_PIECES = r"([!#-%(-:=?-_a-~]{3,64}(?: [!#-%(-:=?-_a-~]{3,64}){1,3}(?<![.,:)\]}!?]))" + _CLAUSE_ENDS

# Shapes that their surroundings give away; read without regard to case.
CONTEXTS = (
    Shape(
        "aws-secret-key",
        ("aws", "secret"),
        r"(?:aws[A-Za-z_ -]{0,24}|secret[_ -]?access[_ -]?)key"
        + _EITHER
        + r"[\"'`]?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])",
    ),
    Shape("aws-session-token", ("session",), r"aws_?session_?token" + _EITHER + r"[\"'`]?([A-Za-z0-9/+=]{50,})"),
    Shape(
        "azure-key",
        ("accountkey", "accesskey"),
        r"(?:Account|SharedAccess)Key[ ]?=[ ]?([A-Za-z0-9+/]{32,}={0,2})",
    ),
    Shape("azure-signature", ("sig=",), r"(?<![A-Za-z0-9_])sig=([A-Za-z0-9%+/_-]{24,}={0,2})"),
    Shape(
        "heroku-key",
        ("heroku",),
        r"heroku[A-Za-z0-9_ .-]{0,30}" + _EITHER + r"[\"'`]?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})",
    ),
    Shape(
        "cloudflare-token",
        ("cloudflare", "cf_", "cf-"),
        r"(?:cloudflare|(?<![a-z])cf[_-])[A-Za-z0-9_ .-]{0,30}" + _EITHER + r"[\"'`]?([A-Za-z0-9_-]{37,45})" + _R,
        _is_credential,
    ),
    Shape(
        "authorization",
        ("authorization",),
        r"authorization[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?(?:bearer|basic|token|apikey|digest)[ \t]{1,3}"
        r"([A-Za-z0-9._~+/-]{6,}={0,2})",
        _is_header_value,
    ),
    Shape("authorization", ("bearer ",), _L + r"bearer[ \t]{1,3}([A-Za-z0-9._~+/-]{20,}={0,2})", _is_credential),
    Shape(
        "url-password",
        ("://",),
        r"(?<=://)[^\s/:@?#\"'`<>]{0,256}+:((?:(?![/?\"'`<>])[!-~]){1,256})@(?=[A-Za-z0-9\[$])",
        _is_url_password,
    ),
    Shape("password", _WORD_ANCHORS, _WORD + _SUFFIX + _ASSIGN + _QUOTED, _is_quoted_password),
    Shape("password", _WORD_ANCHORS, _WORD + _SUFFIX + _COLON + _QUOTED, _is_quoted_phrase),
    Shape("password", _WORD_ANCHORS, _WORD + _SUFFIX + _ASSIGN + _VALUE, _is_password, _END),
    Shape("password", _WORD_ANCHORS, _WORD + _SUFFIX + _COLON + _VALUE, _is_named_password, _END),
    Shape("password", ("<pass",), r"<(?:password|passphrase)>([^\s<>]{6,256})</", _is_password),
    Shape("password", _SAID_ANCHORS, _SAID + _QUOTED, _is_quoted_phrase),
    Shape("password", _SAID_ANCHORS, _SAID + _VALUE, _is_spoken_password, _END),
    Shape("password", _SAID_ANCHORS, _SAID + _PIECES, _is_spoken_in_pieces, _END),
    Shape("password", ("pw ", "secret "), _SAID_SHORT + _VALUE, _is_spoken_password, _END),
    Shape("password", ("pw ", "secret "), _SAID_SHORT + _PIECES, _is_spoken_in_pieces, _END),
    Shape("password", _SAID_ANCHORS, _SAID + r"[\"'`]([^\"'`\s]{4,128})[\"'`]", _is_secret_word),
    Shape("password", _SAID_ANCHORS, _SAID + r"(\d{4,64})" + _CLAUSE_ENDS),
    Shape("password", _SAID_ANCHORS, _OF_ONES_OWN + _SAID + r"([a-z]{4,64})" + _CLAUSE_ENDS, _is_secret_word),
    Shape(
        "password",
        _SAID_ANCHORS,
        _SAID + r"[\"'`]?([a-z]{2,20}(?:[ -][a-z]{2,20}){2,11})[\"'`]?" + _CLAUSE_ENDS,
        _is_secret_phrase,
    ),
    Shape(
        "pin",
        ("pin",),
        _L
        + r"pin(?:[ -]?(?:code|number|nummer))?(?: (?:is|was|ist|lautet|es)(?: (?:now|still|jetzt))?:? |"
        + _EITHER
        + r")[\"'`]?(\d{4,12})(?![\w.,:-]?\d)",
    ),
    Shape("password", ("--pass",), r"--pass(?:word|wd|phrase)? " + _VALUE, _is_named_password),
    Shape("credential", _KEY_ANCHORS, _KEY_LABEL + _SUFFIX + _EITHER + _QUOTED, _is_quoted_credential),
    Shape("credential", _KEY_ANCHORS, _KEY_LABEL + _SUFFIX + _EITHER + _VALUE, _is_credential),
    Shape("credential", ("--",), r"--(?:[a-z]{1,12}-)?(?:token|secret|key) " + _VALUE, _is_credential),
)
