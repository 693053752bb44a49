"""The form that narrows a list: one frame for every list, and a tag for each kind of field."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import template
from django.template.context import RequestContext
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.safestring import SafeString

from migrations_tracker.templatetags.pages import state_text

register = template.Library()


@register.simple_block_tag(takes_context=True)
def filter_form(
    context: RequestContext, content: SafeString, view: str, *, submit: str = "Apply", is_live: bool = True
) -> SafeString:
    """Frame fields as a form that goes to a view by GET; with `choice` in the context, of its repository.

    A live one asks again as soon as something is changed, and replaces `#results`.
    """
    choice = context.get("choice")
    repository = getattr(choice, "repository", None)
    address = reverse(view)
    return render_to_string(
        "components/filter_form.html",
        {
            "fields": content,
            "address": address,
            "clear": f"{address}?repository={repository.slug}" if repository is not None else address,
            "choice": choice,
            "submit": submit,
            "is_live": is_live,
        },
    )


@register.inclusion_tag("components/filter_select.html")
def filter_select(
    name: str,
    label: str,
    options: Iterable[Any],
    chosen: object,
    *,
    empty: str = "",
    wide: bool = False,
    spelled: bool = False,
) -> dict[str, object]:
    """Offer values, each alone or with its words; `empty` is the word for none of them.

    `spelled` writes values such as `text-error` as people do.
    """
    pairs = [(str(row[0]), row[1]) if isinstance(row, tuple) else (str(row), str(row)) for row in options]
    if spelled:
        pairs = [(value, state_text(words)) for value, words in pairs]
    return {
        "name": name,
        "label": label,
        "pairs": pairs,
        "chosen": str(chosen),
        "empty": empty,
        "wide": wide,
    }


@register.inclusion_tag("components/filter_text.html")
def filter_text(label: str, value: str, *, name: str = "q") -> dict[str, object]:
    """Ask for words."""
    return {"label": label, "value": value, "name": name}
