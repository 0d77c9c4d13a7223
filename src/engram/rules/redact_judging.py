"""What tells a secret from a word that only holds the place of one: a judge for each kind of surroundings.

Nothing is compiled when the module is imported.
"""

import re
from binascii import a2b_base64
from functools import cache


@cache
def compiled(pattern: str, flags: int = re.ASCII) -> re.Pattern[str]:
    """A pattern, compiled when it is first asked for."""
    return re.compile(pattern, flags)


# Words as people write identifiers: TOKEN, Token, token, 2024.
_PIECE = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"

# Ways to keep or to send a secret, which are named where one is spoken of.
_METHOD = (
    r"sha-?\d+|md5|bcrypt|scrypt|argon2i?d?|pbkdf2|oauth-?2|base(?:32|58|64)|utf-?8|x?ed25519"
    r"|[ehpr]s(?:256|384|512)"
)
_STAND_IN = (
    r"^(?:\$[A-Za-z_]\w*$|\$[{(]|<|\{|%\w+%|\*{3}|\[redacted:[a-z0-9-]+\]|\.\.\.|xxx|arn:|op:/|env[.:\[(]|process\.|os\."
    r"|!(?:vault|secret|env|env_var|include|ref|sub)$|~?/[a-z]{2,}/[a-z]{2,}\d?/?$"
    rf"|(?:{_METHOD}|1password|lastpass|bitwarden)$"
    r"|(?:[a-z]+[_-])*(?:password|passwd|secret|token|key)[_-]?\d?$)"
    r"|your|example|placeholder|change[_-]?me|redacted|dummy|sample|\*\*\*|xxxx|\.\.\.|://"
)
_CODE = r"^[A-Za-z_][\w.]*[(\[]|^v?\d+(?:\.\d+)+|^\d{4}-\d\d-\d\dT"
_MEMBER = r"^\(?[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$"
_JOINED = r"^[./~]*[A-Za-z0-9]+(?:[-_./:\\]+[A-Za-z0-9]+)+/?$"

# A piece of a joined word that ends in a number, as passwords do; and those that a sentence may well hold.
_NUMBERED = r"[a-z]{4,}[0-9]+[a-z]*"
_KNOWN_NUMBERED = (
    rf"{_METHOD}|auth0|fido2|kerberos5|blake[23][a-z]?|chacha20|poly1305|curve25519|keccak256|hmac\d+|http[123]|saml2|imap4"
    r"|(?:alpine|debian|django|fedora|java|mariadb|mysql|node|postgres(?:ql)?|python|rails|redis|ubuntu|windows"
    r"|bcrypt|scrypt|cluster|cost|host|prod|server|vault|item|level|line|page|part|phase|section|sprint|stage|step|team|tier"
    r"|ticket|version|week|year)v?\d+"
)

# Parts of a program with their number, where nobody is named whose password such a word might be.
_PART_NUMBERED = (
    r"(?:auth|check(?:point)?|column|error|field|filter|form|hash(?:er)?|input|label|manager|option|policy|queue|reset"
    r"|rule|screen|validat(?:or|ion))s?\d{1,2}"
)

# What a program is given, and no password: `limit=50`, an address of mail.
_ARGUMENT = r"-{0,2}[A-Za-z_][\w.-]*=[\w.-]*|[\w.+-]+@[\w-]+(?:\.[\w-]+)+"


def _stands_in(value: str) -> bool:
    """Whether the value only holds the place of a secret, or is code or an address that leads to one."""
    if compiled(_STAND_IN, re.ASCII | re.IGNORECASE).search(value) or compiled(_CODE).match(value):
        return True
    return bool(compiled(_MEMBER).match(value)) and (worded(value, 2) or len(value) < 16)


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


def _spoken_of(value: str) -> bool:
    """Whether the value is joined words such as a sentence has: `argon2-hashed`, and not `hunter2-very-secret`."""
    if not _joined_words(value):
        return False
    if compiled(r"[./:\\]").search(value):  # a path or an address, where names end in numbers
        return True
    numbered = compiled(_NUMBERED).fullmatch
    known = compiled(_KNOWN_NUMBERED).fullmatch
    return not any(numbered(piece) and not known(piece) for piece in compiled(r"[-_]+").split(value.lower()))


def any_value(_value: str) -> bool:
    """For what speaks for itself."""
    return True


def is_password(value: str) -> bool:
    """For `password = …`: what is no plain word and holds no place."""
    if len(value) < 6 or _stands_in(value):
        return False
    if not compiled(r"[0-9]").search(value) and (value.isalpha() or _joined_words(value)):
        return not worded(value, 2.4)
    return _mixed(value) > 1 or value.isdigit()


def is_named_password(value: str) -> bool:
    """For `password: …`, which prose writes too: joined words are left as well."""
    return is_password(value) and not _spoken_of(value)


def is_spoken_password(value: str) -> bool:
    """For `the password is …`, which is mostly prose: letters with a digit or a sign among them, and no words."""
    if len(value) < 5 or _stands_in(value) or _spoken_of(value):
        return False
    return bool(compiled(r"[A-Za-z]").search(value) and (compiled(r"[0-9]").search(value) or _signed(value)))


def _signed(value: str) -> bool:
    """Whether a sign stands within the value that no word has there."""
    return bool(compiled(r"[A-Za-z0-9][!@#$%^&*+=?][!-~]").search(value))


def is_listed_password(value: str) -> bool:
    """For `login bob password …`, which prose writes too: `step2` is a part of something, and no password."""
    return is_spoken_password(value) and not compiled(_KNOWN_NUMBERED).fullmatch(_bare(value))


def is_listed_with(value: str) -> bool:
    """For `login with password …`, where nobody is named: `reset2` is a part of something as well."""
    return is_listed_password(value) and not compiled(_PART_NUMBERED).fullmatch(_bare(value))


def is_unmistakable_password(value: str) -> bool:
    """For `login page password …`, which speaks of a part: both cases and a digit, or a sign, and no argument."""
    if not is_listed_with(value) or compiled(_ARGUMENT).fullmatch(value):
        return False
    return all(compiled(one).search(value) for one in ("[a-z]", "[A-Z]", "[0-9]")) or _signed(value)


def _bare(value: str) -> str:
    """A value as a word of a sentence: in small letters, without the signs behind it."""
    return value.lower().rstrip(".,:;!?)")


def is_secret_word(value: str) -> bool:
    """For `my password is …`, where it ends a clause: a word that says nothing about the password itself."""
    word = value.lower()
    told = compiled(rf"{_STATES}|.*(?:ed|ing|able|ible|ous|ive|less|ly)").fullmatch(word)
    return not told and not _stands_in(value)


def is_secret_phrase(value: str) -> bool:
    """For `my passphrase is …`: several words, and none that a sentence is held together by."""
    words = value.lower().replace("-", " ").split()
    binding = compiled(_BINDING)
    return all(len(word) > 2 and not binding.fullmatch(word) for word in words) and is_secret_word(words[0])


def is_told_password(value: str) -> bool:
    """For a password behind nothing but its name: a digit or a sign among letters, or longer than words are."""
    if compiled(_LONG_WORD).fullmatch(value):
        return is_secret_word(value)
    return is_spoken_password(value) and not compiled(_KNOWN_NUMBERED).fullmatch(value.lower())


def is_told_with(value: str) -> bool:
    """For `user with pass …`, where nobody is named: `reset2` is a part of something as well."""
    return is_told_password(value) and not compiled(_PART_NUMBERED).fullmatch(_bare(value))


def is_aws_secret(value: str) -> bool:
    """For forty signs where AWS is named: both cases and digits, which neither a hash nor a path in words has."""
    return all(compiled(one).search(value) for one in ("[a-z]", "[A-Z]", "[0-9]"))


def is_spoken_in_pieces(value: str) -> bool:
    """For `the password is …` with spaces in it: no piece is a plain word, and together they are long enough."""
    pieces = value.split()
    return len(value) > 7 and all(_is_piece(piece) for piece in pieces)


def _is_piece(piece: str) -> bool:
    """Whether letters have digits or signs among them, and are no words that hold a place or are joined."""
    marked = compiled(r"[A-Za-z][0-9!@#$%^&*+=?]|[0-9!@#$%^&*+=?][A-Za-z]").search(piece)
    return bool(marked) and not _stands_in(piece) and not _joined_words(piece)


def is_quoted_password(value: str) -> bool:
    """For `password = "…"` with spaces in it: what no sentence is, or holds a piece that is a password."""
    if " " not in value.strip() or _stands_in(value):
        return False
    words = value.lower().split()
    if any(is_spoken_password(word) for word in value.split()):
        return True
    return not any(compiled(rf"{_BINDING}|{_SMALL}|.*{_SPEAKING_OF}.*").fullmatch(word) for word in words)


def is_quoted_phrase(value: str) -> bool:
    """For `password: "…"` and `the password is "…"`, which prose writes too: no word says what it is like."""
    return is_quoted_password(value) and (
        all(is_secret_word(word) for word in value.split())
        or any(is_spoken_password(word) for word in value.split())
    )


def is_quoted_credential(value: str) -> bool:
    """For `token: "…"` with spaces in it: where one piece is a credential, all of it goes."""
    return " " in value.strip() and any(is_credential(piece) for piece in value.split())


# What programs make to tell things apart, and some services keys of: no words, however it falls.
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def is_credential(value: str) -> bool:
    """For `token: …` and its like, words with many uses: digits among letters, and no joined words."""
    if len(value) < 8:
        return False
    if compiled(UUID).match(value):
        return True
    letters = sum(map(str.isalpha, value))
    digits = sum(map(str.isdigit, value))
    if letters == len(value):
        return letters >= 16 and not worded(value)
    if letters < 2 or not (digits > 1 or (digits == 1 and _mixed(value) > 2)):
        return False
    return not _stands_in(value) and not _joined_words(value)


def is_spoken_credential(value: str) -> bool:
    """For `the API key is …`, which is mostly prose: as long as keys are, and digits all over it."""
    digits = sum(map(str.isdigit, value))
    return len(value) > 15 and digits > 3 and is_credential(value) and not _spoken_of(value)


def is_run(value: str) -> bool:
    """For what a name before it gives away: letters and digits among each other, as no name has them."""
    turns = compiled(r"[A-Za-z][0-9]|[0-9][A-Za-z]").findall(value)
    return len(turns) > 3 and not _stands_in(value)


def is_vault_token(value: str) -> bool:
    """For `s.` and 24 signs, which code may write too: letters of both cases that make no words."""
    return _mixed(value) > 3 and not worded(value[2:])


def is_header_value(value: str) -> bool:
    """For an `Authorization` header: anything but a single plain word or a stand-in."""
    plain = compiled(r"[A-Za-z]?(?:[a-z_-]+|[A-Z_-]+)[.,]?").fullmatch(value)
    return not plain and not _stands_in(value) and not (value.isalpha() and worded(value))


def is_url_password(value: str) -> bool:
    """For `scheme://user:…@host`: even a plain word, unless it only names what belongs there."""
    return value.lower() not in {"pass", "pwd"} and not _stands_in(value)


def is_not_kebab(value: str) -> bool:
    """Keeps `sk-learn-contrib-…`: a key of this form has digits and both cases."""
    return _mixed(value) > 3 or not _joined_words(value)


def is_value(value: str) -> bool:
    """For what is only ever followed by a secret: anything that does not stand in for one."""
    return not _stands_in(value)


def is_basic(value: str) -> bool:
    """For `"auth": "…"`: a name, a colon and a password in base64."""
    try:
        told = a2b_base64(f"{value}==").decode()  # of these there may be too many, but not too few
    except ValueError:
        return False
    return told.isprintable() and len(told.partition(":")[2]) > 2


def is_seed(value: str) -> bool:
    """For `seed phrase: …`: twelve words or more, of which few hold a sentence together."""
    binding = compiled(_BINDING)
    return sum(bool(binding.fullmatch(word)) for word in compiled(r"[a-z]+").findall(value.lower())) <= 2


# Longer than what is said of a password in one word: several words, written as one.
_LONG_WORD = r"[a-z]{18,64}"

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
