"""What cannot be done with the state, for people; the web app turns it into an answer with a status."""

from whoknows.data.errors import InputError


class NotFound(InputError):
    """There is no such project, item, fit, account or upload."""


class Conflict(InputError):
    """It exists already, or contradicts what is stored."""


class TooLarge(InputError):
    """More rows or bytes than the server accepts."""
