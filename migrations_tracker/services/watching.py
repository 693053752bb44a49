"""Beginning to watch a site, a gap or a work unit, and ending that."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from audit.models import CapabilityGap, FallbackSite
from migrations_tracker.models import Comment, Mention, Watch, WatchReason, WatchSettings, WorkUnit
from migrations_tracker.selectors.mentions import people_called

Watched = FallbackSite | CapabilityGap | WorkUnit


def watch_start(*, person: User, subject: Watched, reason: WatchReason = WatchReason.ASKED) -> Watch:
    """Have a person watch something; who watches it already goes on as before."""
    return Watch.objects.get_or_create(owner=person, **column_of(subject), defaults={"reason": reason})[0]


def watch_end(*, person: User, subject: Watched) -> bool:
    """Have a person watch something no longer. False where that was so already."""
    return bool(Watch.objects.filter(owner=person, **column_of(subject)).delete()[0])


def watch_start_by_itself(*, person: User, subject: Watched, reason: WatchReason) -> None:
    """Have a person watch what they take part in, unless they want to be asked."""
    if not WatchSettings.objects.filter(owner=person, is_automatic=False).exists():
        watch_start(person=person, subject=subject, reason=reason)


def watch_settings_change(*, person: User, is_automatic: bool) -> WatchSettings:
    """Set whether a person watches by itself what they take part in; what they watch stays."""
    return WatchSettings.objects.update_or_create(owner=person, defaults={"is_automatic": is_automatic})[0]


def comment_watch(*, comment: Comment, subject: FallbackSite | CapabilityGap) -> None:
    """Keep who is mentioned in a comment, and have them and its author watch what it is on."""
    with transaction.atomic():
        people = people_called(text=comment.text, repository_id=subject.repository_id)
        Mention.objects.bulk_create(Mention(comment=comment, person=person) for person in people)
        watch_start_by_itself(person=comment.author, subject=subject, reason=WatchReason.COMMENTED)
        for person in people:
            watch_start_by_itself(person=person, subject=subject, reason=WatchReason.MENTIONED)


def column_of(subject: Watched) -> dict[str, Watched]:
    """Return the column of a watch that its subject stands in."""
    if isinstance(subject, FallbackSite):
        return {"site": subject}
    return {"gap": subject} if isinstance(subject, CapabilityGap) else {"unit": subject}
