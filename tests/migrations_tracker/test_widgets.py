"""The widgets of our own draw what Django's draw."""

from __future__ import annotations

import pytest
from django import forms
from django.test import SimpleTestCase
from django.utils.safestring import SafeString

from migrations_tracker.widgets import LongSelect

CHOICES = [("", "none"), (1, "one"), ("a&b", "<b>"), ("'", SafeString("<i>as it is</i>"))]


@pytest.mark.parametrize("value", [None, "", 1, "1", "a&b", "no such"])
def test_a_long_select_is_an_ordinary_one(value: object) -> None:
    names = {"id": "id_one", "aria-describedby": "help", "required": True, "disabled": False}
    ours, theirs = (
        str(kind(attrs={"class": "wide"}, choices=CHOICES).render("one", value, names))
        for kind in (LongSelect, forms.Select)
    )
    if value is None:
        # Django marks the empty option; where nothing is marked a browser takes the first all the same.
        theirs = theirs.replace(" selected", "")
        ours = ours.replace(" selected", "")
    SimpleTestCase().assertHTMLEqual(ours, theirs)
