"""get_params / set_params for models, maps and graphs, as in scikit-learn, and validation of settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np

from whoknows.data.errors import InputError

Rule = tuple[str, Callable[[Any], bool]]  # its description, and the test
Rules = dict[str, Rule]


def is_number(value: Any) -> bool:
    """Whether a value is a finite real number, and not a boolean."""
    return not isinstance(value, bool) and isinstance(value, Real) and bool(np.isfinite(float(value)))


def at_least(least: int) -> Rule:
    """Return the rule that a setting is an integer of at least this size."""
    return (f"a whole number of {least} or more", lambda value: isinstance(value, Integral) and int(value) >= least)


POSITIVE: Rule = ("a number above 0", lambda value: is_number(value) and value > 0)
NOT_NEGATIVE: Rule = ("a number of 0 or more", lambda value: is_number(value) and value >= 0)
SHARE: Rule = ("a number from 0 to below 1", lambda value: is_number(value) and 0 <= value < 1)
COUNT: Rule = at_least(1)
YES_OR_NO: Rule = ("True or False", lambda value: isinstance(value, (bool, np.bool_)))


def or_none(rule: Rule) -> Rule:
    """Return the rule, with None allowed."""
    return f"{rule[0]}, or None", lambda value: value is None or rule[1](value)


def is_a(kind: type) -> Rule:
    """Return the rule that a setting is an instance of this class."""
    return f"a {kind.__name__}", lambda value: isinstance(value, kind)


def check_value(name: str, value: Any, rule: Rule) -> Any:
    """Return the value of a parameter; refuse an invalid one."""
    words, holds = rule
    if not holds(value):
        raise InputError(f"{name} must be {words}; got {value!r}.")
    return value


def check_values(settings: Any, rules: Rules, prefix: str = "") -> None:
    """Refuse invalid settings of an object; messages name them with the prefix."""
    for name, rule in rules.items():
        check_value(prefix + name, getattr(settings, name), rule)


class Settings:
    """A dataclass of hyper-parameters that scikit-learn can read and set, nested ones included."""

    rules: ClassVar[Rules] = {}

    def check(self) -> Self:
        """Refuse invalid settings, nested ones included; return self."""
        check_values(self, self.rules, f"{type(self).__name__}.")
        for value in self.get_params(deep=False).values():
            if isinstance(value, Settings):  # a piece within a piece; other settings are plain values
                value.check()
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name; nested ones also as ``outer__inner``."""
        params = {f.name: getattr(self, f.name) for f in fields(self) if f.init}  # type: ignore[arg-type]
        if deep:
            # A piece within a piece; other settings are plain values.
            nested = {name: value for name, value in params.items() if isinstance(value, Settings)}
            for name, piece in nested.items():
                params |= {f"{name}__{key}": value for key, value in piece.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set settings by name; ``outer__inner`` for a nested object."""
        known = self.get_params(deep=False)
        for key, value in params.items():
            name, _, inner = key.partition("__")
            if name not in known:
                raise InputError(f"{type(self).__name__} has no setting {name!r}. It has: {sorted(known)}.")
            if inner:
                getattr(self, name).set_params(**{inner: value})
            else:
                setattr(self, name, value)
        return self


class NotCompatible(InputError):
    """A model does not support what was asked for; the message says what is missing and what to use."""
