"""Requests to the API of a Label Studio server, with a personal or a legacy token."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from whoknows.data.errors import InputError

PAGE = 500  # tasks per request
SECONDS = 60  # without an answer, before a request fails
LARGEST = 1 << 30  # bytes of an answer
LONGEST = 300  # characters of a message of the server that are shown

PERSONAL = "Create one in Label Studio under Account & Settings > Personal Access Token."
LEGACY = (
    "Legacy tokens are refused unless the organization allows them (Organization > API Tokens Settings, or "
    "label-studio start --enable-legacy-api-token). A personal access token works everywhere: Account & Settings > "
    "Personal Access Token."
)


class LabelStudioError(InputError):
    """Label Studio, or a project of it, cannot be used; the message says why and what to do."""


class Unreachable(LabelStudioError):
    """The server does not answer now; it may do so later."""


class Refused(LabelStudioError):
    """The server does not allow a request."""


class NotFound(LabelStudioError):
    """The server does not have what was asked for."""


class _NoRedirects(HTTPRedirectHandler):
    """A redirect is an error: the token must not go to another server."""

    def redirect_request(self, *args: Any, **options: Any) -> None:
        """Follow no redirect."""


@dataclass
class Client:
    """One Label Studio server; every request goes to it, and to no other.

    Parameters
    ----------
    url : str
        Where the start page is, such as http://localhost:8080.
    token : str
        A personal access token, which is exchanged for one that lasts minutes, or a legacy token.
    """

    url: str
    token: str = field(repr=False)
    _access: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        self.url, self.token = self.url.strip().rstrip("/"), self.token.strip()
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.username is not None:
            raise LabelStudioError(
                "Expected the address of Label Studio's start page, such as http://localhost:8080, "
                f"without a name or password; got {parts.scheme or 'no scheme'}://{parts.hostname or ''}."
            )
        if not self.token.isascii() or not self.token.isprintable() or not self.token:
            raise LabelStudioError(f"The token has characters that no token of Label Studio has. {PERSONAL}")

    @property
    def is_personal(self) -> bool:
        """Whether the token is a personal one, a JSON web token; legacy tokens are 40 digits."""
        return self.token.count(".") == 2

    def request(self, method: str, path: str, body: Any = None, **query: Any) -> Any:
        """Return the answer to a request, parsed; None if it is empty.

        The short-lived token is renewed when the server no longer takes it.
        """
        if self.is_personal and not self._access:
            self._renew()
        try:
            return self._send(method, path, body, query)
        except Refused as error:
            if not (self.is_personal and isinstance(error.__cause__, HTTPError) and error.__cause__.code == 401):
                raise
        self._renew()
        return self._send(method, path, body, query)

    def pages(self, path: str, key: str, **query: Any) -> Iterator[dict[str, Any]]:
        """Yield the entries of a paged list; an entry that moves to a later page meanwhile, once."""
        known: set[Any] = set()
        page, total = 1, 1
        while (page - 1) * PAGE < total:
            answer = self.request("GET", path, page=page, page_size=PAGE, **query)
            page, total = page + 1, _integer(answer, "total", self.url)
            for entry in answer.get(key) or ():
                if entry["id"] not in known:
                    known.add(entry["id"])
                    yield entry

    def _renew(self) -> None:
        """Exchange the personal token for one that lasts some minutes."""
        self._access = ""
        answer = self._send("POST", "/api/token/refresh/", {"refresh": self.token}, {})
        self._access = str(answer["access"]) if isinstance(answer, dict) and "access" in answer else ""

    def _send(self, method: str, path: str, body: Any, query: dict[str, Any]) -> Any:
        url = f"{self.url}{path}" + (f"?{urlencode(query)}" if query else "")
        data = None if body is None else json.dumps(body).encode()
        request = Request(url, data, self._headers(), method=method)
        try:
            with build_opener(_NoRedirects).open(request, timeout=SECONDS) as response:
                answer = response.read(LARGEST + 1)
        except HTTPError as error:
            raise self._explained(error, f"{method} {path}") from error
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise Unreachable(f"{self.url}: does not answer ({reason}). Is Label Studio running there?") from None
        if len(answer) > LARGEST:
            raise LabelStudioError(f"{self.url}: the answer to {method} {path} is larger than 1 GiB.")
        return self._parsed(answer)

    def _headers(self) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        scheme, token = ("Bearer", self._access) if self.is_personal else ("Token", self.token)
        return headers | ({"Authorization": f"{scheme} {token}"} if token else {})

    def _parsed(self, answer: bytes) -> Any:
        try:
            return json.loads(answer) if answer.strip() else None
        except (ValueError, RecursionError):
            raise LabelStudioError(
                f"{self.url}: answers with something other than JSON. Is this the address of Label Studio's start page?"
            ) from None

    def _explained(self, error: HTTPError, what: str) -> LabelStudioError:
        """Return an error that says what the server has refused, and why; never with the token."""
        with error:
            said = _said(error.read(LARGEST)).replace(self.token, "…")
        if error.code == 401:
            kind, advice = ("personal access", PERSONAL) if self.is_personal else ("legacy", LEGACY)
            return Refused(f"{self.url}: refuses the token, which looks like a {kind} token ({said}). {advice}")
        if error.code == 403:
            return Refused(f"{self.url}: does not allow {what}: {said}.")
        if error.code == 404:
            return NotFound(f"{self.url}: there is nothing at {what}: {said}.")
        if 300 <= error.code < 400:
            where = error.headers.get("Location", "another address")
            return LabelStudioError(f"{self.url}: redirects to {where}. If that is right, name its start page instead.")
        kind = Unreachable if error.code in (429, 502, 503, 504) else LabelStudioError
        return kind(f"{self.url}: {what} failed with status {error.code}: {said}.")


def _said(answer: bytes) -> str:
    """Return what the server says about an error, in its words."""
    try:
        record = json.loads(answer)
        words = record.get("validation_errors") or record.get("detail") or record
    except (ValueError, AttributeError, RecursionError):
        words = "no details"
    return (words if isinstance(words, str) else json.dumps(words))[:LONGEST].rstrip(".")


def _integer(answer: Any, name: str, url: str) -> int:
    number = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(number, int):
        raise LabelStudioError(f"{url}: the list of tasks has no {name!r}. Is this Label Studio?")
    return number
