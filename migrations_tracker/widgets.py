"""Form widgets of our own."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape as escaped
from typing import Any

from django import forms
from django.forms.renderers import BaseRenderer
from django.forms.utils import flatatt
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe


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
    """Write options, the one that is chosen marked. A page has hundreds of them, three times."""
    value = "" if chosen is None else str(chosen)
    return mark_safe(  # noqa: S308
        "".join(
            f'<option value="{escaped(str(key))}"{" selected" if str(key) == value else ""}>'
            f"{conditional_escape(label) if hasattr(label, '__html__') else escaped(str(label))}</option>"
            for key, label in choices
        )
    )
