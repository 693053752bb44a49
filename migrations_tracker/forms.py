"""The forms of the pages."""

from __future__ import annotations

from django import forms
from django.contrib.auth.models import User
from django.http import QueryDict

from audit.models import Branch, Repository, ScanRun
from audit.parity.catalogue import Direction
from audit.scanner.profile import profile_names
from audit.services.credentials import VARIABLE_PREFIX
from audit.services.matches import RULED_VERDICTS
from migrations_tracker.models import Channel, Frequency, NoticeKind, Period, TokenScope
from migrations_tracker.report_formats import FORMATS


class RepositoryAddForm(forms.Form):
    """Where a repository is, and which revision to scan first."""

    location = forms.CharField(
        label="URL or path",
        max_length=1000,
        help_text="`https://`, `ssh://` or `file://`, or the absolute path of a folder on this machine: a "
        "git repository, bare or with a work tree, or a plain Cargo workspace.",
        widget=forms.TextInput(
            attrs={
                "autocomplete": "off",
                "spellcheck": "false",
                "placeholder": "https://example.org/team/project.git",
            }
        ),
    )
    name = forms.CharField(
        label="Name", max_length=100, required=False, help_text="Left empty, the last part of the address."
    )
    revision = forms.CharField(
        label="Revision to scan",
        max_length=255,
        required=False,
        help_text="A branch, tag or commit. Left empty, the default branch.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


class RepositorySettingsForm(forms.Form):
    """How a repository is scanned."""

    followed_branches = forms.CharField(
        label="Branches to follow",
        max_length=10_000,
        required=False,
        help_text="Names or patterns such as `release/*`, one a line. Left empty, the default branch.",
        widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off", "spellcheck": "false"}),
    )
    schedule = forms.CharField(
        label="Schedule",
        max_length=200,
        required=False,
        help_text="Five fields as in a crontab: minute, hour, day of the month, month, day of the week. "
        "`0 6 * * 1-5` is every working day at six. Left empty, scans are only asked for by hand.",
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "spellcheck": "false", "placeholder": "0 6 * * *"}
        ),
    )
    profile = forms.ChoiceField(
        label="Profile",
        required=False,
        choices=[("", "Chosen by what the crates depend on"), *((name, name) for name in profile_names())],
        help_text="Which words the code uses for its devices, kernels and transfers.",
    )
    credentials = forms.CharField(
        label="Credentials",
        max_length=110,
        required=False,
        help_text=f"Where the worker finds them, never the secret itself: `env:{VARIABLE_PREFIX}TEAM`, a "
        "variable of its environment, or `file:team`, a file in CREDENTIALS_DIR. Each holds lines "
        "`https://user:token@host`; for ssh, the file is a private key.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


class TokenForm(forms.Form):
    """What a token is for."""

    name = forms.CharField(
        label="Name",
        max_length=100,
        help_text="Where it is used, such as “CI of ferrotorch”.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    scope = forms.ChoiceField(
        label="It may",
        choices=TokenScope.choices,
        initial=TokenScope.READ,
        help_text="A token that only reads can't ask for scans or move anything on.",
    )
    days = forms.TypedChoiceField(
        label="It ends after",
        choices=[("30", "30 days"), ("90", "90 days"), ("365", "a year"), ("", "never, until it is revoked")],
        initial="90",
        coerce=int,
        empty_value=None,
        required=False,
    )


class SubscriptionForm(forms.Form):
    """What somebody wants to be told, and how."""

    repository = forms.ModelChoiceField(
        label="Repository", queryset=Repository.objects.all(), required=False, empty_label="Every repository"
    )
    kinds = forms.MultipleChoiceField(
        choices=NoticeKind.choices, initial=NoticeKind.values, widget=forms.CheckboxSelectMultiple
    )
    frequency = forms.ChoiceField(label="When", choices=Frequency.choices)
    channel = forms.ChoiceField(label="How", choices=Channel.choices)
    address = forms.CharField(
        label="Address of the webhook",
        max_length=500,
        required=False,
        help_text="`https://…`, for a webhook alone.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )


class ScanForm(forms.Form):
    """Which revision of a repository to scan."""

    revision = forms.CharField(
        label="Revision",
        max_length=255,
        required=False,
        widget=forms.TextInput(
            attrs={"autocomplete": "off", "spellcheck": "false", "placeholder": "default branch"}
        ),
    )


class TransitionForm(forms.Form):
    """The next status of a migration, and why."""

    to = forms.CharField(max_length=12)
    reason = forms.CharField(required=False, max_length=10_000, widget=forms.Textarea(attrs={"rows": 3}))
    expires_on = forms.DateField(required=False)
    version = forms.IntegerField(min_value=1)


class SuppressionForm(forms.Form):
    """Why a site or a gap is to stay as it is, and until when; `withdraw` takes the question back."""

    justification = forms.CharField(
        max_length=10_000, required=False, widget=forms.Textarea(attrs={"rows": 3, "id": "id_justification"})
    )
    expires_on = forms.DateField(required=False)
    withdraw = forms.BooleanField(required=False)


class CommentForm(forms.Form):
    """A comment on a site or a gap."""

    text = forms.CharField(
        label="Comment",
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "aria-describedby": "comment-help"}),
    )


class AssignForm(forms.Form):
    """Who owns a migration; nobody when empty."""

    assignee = forms.CharField(label="Owner", max_length=150, required=False)
    version = forms.IntegerField(min_value=1)


class DueForm(forms.Form):
    """By which day a migration is to be done; none when empty."""

    due_on = forms.DateField(label="Due", required=False)
    version = forms.IntegerField(min_value=1)


class ReportForm(forms.Form):
    """Which branch to report on, and since which of its scans."""

    branch = forms.ModelChoiceField(Branch.objects.select_related("last_scan", "repository"))
    since = forms.ModelChoiceField(ScanRun.objects.all(), required=False)


class ReportScheduleForm(forms.Form):
    """Which reports are mailed, how often, to whom, and in which formats."""

    branch = forms.ModelChoiceField(Branch.objects.all())
    period = forms.ChoiceField(choices=Period.choices)
    recipients = forms.CharField(max_length=2000)
    formats = forms.MultipleChoiceField(
        choices=[(one.key, one.title) for one in FORMATS.values()], initial=["pdf"], required=False
    )


class RulingForm(forms.Form):
    """What an operation is in PyTorch, and why somebody says so."""

    verdict = forms.ChoiceField(choices=[(verdict.value, verdict.value) for verdict in RULED_VERDICTS])
    counterpart = forms.CharField(max_length=200, required=False)
    direction = forms.ChoiceField(choices=[(direction.value, direction.value) for direction in Direction])
    dtype = forms.CharField(max_length=20, required=False)
    reason = forms.CharField(required=False, max_length=10_000, widget=forms.Textarea(attrs={"rows": 3}))
    seen = forms.IntegerField(required=False, min_value=0, max_value=2**62)


class RunnerAddForm(forms.Form):
    """The name of a GPU machine."""

    name = forms.CharField(
        label="Name",
        max_length=50,
        help_text="Small letters, digits and dashes: it is part of the machine's queue.",
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "placeholder": "rack-1"}),
    )


class BulkChangeForm(forms.Form):
    """What to do with all sites that a filter matches."""

    KEEP, NOBODY = "", "nobody"

    to = forms.ChoiceField(label="Move to", required=False)
    owner = forms.ChoiceField(label="Owner", required=False)
    reason = forms.CharField(
        label="Reason",
        required=False,
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Kept with each step. Going back a step and suppressing need one.",
    )
    seen_count = forms.IntegerField(widget=forms.HiddenInput, min_value=0)
    seen_mark = forms.CharField(widget=forms.HiddenInput, required=False, max_length=60)

    def __init__(self, data: QueryDict | None, *, choices: list[tuple[str, str]]) -> None:
        super().__init__(data)
        people = User.objects.filter(is_active=True).order_by("username")
        self._people = {str(person.pk): person for person in people}
        self._choose("to", [("", "Leave as it is"), *choices])
        self._choose(
            "owner",
            [
                (self.KEEP, "Leave as it is"),
                (self.NOBODY, "Nobody"),
                *((key, person.username) for key, person in self._people.items()),
            ],
        )

    def owner_chosen(self) -> User | None:
        """Return the person who is to be the owner, where one is."""
        return self._people.get(self.cleaned_data["owner"])

    def _choose(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields[name]
        if isinstance(field, forms.ChoiceField):
            field.choices = choices
