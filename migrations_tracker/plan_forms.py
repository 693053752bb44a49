"""The forms of the plan's pages."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from zoneinfo import available_timezones

from django import forms

from migrations_tracker.models import Person, Plan, WorkUnit
from migrations_tracker.models.plan import PHASE_LABELS, PHASE_ORDER_LABELS
from migrations_tracker.scheduling.catalogue import FixCategory
from migrations_tracker.scheduling.problem import OFFICE
from migrations_tracker.widgets import LongSelect

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
CATEGORIES = {
    FixCategory.ROOT_CAUSE: "A: root cause",
    FixCategory.LOCAL_CORRECTNESS: "B: local correctness",
    FixCategory.ANNOTATION: "C: annotation",
}
_MOMENT = forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M")


def _words(text: str) -> list[str]:
    return sorted({word for word in text.replace(",", " ").split() if word})


class PlanForm(forms.Form):
    """A form about one plan: its people and units are what may be chosen."""

    def __init__(self, *args: Any, plan: Plan, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("person", "dropped_person"):
            field = self.fields.get(name)
            if isinstance(field, forms.ModelChoiceField):
                field.queryset = Person.objects.filter(plan=plan, is_active=True)
        for name in ("unit", "into", "before"):
            field = self.fields.get(name)
            if isinstance(field, forms.ModelChoiceField):
                field.queryset = WorkUnit.objects.filter(plan=plan).exclude(status="finished")


class RenameForm(forms.Form):
    """A unit's title."""

    title = forms.CharField(max_length=300)
    version = forms.IntegerField(widget=forms.HiddenInput)


class HoursForm(forms.Form):
    """A unit's hours by a person's own estimate; all empty lets the rates say them again."""

    low = forms.FloatField(min_value=0.1, required=False)
    likely = forms.FloatField(min_value=0.1, required=False)
    high = forms.FloatField(min_value=0.1, required=False)
    reason = forms.CharField(max_length=2000, required=False)
    version = forms.IntegerField(widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        """Return the three hours, all or none of them."""
        data = super().clean() or {}
        hours = tuple(data.get(name) for name in ("low", "likely", "high"))
        if not self.errors and None in hours and hours != (None, None, None):
            raise forms.ValidationError("give all three hours, or none of them")
        return {**data, "hours": None if None in hours else hours}


class SpentForm(forms.Form):
    """How many hours a unit has taken so far."""

    hours = forms.FloatField(min_value=0.1, max_value=10_000)
    version = forms.IntegerField(widget=forms.HiddenInput)


class PinForm(PlanForm):
    """When a unit starts and who does it; both empty take the pin away. Times are UTC."""

    unit = forms.ModelChoiceField(queryset=WorkUnit.objects.none())
    start = forms.DateTimeField(required=False, widget=_MOMENT, label="Starts (UTC)")
    person = forms.ModelChoiceField(queryset=Person.objects.none(), required=False)


class DeadlineForm(forms.Form):
    """By when a unit has to be finished; empty takes the deadline away."""

    deadline = forms.DateTimeField(required=False, widget=_MOMENT, label="Due by (UTC)")
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)


class SplitForm(forms.Form):
    """The members that become a unit of their own."""

    title = forms.CharField(max_length=300)
    member = forms.TypedMultipleChoiceField(coerce=int, required=False)
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, members: list[int], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["member"]
        assert isinstance(field, forms.TypedMultipleChoiceField)  # noqa: S101 -- declared above
        field.choices = [(str(pk), str(pk)) for pk in members]


class MoveForm(PlanForm):
    """The members that go into another unit."""

    member = forms.TypedMultipleChoiceField(coerce=int, required=False)
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)
    into = forms.ModelChoiceField(queryset=WorkUnit.objects.none())

    def __init__(self, *args: Any, members: list[int], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["member"]
        assert isinstance(field, forms.TypedMultipleChoiceField)  # noqa: S101 -- declared above
        field.choices = [(str(pk), str(pk)) for pk in members]


class MergeForm(PlanForm):
    """The unit that takes this one in."""

    into = forms.ModelChoiceField(queryset=WorkUnit.objects.none())
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)
    reason = forms.CharField(max_length=2000, required=False)


class PrerequisiteForm(PlanForm):
    """A unit that has to be finished first, and why."""

    before = forms.ModelChoiceField(queryset=WorkUnit.objects.none())
    reason = forms.CharField(max_length=2000)


class ReasonForm(forms.Form):
    """Why something is done."""

    reason = forms.CharField(max_length=2000)


class StartForm(PlanForm):
    """Who begins a unit."""

    person = forms.ModelChoiceField(queryset=Person.objects.none())
    version = forms.IntegerField(widget=forms.HiddenInput)


class FinishForm(forms.Form):
    """How long a unit took."""

    hours = forms.FloatField(min_value=0.1, max_value=10_000)
    reason = forms.CharField(max_length=20_000, required=False)
    version = forms.IntegerField(widget=forms.HiddenInput)


class OwnUnitForm(forms.Form):
    """A unit of one's own."""

    title = forms.CharField(max_length=300)
    reason = forms.CharField(max_length=2000)
    phase = forms.TypedChoiceField(
        coerce=int, choices=[(p.value, label) for p, label in PHASE_LABELS.items()]
    )
    category = forms.ChoiceField(choices=[(c.value, label) for c, label in CATEGORIES.items()])
    low = forms.FloatField(min_value=0.1, label="Hours, low")
    likely = forms.FloatField(min_value=0.1, label="Likely")
    high = forms.FloatField(min_value=0.1, label="High")
    skills = forms.CharField(max_length=500, required=False)

    def clean_skills(self) -> list[str]:
        """Return the words."""
        return _words(self.cleaned_data["skills"])


class PersonForm(forms.Form):
    """Somebody who works on a plan. `hours` are the same on each of the days."""

    name = forms.SlugField(max_length=60, help_text="Small letters, digits, `-` and `_`.")
    skills = forms.CharField(
        max_length=500, required=False, help_text="Such as `kernel`, `autograd`, `build`; what units ask for."
    )
    capacity = forms.IntegerField(min_value=0, max_value=50, initial=1, help_text="Units at the same time.")
    time_zone = forms.ChoiceField(
        choices=[(zone, zone) for zone in sorted(available_timezones())], initial="UTC", widget=LongSelect
    )
    days = forms.TypedMultipleChoiceField(
        coerce=int,
        choices=list(enumerate(DAYS)),
        initial=[0, 1, 2, 3, 4],
        widget=forms.CheckboxSelectMultiple,
    )
    from_time = forms.TimeField(initial="09:00", label="From", widget=forms.TimeInput(attrs={"type": "time"}))
    to_time = forms.TimeField(initial="17:00", label="To", widget=forms.TimeInput(attrs={"type": "time"}))
    is_active = forms.BooleanField(required=False, initial=True, label="Works on the plan")

    def clean_skills(self) -> list[str]:
        """Return the words."""
        return _words(self.cleaned_data["skills"])

    def hours(self) -> list[list[int]]:
        """Return the week that was filled in."""
        start, end = (self.cleaned_data[name] for name in ("from_time", "to_time"))
        first, last = start.hour * 60 + start.minute, end.hour * 60 + end.minute
        return [[day, first, last] for day in self.cleaned_data["days"]]


class AbsenceForm(PlanForm):
    """When somebody is away. Times are UTC."""

    person = forms.ModelChoiceField(queryset=Person.objects.none())
    starts_at = forms.DateTimeField(widget=_MOMENT, label="From (UTC)")
    ends_at = forms.DateTimeField(widget=_MOMENT, label="To (UTC)")
    reason = forms.CharField(max_length=200, required=False)


class PlanSettingsForm(forms.Form):
    """What counts in the weights of units, and the order of the phases, from the next schedule on."""

    always_taken = forms.IntegerField(min_value=0, max_value=1000, label="A path that is always taken")
    reach = forms.IntegerField(min_value=0, max_value=1000, label="Each doubling of its callers")
    blocks = forms.IntegerField(min_value=0, max_value=1000, label="A unit that waits for it")
    base = forms.IntegerField(min_value=0, max_value=1000, label="Every unit")
    phase_order = forms.ChoiceField(
        choices=[(order.value, label) for order, label in PHASE_ORDER_LABELS.items()], label="Phases"
    )


class WhatIfForm(PlanForm):
    """What would be if. All fields empty is a schedule of the plan as it is."""

    added_name = forms.SlugField(max_length=60, required=False, label="Somebody more, named")
    added_skills = forms.CharField(max_length=500, required=False, label="with the skills")
    dropped_person = forms.ModelChoiceField(
        queryset=Person.objects.none(), required=False, label="Without", empty_label="nobody less"
    )
    dropped_crate = forms.CharField(max_length=200, required=False, label="Nothing done in")
    phase_order = forms.ChoiceField(
        required=False,
        choices=[("", "as it is"), *((order.value, label) for order, label in PHASE_ORDER_LABELS.items())],
    )
    always_taken = forms.IntegerField(
        required=False, min_value=0, max_value=1000, label="Weight of paths always taken"
    )
    reach = forms.IntegerField(required=False, min_value=0, max_value=1000, label="of callers")
    blocks = forms.IntegerField(required=False, min_value=0, max_value=1000, label="of units that wait")
    seed = forms.IntegerField(required=False, min_value=0, max_value=2**31 - 1)

    def clean_added_skills(self) -> list[str]:
        """Return the words."""
        return _words(self.cleaned_data["added_skills"])


def office_week() -> list[list[int]]:
    """Return the hours of an ordinary week."""
    return [[one.weekday, one.start_minute, one.end_minute] for one in OFFICE.hours]


def local_moment(moment: datetime | None) -> str:
    """Return a moment as a field of the browser takes it, in UTC."""
    return moment.strftime("%Y-%m-%dT%H:%M") if moment else ""
