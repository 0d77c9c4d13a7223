"""Passwords and PINs as people speak of them: told or not, by a labelled list."""

import pytest

from engram.rules.redact import redact

TOLD = [
    ("the password is hunter2", "hunter2"),
    ("The password is hunter2.", "hunter2"),
    ("btw the password is hunter2, change it later", "hunter2"),
    ("my password is hunter2", "hunter2"),
    ("My password is swordfish", "swordfish"),
    ("my old password was swordfish.", "swordfish"),
    ("our wifi password is bluemonkey and the guest one is open", "bluemonkey"),
    ("the wifi password is bluemonkey", "bluemonkey"),
    ("the password for the staging database is Winter2024", "Winter2024"),
    ("the password to the vault is now tr0ub4dor", "tr0ub4dor"),
    ("the password is: s3cr3t!", "s3cr3t!"),
    ("the password is p@ssword", "p@ssword"),
    ("the db password is Tr0ub4dor&3 ok", "Tr0ub4dor&3"),
    ('the password is "p@ss w0rd" there', "p@ss w0rd"),
    ("the password is 'horse battery staple'", "horse battery staple"),
    ("the password is p@ss w0rd", "p@ss w0rd"),
    ("the secret is p@ss w0rd!!", "p@ss w0rd!!"),
    ("the secret is s3cr3t42 for now", "s3cr3t42"),
    ("the pw is hunter22", "hunter22"),
    ("the admin password is 'letmein'", "letmein"),
    ('the default password is "swordfish" on these boxes', "swordfish"),
    ("the password is 20241105", "20241105"),
    ("my passphrase is correct horse battery staple", "correct horse battery staple"),
    ("the passphrase is correct-horse-battery-staple.", "correct-horse-battery-staple"),
    ("the passcode is 4711", "4711"),
    ("my PIN is 1234", "1234"),
    ("The PIN is 1234, do not tell", "1234"),
    ("my card's pin code is 98765", "98765"),
    ("PIN: 4321", "4321"),
    ("Mein Passwort ist hunter2", "hunter2"),
    ("mein Passwort lautet Sommer24", "Sommer24"),
    ("die PIN ist 1234", "1234"),
    ("mi contraseña es hunter2", "hunter2"),
]

NOT_TOLD = [
    "the password is stored in vault",
    "the password is stored in Vault under secret/db2",
    "the password is in 1Password",
    "the password is kept in the team's vault",
    "the password is required",
    "the password is not required",
    "the password is hashed with argon2id and 16-byte salts",
    "the password is SHA256-hashed before it is sent",
    "the password is base64 encoded",
    "the password is sha256",
    "the password is at least 12 characters long",
    "the password is 12 characters long",
    "the password is 4096 bytes at most",
    "the password is case-sensitive",
    "the password is validated by the auth service",
    "the password is wrong",
    'the password is "required" in the schema',
    'the password is "not found" in the form',
    'the password is "weak password" to the checker',
    'the password is "almost expired" by then',
    "the password is v2 p@ss",
    "the password is s3 k8",
    "the secret is hidden in plain sight",
    "the secret is rotated every 30 days",
    "the secret is base64-encoded",
    "the secret is HS256",
    "the secret is an Ed25519 key",
    "the secret is to deploy 2x a day",
    "secret is a strong word",
    "the secrets is of 2 kinds",
    "my password is wrong",
    "my password is expired",
    "my password is too weak for the policy",
    "my password is stored in vault",
    "my password is changed every month",
    "my password is fine, thanks",
    "my password is long and hard to type",
    "our password policy is strict",
    "our password manager is bitwarden",
    "my passphrase is kept in the safe at home",
    "the passphrase is asked for when the server starts",
    "a password reset takes two minutes",
    "password is a required field",
    "the password for the database is rotated weekly",
    "the password for new users is sent by mail",
    "the password to use is the one in the vault",
    "the LED pin is 13",
    "the GPIO pin is 27 on this board",
    "pin is connected to ground",
    "pin the version to 2024.1",
    "pin: 13",
    "spin: 1234 is no such thing",
    "we pin 1234 packages",
    "we pin versions: 1.2.3",
    "das Passwort ist abgelaufen",
    "das Passwort ist im Tresor",
    "la contraseña es obligatoria",
]  # fmt: skip


@pytest.mark.parametrize(("text", "secret"), TOLD)
def test_a_spoken_secret_is_taken_out_and_nothing_else(text, secret):
    found = redact(text)

    assert len(found.kinds) == 1
    assert found.text == text.replace(secret, f"[redacted:{found.kinds[0]}]")


@pytest.mark.parametrize("text", NOT_TOLD)
def test_what_is_said_about_a_password_stays(text):
    assert redact(text).text == text
