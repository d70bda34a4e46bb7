"""Suites that a backend can join but not bend."""

from typing import Any


class Sealed:
    """A suite whose tests no subclass may replace: a backend adds fixtures, nothing else."""

    def __init_subclass__(cls, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        if Sealed in cls.__bases__:
            return
        others: list[type[Any]] = [base for base in cls.__mro__ if not issubclass(base, Sealed)]
        classes: list[type[Any]] = [cls, *others]
        bent = sorted({name for c in classes for name in vars(c) if name.startswith("test")})
        if bent:
            raise TypeError(f"{cls.__name__} may not define {', '.join(bent)}: the suite is sealed")
