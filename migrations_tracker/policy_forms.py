"""The forms of a repository's own policy."""

from __future__ import annotations

from django import forms
from django.http import QueryDict

from audit.policy.clauses import Clause, ClauseKind
from audit.rules import RULES
from audit.services.repository_policies import MAX_REASON, MAX_TEXT

_CODE = {"rows": 7, "spellcheck": "false", "autocomplete": "off", "class": "code"}

_SHOWN = ("title", "kind", "text", "reason", "pytorch", "right", "wrong", "rules", "form_keys")


class OwnClauseForm(forms.Form):
    """A clause that a repository adds, and why it is published."""

    title = forms.CharField(label="Title", max_length=200)
    kind = forms.ChoiceField(label="Kind", choices=[(kind.value, kind.value) for kind in ClauseKind])
    text = forms.CharField(
        label="What it says", max_length=MAX_TEXT, widget=forms.Textarea(attrs={"rows": 4})
    )
    reason = forms.CharField(
        label="Reason",
        max_length=MAX_TEXT,
        help_text="Why the clause is there, for whoever wonders.",
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    pytorch = forms.CharField(
        label="What PyTorch does",
        max_length=MAX_TEXT,
        help_text="Its counterpart there; say so where it has none.",
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    right = forms.CharField(
        label="Right in Rust", required=False, max_length=MAX_TEXT, widget=forms.Textarea(attrs=_CODE)
    )
    wrong = forms.CharField(
        label="Wrong in Rust", required=False, max_length=MAX_TEXT, widget=forms.Textarea(attrs=_CODE)
    )
    rules = forms.MultipleChoiceField(
        label="Rules that rest on it",
        required=False,
        choices=[(rule.id, f"{rule.id} {rule.name}") for rule in RULES],
        widget=forms.CheckboxSelectMultiple,
    )
    form_keys = forms.CharField(
        label="Forms that rest on it",
        required=False,
        max_length=2000,
        help_text="Keys as in the list of forms, parted by spaces, such as `early-return`.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    why = forms.CharField(
        label="Why this is published",
        max_length=MAX_REASON,
        help_text="It stands in the list of versions.",
        widget=forms.TextInput(),
    )
    based_on = forms.IntegerField(min_value=0, max_value=2**31 - 1, widget=forms.HiddenInput)


class LevelsForm(forms.Form):
    """The levels of all rules, and why they are published."""

    why = forms.CharField(max_length=MAX_REASON)
    based_on = forms.IntegerField(min_value=0, max_value=2**31 - 1)


def values_of(clause: Clause) -> dict[str, object]:
    """Return what a form shows of a clause."""
    return {
        "title": clause.title,
        "kind": clause.kind.value,
        "text": clause.text,
        "reason": clause.reason,
        "pytorch": clause.pytorch,
        "right": clause.right,
        "wrong": clause.wrong,
        "rules": list(clause.rules),
        "form_keys": " ".join(clause.forms),
    }


def values_as_texts(clause: Clause) -> dict[str, str]:
    """Return what a form shows of a clause, its lists as words."""
    return {
        key: " ".join(value) if isinstance(value, list) else str(value)
        for key, value in values_of(clause).items()
    }


def values_typed(data: QueryDict) -> dict[str, str]:
    """Return what was typed in the form, as `values_as_texts` says it."""
    lists = {"rules": " ".join(sorted(data.getlist("rules")))}
    texts = {key: data.get(key, "").replace("\r\n", "\n") for key in _SHOWN}
    texts["form_keys"] = " ".join(sorted(texts["form_keys"].split()))
    return {key: lists.get(key, value) for key, value in texts.items()}
