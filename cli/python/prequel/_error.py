"""The one exception of prequel."""

from __future__ import annotations

from typing import Sequence


class Error(ValueError):
    """Bad input: what is wrong, with the file, key or flag, the value, and what would do.

    Attributes:
        subject: what the first problem is about: a file, a flag such as ``--mbs``, or a command.
        problems: all problems, a text each.
    """

    subject: str
    problems: tuple[str, ...]

    def __init__(self, subject: str, problems: Sequence[str]) -> None:
        super().__init__(subject, problems)
        self.subject = subject
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return "\n".join(self.problems)
