"""What a secret looks like: shapes that speak for themselves, and shapes that their surroundings give away.

Two tables, which `redact` goes through. Nothing is compiled when the module is imported.
"""

from collections.abc import Callable
from typing import NamedTuple

from engram.rules.redact_judging import (
    UUID,
    any_value,
    is_aws_secret,
    is_basic,
    is_credential,
    is_header_value,
    is_listed_password,
    is_listed_with,
    is_named_password,
    is_not_kebab,
    is_password,
    is_quoted_credential,
    is_quoted_password,
    is_quoted_phrase,
    is_run,
    is_secret_phrase,
    is_secret_word,
    is_seed,
    is_spoken_credential,
    is_spoken_in_pieces,
    is_spoken_password,
    is_told_password,
    is_told_with,
    is_unmistakable_password,
    is_url_password,
    is_value,
    is_vault_token,
)


class Shape(NamedTuple):
    """One shape: tried when an anchor (lower case) occurs; the last group matched is the secret."""

    kind: str
    anchors: tuple[str, ...]
    pattern: str
    judge: Callable[[str], bool] = any_value
    tail: str = ""  # signs that go with the secret where they follow it: they may be its end
    then: str = ""  # signs of which one has to follow an anchor, or else it is not tried


class Group(NamedTuple):
    """Shapes that are tried together, each with its place in the table: the same is asked of a text but once."""

    anchors: tuple[str, ...]
    then: str
    shapes: tuple[tuple[int, Shape], ...]


def _grouped(table: tuple[Shape, ...]) -> tuple[Group, ...]:
    found: dict[tuple[tuple[str, ...], str], list[tuple[int, Shape]]] = {}
    for place, shape in enumerate(table):
        found.setdefault((shape.anchors, shape.then), []).append((place, shape))
    return tuple(Group(anchors, then, tuple(shapes)) for (anchors, then), shapes in found.items())


# `\b` would count CJK characters as letters and miss a key that stands beside them.
_L = r"(?<![A-Za-z0-9_])"
_R = r"(?![A-Za-z0-9_-])"

# How the keys of services begin that have nothing else to be known by.
_PREFIXES = (
    *("sqa_", "sqp_", "squ_", "bkua_", "bkct_", "bkaj_", "crsr_", "e2b_", "pul-", "napi_", "rdme_", "rpa_", "fc-"),
    *("tr_pat_", "esecret_", "sgp_", "sgamp_", "hcaik_", "hcamk_", "signkey-", "flwseck-", "nsec1"),
)

# Shapes that speak for themselves. Each holds a run of 20 or more characters, which `redact` asks for first.
TOKENS = (
    Shape("aws-access-key", ("akia", "asia", "abia", "acca"), _L + r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}" + _R),
    Shape("engram-key", ("egk.",), _L + r"egk\.[A-Za-z0-9_-]{16,}+\.[0-9a-f]{64}"),
    Shape("github-token", ("github_pat_",), _L + r"github_pat_[A-Za-z0-9_]{22,}"),
    Shape(
        "github-token",
        ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        _L + r"gh[pousr]_[A-Za-z0-9]{30,}+(?:\.[A-Za-z0-9_-]{16,}+){0,2}",
    ),
    Shape(
        "gitlab-token",
        ("pat-", "dt-", "rt-", "bt-", "tt-", "ft-", "mt-", "agent-", "oas-", "oat-", "fct-"),
        _L
        + r"gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_-]{20,}+"
        + r"(?:\.[0-9a-z]{2}\.[0-9a-z]{7,9})?",
    ),
    Shape("slack-token", ("xox",), _L + r"xox[a-eoprs]-[A-Za-z0-9%-]{16,}"),
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
    Shape("openai-key", ("sk-",), _L + r"sk-[A-Za-z0-9_-]{20,}", is_not_kebab),
    Shape(
        "stripe-key", ("k-live-", "k-test-"), _L + r"[rs]k-(?:live|test)-(?=[a-z]{0,32}[0-9])[A-Za-z0-9]{16,}" + _R
    ),
    Shape("openai-key", ("sk-",), _L + r"c?sk-(?=[a-z]{0,30}[0-9][a-z]{0,30}[0-9])[a-z0-9]{32,}" + _R),
    Shape("elevenlabs-key", ("sk_",), _L + r"sk_[0-9a-f]{48}" + _R),
    Shape("langsmith-key", ("lsv2_",), _L + r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    Shape("google-api-key", ("aiza",), _L + r"AIza[A-Za-z0-9_-]{35,}"),
    Shape("google-oauth-secret", ("gocspx-",), _L + r"GOCSPX-[A-Za-z0-9_-]{20,}"),
    Shape("google-oauth-token", ("ya29.",), _L + r"ya29\.[A-Za-z0-9_-]{20,}"),
    Shape("huggingface-token", ("hf_", "api_org_"), _L + r"(?:hf|api_org)_[A-Za-z0-9]{30,}"),
    Shape("npm-token", ("npm_",), _L + r"npm_[A-Za-z0-9]{36,}"),
    Shape("pypi-token", ("pypi-agei",), _L + r"pypi-AgEI[A-Za-z0-9_-]{30,}"),
    Shape("rubygems-key", ("rubygems_",), _L + r"rubygems_[0-9a-f]{40,}"),
    Shape("nuget-key", ("oy2",), _L + r"oy2[a-z0-9]{43}" + _R),
    Shape("clojars-token", ("clojars_",), _L + r"CLOJARS_[0-9a-f]{60}" + _R),
    Shape("docker-token", ("dckr_",), _L + r"dckr_[op]at_[A-Za-z0-9_-]{20,}"),
    Shape(
        "onepassword-key",
        ("a3-",),
        _L + r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}" + _R,
    ),
    Shape("sendgrid-key", ("sg.",), _L + r"SG\.[A-Za-z0-9_-]{16,}+\.[A-Za-z0-9_-]{16,}"),
    Shape("twilio-key", ("sk", "ac"), _L + r"(?:SK|AC)[0-9a-f]{32}" + _R),
    Shape("mailgun-key", ("key-",), _L + r"key-[0-9a-f]{32}" + _R),
    Shape("mailgun-key", ("mailgun",), _L + r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}" + _R),
    Shape("mailchimp-key", ("-us",), _L + r"[0-9a-f]{32}-us\d{1,2}" + _R),
    Shape("brevo-key", ("xkeysib-",), _L + r"xkeysib-[0-9a-f]{40,}(?:-[A-Za-z0-9]{1,40})?"),
    Shape("digitalocean-token", ("_v1_",), _L + r"do[opr]_v1_[0-9a-f]{40,}"),
    Shape("shopify-token", ("shp",), _L + r"shp(?:at|ca|pa|ss|tka)_[0-9a-fA-F]{32,}"),
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
    Shape("vault-token", ("s.",), _L + r"s\.[A-Za-z0-9]{24}(?:\.[A-Za-z0-9]{5})?" + _R, is_vault_token),
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
    Shape("supabase-token", ("sbp_",), _L + r"sbp_(?:oauth_|v0_)?[0-9a-f]{40,}"),
    Shape("tailscale-key", ("tskey-",), _L + r"tskey-[a-z]{3,10}-[A-Za-z0-9-]{20,}"),
    Shape("age-key", ("age-secret-key-",), _L + r"AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{50,}"),
    Shape("age-key", ("age-plugin-",), _L + r"AGE-PLUGIN-[A-Z0-9-]{1,40}-1[A-Z0-9]{16,}"),
    Shape(
        "service-key",
        _PREFIXES,
        _L + r"(?:sq[apu]_|bk[a-z]{2}_|crsr_|e2b_|pul-|napi_|rdme_|rpa_|fc-|tr_pat_|esecret_|hc[a-z]{2}k_|FLWSECK-"
        r"|nsec1|signkey-[a-z]{2,12}-|sgp_(?:local_|[0-9a-f]{16}_)?|sgamp_[a-z]{2,8}_[A-Z0-9]{20,40}_)"
        r"[A-Za-z0-9]{24,256}",
        is_run,
    ),
    Shape("gitlab-token", ("gr1348941",), _L + r"GR1348941[A-Za-z0-9_-]{20,}"),
    Shape("service-key", ("rzp_",), _L + r"rzp_(?:live|test)_[A-Za-z0-9]{14,}"),
    Shape("service-key", ("ltai",), _L + r"LTAI[A-Za-z0-9]{16,20}" + _R, is_not_kebab),
    Shape("service-key", ("dt0",), _L + r"dt0[a-z]\d\d\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    Shape(
        "service-key",
        ("pat-", "xaat-", "xapt-", "ctx7sk-", "access-"),
        _L + r"(?:pat-[a-z]{2}\d|xaat|xapt|ctx7sk|access-(?:production|development|sandbox))-" + UUID + _R,
    ),
    Shape("service-key", ("1/", "2/"), _L + r"(?:1|2/\d{10,20})/\d{10,20}:[0-9a-f]{32}" + _R),
    Shape("service-key", ("v1.0-",), _L + r"v1\.0-[0-9a-f]{24}-[0-9a-f]{140,}"),
    Shape("service-key", ("token$",), r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$([0-9a-f]{32})"),
    Shape(
        "service-key",
        ("infura.io/", "alchemy.com/"),
        r"(?:infura\.io/(?:ws/)?v3|alchemy\.com/v2)/([A-Za-z0-9_-]{20,64})",
    ),
    Shape(
        "webhook",
        ("webhook.office.com/", "hook.", "maker.ifttt.com/", "/bot/v2/hook/"),
        r"(?:webhook\.office\.com/webhookb2/|hook\.[a-z0-9]{2,4}\.make\.com/|maker\.ifttt\.com/trigger/[\w-]{1,64}/with/key/"
        r"|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/)([A-Za-z0-9@/_-]{20,})",
    ),
    Shape(
        "jwt",
        ("eyj",),
        r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}+\.eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*)?",
    ),
)

SIGNS = "=:＝："  # noqa: RUF001 (full-width signs)
"""What stands between a name and its value."""

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

# A value as an argument beside its name, and one alone on the line below it.
_GIVEN = r"[\"']?[ ]{0,2}[,(][ ]{0,2}[\"']([^\"'\s]{4,128})[\"']"
_BELOW = (
    r"[\"'`*]{0,3}[:：][*]{0,2}[ \t]{0,3}\r?\n[ \t>|-]{0,12}[\"'`]?([!-~]{6,128}?)[\"'`]?(?=[ \t]{0,3}(?:\r?\n|\Z))"  # noqa: RUF001
)
_COMMAND = r"(?<![\w-])(?:{})[ ](?:[^\n|;&]{{0,160}}?[ ])??"

# How a password is spoken of: "the wifi password is …", "my passphrase for the backup is now …".
_SPOKEN_OF = (
    r"(?: (?:for|to|of|für|zum|de) (?:[\w.'-]{1,30} ){1,4}?| )"
    r"(?:is|was|ist|lautet|es)(?: (?:now|still|currently|jetzt|ahora))?:? "
)
_SAID = r"(?:password|passphrase|passcode|passwort|kennwort|contraseña)" + _SPOKEN_OF
_KEY_SAID = (
    r"(?:(?:api|access|auth|secret|private|signing|encryption|master|webhook)[ -]?key"
    r"|(?:api|access|auth|bearer|refresh|bot|client|app|webhook)[ -](?:token|secret))" + _SPOKEN_OF
)
_SAID_SHORT = _L + r"(?:pw|secret)" + _SPOKEN_OF  # words with other uses: only what looks like a password is one
_OF_ONES_OWN = _L + r"(?:my|our|his|her|their|wi-?fi|meine?|unser|mi|nuestra) (?:[\w-]{1,20} ){0,2}?"
_CLAUSE_ENDS = r"(?=[ \t]{0,3}(?:[.,;!?)\n]|\Z|[ \t](?:and|but|for|on|so|und|aber|für|y|pero|para)(?![\w])))"

# A name of the environment, up to its last word; what is public, or finds something, is called a key too.
_ENV_NAME = (
    r"(?<![A-Z0-9])(?:[A-Z0-9]{1,24}_){1,5}(?<!PUBLIC_)(?<!PUB_)(?<!PUBLISHABLE_)(?<!ANON_)(?<!CACHE_)"
    r"(?<!PRIMARY_)(?<!FOREIGN_)(?<!PARTITION_)(?<!SORT_)(?<!HOST_)(?<!GPG_)(?<!IDEMPOTENCY_)"
)

_SET = r"(?:[ ](?:is|was|to)(?: now)?:?[ ]|[ ]{1,3})"  # behind such a name: "MY_TOKEN is …", "set MY_TOKEN to …"

# What stands behind "user" or "login" where nobody is named: "the user must pass step2", "the login page password".
# A user may well be called test or system, so of what may be a name only the plural is none. A password may follow
# all the same: only what can be nothing else is one there.
_NO_NAME = (
    r"(?:(?:wo|ca)n't|will|would|shall|should|can|cannot|could|may|might|must|to|do|does|did|not|never|always|also|only"
    r"|now|then|who|that|which|and|or|the|an?|forgot"
    r"|(?:account|attempt|dialog|endpoint|error|field|flow|form|handler|header|id|input|link|menu|message|method|model"
    r"|module|page|profile|prompt|request|response|row|screen|session|story|table|token|type|widget)s?"
    r"|data|stories|(?:call|check|doc|event|group|job|object|record|role|route|script|service|stage|step|system|test)s)"
)
# What says how a password is used, or may be a part of a program as well as a name: a password may well follow.
_WITH = (
    r"(?:with|without|using|uses?|via|by|plus|has|have|had|needs?|requires?|wants?|lacks?|gets?|sets?|enters?"
    r"|call|check|doc|event|group|job|object|record|role|route|script|service|stage|step|system|test)"
)

# Anchors of shapes that need neither `=` nor `:` in the text.
SPOKEN = (
    *(
        "curl ",
        "wget ",
        "mysql",
        "mariadb",
        "sshpass",
        "phrase ",
        "mnemonic ",
        "('",
        '("',
        "', '",
        '", "',
        "bearer ",
    ),
    *("password ", "passwort ", "passphrase ", "passcode ", "kennwort ", "contraseña ", "pw ", "secret ", "pin "),
    *("--", "<pass", " key ", " token ", "0x", "_passwd ", "_pwd ", "_pass ", "_token ", "_key "),
    *("login ", "log in ", "sign in ", "credentials ", "creds ", " pass "),
)
_SAID_ANCHORS = ("password", "passwort", "passphrase", "passcode", "kennwort", "contraseña")
# A private key of a chain, in the clause that calls it one. Public keys, hashes and transactions are as long, and
# may stand where a key is spoken of.
_OWN_KEY = (
    r"(?:private|priv|secret|signing|signer'?s?|deployer'?s?|validator'?s?|wallet'?s?|account'?s?|owner'?s?|admin'?s?"
    r"|my|our)[ _-]?key(?![a-z])"
)
_NO_HASH = r"(?:(?!hash|tx|transact|pub|address|block|commit|digest|root|slot|topic|sign|0x)[^\n;]){0,48}?"
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
    Shape(
        "aws-secret-key",
        ("aws", "secret"),
        r"(?:aws[A-Za-z_ -]{0,24}(?:key|secret)|secret[_ -]?access[_ -]?key)(?: (?:is|was))?[ ]{1,3}[\"'`]?"
        r"([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        is_aws_secret,
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
        is_credential,
    ),
    Shape(
        "authorization",
        ("authorization",),
        r"authorization[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?(?:bearer|basic|token|apikey|digest)[ \t]{1,3}"
        r"([A-Za-z0-9._~+/-]{6,}={0,2})",
        is_header_value,
    ),
    Shape(
        "authorization",
        ("cookie",),
        r"cookie[\"']?:(?:[^\n]{0,256}?[ ;,])??[\w.-]{0,40}(?:sess|sid|auth|token)[\w.-]{0,20}="
        r"([A-Za-z0-9%._~+/-]{16,})",
        is_credential,
    ),
    Shape("signature", ("-signature=",), r"x-(?:amz|goog)-signature=([0-9a-f]{64,})"),
    Shape("webhook", ("/webhook/send",), r"/webhook/send\?key=(" + UUID + r")"),
    Shape(
        "credential",
        ("_key",),
        rf"(?-i:{_ENV_NAME}KEY)" + _EITHER + r"[\"'`]?([A-Za-z0-9]{24,128}|" + UUID + r")" + _R,
        is_run,
    ),
    Shape("authorization", ("bearer ",), _L + r"bearer[ \t]{1,3}([A-Za-z0-9._~+/-]{20,}={0,2})", is_credential),
    Shape(
        "url-password",
        ("://",),
        r"(?<=://)(?:\[redacted:[a-z0-9-]{1,40}\]|[^\s/:@?#\"'`<>\[]{0,256}+):((?:(?![/?\"'`<>])[!-~]){1,256})@"
        r"(?=[A-Za-z0-9\[$])",
        is_url_password,
    ),
    Shape(
        "url-password",
        ("://",),
        r"(?<=://)([A-Za-z0-9_-]{20,256})@(?=[A-Za-z0-9\[$])(?!(?:[\w.-]{1,64}\.)?(?:ingest|sentry)\.)",
        is_credential,
    ),
    Shape(
        "url-password", ("jdbc:oracle",), r"jdbc:oracle:[a-z]{2,6}:[^\s/@]{1,64}/([^\s@]{1,128})@", is_url_password
    ),
    Shape(
        "password",
        (":5432:", ":5433:", ":6432:", ":6543:", ":*:"),
        r"(?:[\w.-]{1,128}|\*):(?:5432|5433|6432|6543|\*):[\w*-]{1,64}:[\w.*-]{1,64}:([^\s:\"'`]{5,128})",
        is_password,
    ),
    Shape("password", _WORD_ANCHORS, _WORD + _SUFFIX + _ASSIGN + _QUOTED, is_quoted_password, then=SIGNS),
    Shape("password", _WORD_ANCHORS, _WORD + _SUFFIX + _COLON + _QUOTED, is_quoted_phrase, then=SIGNS),
    Shape("password", _WORD_ANCHORS, _WORD + _SUFFIX + _ASSIGN + _VALUE, is_password, _END, SIGNS),
    Shape("password", _WORD_ANCHORS, _WORD + _SUFFIX + _COLON + _VALUE, is_named_password, _END, SIGNS),
    Shape("password", ("<pass",), r"<(?:password|passphrase)>([^\s<>]{6,256})</", is_password),
    Shape("password", _SAID_ANCHORS, _SAID + _QUOTED, is_quoted_phrase),
    Shape("password", _SAID_ANCHORS, _SAID + _VALUE, is_spoken_password, _END),
    Shape("password", _SAID_ANCHORS, _SAID + _PIECES, is_spoken_in_pieces, _END),
    Shape("password", ("pw ", "secret "), _SAID_SHORT + _VALUE, is_spoken_password, _END),
    Shape("password", ("pw ", "secret "), _SAID_SHORT + _PIECES, is_spoken_in_pieces, _END),
    Shape("password", _SAID_ANCHORS, _SAID + r"[\"'`]([^\"'`\s]{4,128})[\"'`]", is_secret_word),
    Shape("password", _SAID_ANCHORS, _SAID + r"(\d{4,64})" + _CLAUSE_ENDS),
    Shape(
        "password",
        ("password ", "passphrase ", "passcode "),
        r"(?:password|passphrase|passcode)" + _SPOKEN_OF + r"(?-i:([a-z]{18,64}))" + _CLAUSE_ENDS,
        is_secret_word,
    ),
    Shape(
        "password",
        ("_password ", "_passwd ", "_pass ", "_pwd "),
        rf"(?-i:{_ENV_NAME}(?:PASSWORD|PASSWD|PASS|PWD))" + _SET + _VALUE,
        is_told_password,
        _END,
    ),
    Shape(
        "credential",
        ("_secret ", "_token ", "_key "),
        rf"(?-i:{_ENV_NAME}(?:SECRET|TOKEN|KEY))" + _SET + _VALUE,
        is_credential,
    ),
    Shape(
        "password",
        ("login ", "log in ", "sign in ", "credentials ", "creds "),
        _L
        # Behind "as", another account may stand behind the stroke: a word and its number.
        + r"(?:log[ -]?in|sign in|credentials|creds)"
        r"(?: (?:with|using|are)| as(?! \S{1,64} / [a-z._-]{1,64}[0-9]{1,2}(?:\W|\Z)))? "
        r"(?-i:[a-z][a-z0-9._@+-]{0,62}[a-z]) / "
        r"([^\s\"'`<>$/]{5,64}(?<![.,:;)\]!?]))(?=[.,:;)\]!?\"'`]{0,3}(?:\s|\Z))(?! /)",
        is_told_password,
        _END,
        "/",
    ),
    *(
        Shape(
            "password",
            (" pass ", " password "),
            _L + rf"(?:user(?:name)?|login)[ ]{who},?[ ]pass(?:word)?[ ]" + _VALUE + _CLAUSE_ENDS,
            judge,
            _END,
        )
        for who, judge in (
            (rf"(?!(?:{_NO_NAME}|{_WITH})[ ])[\w.@+-]{{1,64}}", is_told_password),
            (_WITH, is_told_with),
            (_NO_NAME, is_unmistakable_password),
        )
    ),
    Shape("password", _SAID_ANCHORS, _OF_ONES_OWN + _SAID + r"([a-z]{4,64})" + _CLAUSE_ENDS, is_secret_word),
    Shape(
        "password",
        _SAID_ANCHORS,
        _SAID + r"[\"'`]?([a-z]{2,20}(?:[ -][a-z]{2,20}){2,11})[\"'`]?" + _CLAUSE_ENDS,
        is_secret_phrase,
    ),
    Shape(
        "pin",
        ("pin",),
        _L
        + r"pin(?:[ -]?(?:code|number|nummer))?(?: (?:is|was|ist|lautet|es)(?: (?:now|still|jetzt))?:? |"
        + _EITHER
        + r")[\"'`]?(\d{4,12})(?![\w.,:-]?\d)",
    ),
    Shape("password", ("--pass",), r"--pass(?:word|wd|phrase)? " + _VALUE, is_named_password),
    Shape("credential", _KEY_ANCHORS, _KEY_LABEL + _SUFFIX + _EITHER + _QUOTED, is_quoted_credential, then=SIGNS),
    Shape("credential", _KEY_ANCHORS, _KEY_LABEL + _SUFFIX + _EITHER + _VALUE, is_credential, then=SIGNS),
    Shape("credential", ("key ", "token ", "secret "), _L + _KEY_SAID + _VALUE, is_spoken_credential),
    Shape("credential", ("--",), r"--(?:[a-z]{1,12}-)?(?:token|secret|key) " + _VALUE, is_credential),
    Shape("credential", ("_auth",), r"_auth(?:Token)?[ ]?=[ ]?[\"']?([A-Za-z0-9+/_=-]{8,})", is_header_value),
    Shape("authorization", ("auth",), r"\"auth\"[ ]?:[ ]?\"([A-Za-z0-9+/]{8,}={0,2})\"", is_basic),
    Shape("password", _WORD_ANCHORS, r"(?<!/)" + _WORD + _SUFFIX + _GIVEN, is_named_password, then="\"'"),
    Shape("password", _WORD_ANCHORS, _WORD + _SUFFIX + _BELOW, is_spoken_password, then=SIGNS),
    Shape("credential", _KEY_ANCHORS, _KEY_LABEL + _SUFFIX + _GIVEN, is_credential, then="\"'"),
    *(
        Shape(
            "password",
            ("password",),
            rf"login\s{{1,3}}{who}\s{{1,3}}password\s{{1,3}}([^\s\"'`<>$]{{4,128}}{ends})",
            judge,
        )
        for who, ends, judge in (
            (rf"(?!(?:{_NO_NAME}|{_WITH})\s)\S{{1,64}}", "", is_listed_password),
            (_WITH, "", is_listed_with),
            (_NO_NAME, r"(?<![.,:;)?])", is_unmistakable_password),
        )
    ),
    Shape(
        "password",
        ("machine",),
        _L + r"machine\s{1,8}(?:[\w-]{1,64}\.[\w.-]{1,128}|localhost)"
        r"(?:\s{1,8}(?:login|account)\s{1,8}\S{1,64}){0,2}\s{1,8}password\s{1,8}([^\s\"'`<>$]{4,128})",
        is_password,
    ),
    Shape(
        "password",
        ("curl", "wget"),
        _COMMAND.format("curl|wget") + r"-(?:u|-user)[ =][\"']?[^\s:\"'$<>]{0,64}:([^\s\"'`$<>{}]{3,128})",
        is_value,
    ),
    Shape(
        "password",
        ("mysql", "mariadb"),
        _COMMAND.format(r"(?:mysql|mariadb)[a-z-]{0,12}") + r"-p([^\s\"'`$<>-][^\s\"'`$<>]{3,64})",
        is_spoken_password,
    ),
    Shape("password", ("sshpass",), r"sshpass[ ]{1,3}-p[ ]{0,3}[\"']?([^\s\"'`$<>]{3,64})", is_value),
    Shape("private-key", ("0x",), _L + _OWN_KEY + _NO_HASH + r"(0x[0-9a-f]{64})(?![0-9a-f])"),
    Shape("private-key", ("private-lines",), r"Private-Lines: \d{1,3}((?:\r?\n[A-Za-z0-9+/=]{2,80}+(?![!-~]))++)"),
    Shape(
        "seed-phrase",
        ("phrase", "mnemonic", "seed"),
        r"(?:(?:seed|recovery)[ -](?:phrase|words)|mnemonic)(?: is)?[:=]?\s{1,3}[\"'`]?"
        r"((?:[a-z]{3,8}[ ,]{1,2}){11,23}[a-z]{3,8})",
        is_seed,
    ),
)

TOKEN_GROUPS, CONTEXT_GROUPS = _grouped(TOKENS), _grouped(CONTEXTS)
