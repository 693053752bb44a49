"""Form widgets of our own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.forms.renderers import BaseRenderer
from django.forms.utils import flatatt
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString


class LongSelect(forms.Select):
    """A select of hundreds of options. One template for each of them takes tens of milliseconds."""

    def render(
        self,
        name: str,
        value: Any,
        attrs: dict[str, Any] | None = None,
        renderer: BaseRenderer | None = None,
    ) -> SafeString:
        """Return the select with its options, in one go."""
        shown = flatatt(self.build_attrs(self.attrs, {"name": name, **(attrs or {})}))
        return format_html("<select{}>{}</select>", shown, options_text(self.choices, value))


def options_text(choices: Iterable[tuple[Any, Any]], chosen: Any) -> SafeString:
    """Write options, the one that is chosen marked."""
    value = "" if chosen is None else str(chosen)
    return format_html_join(
        "",
        '<option value="{}"{}>{}</option>',
        ((key, _SELECTED if str(key) == value else "", label) for key, label in choices),
    )


_SELECTED = SafeString(" selected")
