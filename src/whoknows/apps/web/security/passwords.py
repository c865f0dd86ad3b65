"""Passwords as scrypt hashes, and secrets of which only a digest is stored."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from whoknows.data.errors import InputError

COST = {"n": 1 << 14, "r": 8, "p": 1}  # 16 MB and about 50 ms
SHORTEST, LONGEST = 8, 1000


def hashed(password: str) -> str:
    """Return what is stored of a password."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise InputError(f"Expected a password of {SHORTEST} characters or more; got {len(password)}.")
    salt = secrets.token_bytes(16)
    return f"{salt.hex()}${_scrypt(password, salt).hex()}"


def matches(password: str, stored: str | None) -> bool:
    """Whether a password is the one that is stored; takes as long if there is none."""
    salt, _, digest = (stored or f"{'00' * 16}${'00' * 64}").partition("$")
    same = hmac.compare_digest(_scrypt(password[:LONGEST], bytes.fromhex(salt)), bytes.fromhex(digest))
    return same and stored is not None


def _scrypt(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode("utf-8", "surrogatepass"), salt=salt, **COST)


def new_secret() -> str:
    """Return a secret for a cookie, a link or a header."""
    return secrets.token_urlsafe(32)


def digest(secret: str) -> str:
    """Return what is stored of a secret: a stolen database opens no door."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
