"""The functions of one name, apart by how a call may reach them."""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from audit.scanner.link.unit import Fn

_INDEX = attrgetter("index")


class Named:
    """Free functions and methods of a name; each list in the order of the tree."""

    __slots__ = ("_by_arity", "free", "methods", "of_type", "own")

    free: list[Fn]
    """The functions outside impl blocks and traits, those that a macro gives this name too."""
    methods: list[Fn]
    """The functions of impl blocks and traits."""
    own: dict[str, list[Fn]]
    """The methods by the type, or the trait, whose own they are."""
    of_type: dict[str, list[Fn]]
    """The methods by type, and by the trait that they implement."""

    def __init__(self, name: str, functions: Iterable[Fn]) -> None:
        self.free = []
        self.methods = []
        self.own = {}
        self.of_type = {}
        self._by_arity: dict[int, list[Fn]] = {}
        for one in sorted(functions, key=_INDEX):
            if one.owner is None:
                self.free.append(one)
            # What a macro names otherwise can't be told from its invocations to be of a type.
            elif one.name == name and one not in self.methods[-1:]:
                self.methods.append(one)
                self.own.setdefault(one.self_type, []).append(one)
                for type_ in {one.self_type, one.trait}:
                    self.of_type.setdefault(type_, []).append(one)

    def taking(self, arity: int) -> list[Fn]:
        """Return the methods of product code that have a body and take so many arguments."""
        found = self._by_arity.get(arity)
        if found is None:
            found = self._by_arity[arity] = [
                one for one in self.methods if one.has_body and _arity(one) == arity and not one.is_test_code
            ]
        return found


def _arity(function: Fn) -> int:
    return sum(parameter.name != "self" for parameter in function.facts.parameters)
