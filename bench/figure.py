"""The nouns of the benchmark: a figure with its goal, a part that measures some of them in one go, a group of parts."""

import dataclasses
import operator
from collections.abc import Callable, Iterator

COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@dataclasses.dataclass(frozen=True)
class Figure:
    name: str
    unit: str
    goal: str = ""  # "< 10"; empty: the figure serves only for comparison

    def ok(self, value):
        if not self.goal:
            return True
        comparison, bound = self.goal.split()
        return COMPARISONS[comparison](value, float(bound))


@dataclasses.dataclass(frozen=True)
class Part:
    """What is measured together. `measure` gives (name, value) pairs as it has them, of `figures` only."""
    says: str  # a description for a person who waits for it
    measure: Callable[..., Iterator[tuple[str, float]]]
    figures: tuple[Figure, ...]
    needs: frozenset[str] = frozenset()  # targets and services that it needs; bench/build.py has the names


@dataclasses.dataclass(frozen=True)
class Group:
    name: str
    says: str
    parts: tuple[Part, ...]

    def figures(self):
        return [figure for part in self.parts for figure in part.figures]


class UnknownName(Exception):
    """Carries the name."""


def chosen(groups, names):
    """The (group, part, names of figures) to measure for `names` of groups and figures; for no names, all."""
    known = {group.name for group in groups} | {figure.name for group in groups for figure in group.figures()}
    for name in names:
        if name not in known:
            raise UnknownName(name)
    out = []
    for group in groups:
        for part in group.parts:
            wanted = {figure.name for figure in part.figures if not names or group.name in names or figure.name in names}
            if wanted:
                out.append((group, part, wanted))
    return out
