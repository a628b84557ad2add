"""Secrets in texts that are copied or sent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from looseleaf.redaction import redacted
from looseleaf.transcripts import cleaned

SECRETS = [
    "sk-proj-abcdefghijklmnop1234", "sk_live_abcdefghijklmnop1234", "ghp_abcdefghijklmnopqrstuvwxyz0123", "github_pat_11ABCDEFG0abcdefghij_xyz",
    "glpat-abcdefghijklmnopqrst", "xoxb-1234567890-abcdefghij", "AKIAIOSFODNN7EXAMPLE", "AIzaSyA-abcdefghijklmnopqrstuvwxyz0123",
    "hf_abcdefghijklmnopqrstuvwx", "1234567890:AAabcdefghijklmnopqrstuvwxyz_0123456",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N",
]  # fmt: skip


@pytest.mark.parametrize("secret", SECRETS)
def test_keys_of_common_shapes_are_hidden(secret: str) -> None:
    """Their first letters are left, so that one knows what stood there."""
    assert secret[4:] not in redacted(f"the key is {secret}, use it")
    assert redacted(f"the key is {secret}, use it").startswith(f"the key is {secret[:4]}***")


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("password: hunter2hunter2 and more", "password: *** and more"),
        ('{"apiKey": "abcdef123456"}', '{"apiKey": "***"}'),
        ("Authorization: Bearer abcdefghijklmnopqrstuvwx", "Authorization: Bearer abcd***"),
        ("postgres://bob:s3cretpass@db.example/x", "postgres://bob:***@db.example/x"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- end", "----*** end"),
        ("the password is on the desk", "the password is on the desk"),
        ("sk-8 is a train, task-force-of-the-whole-team is none", "sk-8 is a train, task-force-of-the-whole-team is none"),
        ("commit 0123456789abcdef0123456789abcdef01234567", "commit 0123456789abcdef0123456789abcdef01234567"),
    ],
)
def test_what_follows_a_name_is_hidden_and_the_rest_is_not(text: str, hidden: str) -> None:
    """Over-redaction makes a memory useless: identifiers, hashes and plain words stay."""
    assert redacted(text) == hidden


@given(st.text(max_size=200), st.sampled_from(SECRETS), st.text(max_size=200))
def test_no_surrounding_brings_a_secret_through(before: str, secret: str, after: str) -> None:
    """Whatever stands around it, and twice is the same as once."""
    once = cleaned(f"{before} {secret} {after}")
    assert secret not in once
    assert cleaned(once) == once
