"""Passwords."""

from whoknows.apps.web.security.passwords import hashed, matches

PASSWORD = "correct horse"


def test_passwords_are_stored_as_salted_hashes():
    assert hashed(PASSWORD) != hashed(PASSWORD)
    assert matches(PASSWORD, hashed(PASSWORD))
    assert not matches("wrong horse", hashed(PASSWORD))
    assert not matches("", None)
