"""Filters for the pages: prose, labels and counts."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from django import template
from django.urls import get_script_prefix, resolve, reverse
from django.utils import timezone
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from audit.knowledge.comments import render_comment
from audit.models import BranchScan, Capability, CapabilityGap, FallbackSite, Repository
from audit.models.lease import RowState
from audit.models.parity import case_query, cell_address
from audit.models.precedent import clause_address
from audit.models.site import MATCH_PASS_LABELS
from audit.policy.forms import FORMS_BY_KEY
from audit.selectors.rules import rule_get
from migrations_tracker.lifecycle import Status
from migrations_tracker.models import Comment, WorkUnit
from migrations_tracker.models.notice import NoticeKind
from migrations_tracker.models.site_migration import CAUSE_LABELS, STATUS_LABELS
from migrations_tracker.roles import PAGES, Role, Scope
from migrations_tracker.selectors.comment_list import CommentLine
from migrations_tracker.selectors.search import CLOSE_MARK, OPEN_MARK
from migrations_tracker.selectors.standings import standing_of
from migrations_tracker.selectors.unit_detail import Offered
from migrations_tracker.source_frames import SourceFrame
from migrations_tracker.widgets import options_text
from workers.protocol.outcome import Verdict
from workers.verdict_texts import VERDICT_TEXTS

register = template.Library()

_FLAGGED = '<span class="visually-hidden"> flagged</span>'
_CODE = re.compile(r"`([^`]+)`")
_FENCE = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_STATE_LABELS = {state.value: str(state.label) for state in RowState}
_LAYER_LABELS = {
    "operation": "Operations: the core's dispatch and the crates above it",
    "backend": "The backend trait's method in force",
    "kernel": "Kernel functions",
    "device-code": "Device code",
    "scalar-function": "Functions of single numbers, on the host",
}
_ROLE_LABELS = {"anchor": "starts here", "call": "calls", "effect": "ends in", "guard": "not covered by"}


@register.filter
def inline_code(text: str) -> SafeString:
    """Escape text, and show what is between backticks as code."""
    return mark_safe(_CODE.sub(r"<code>\1</code>", escape(text)))  # noqa: S308


# A rule's page shows the same texts each time.
@register.filter
@lru_cache(maxsize=256)
def prose(text: str) -> SafeString:
    """Show the Markdown that rules are documented in: paragraphs, lists, code and fenced blocks."""
    parts = _FENCE.split(text)
    blocks = []
    for number, part in enumerate(parts):
        if number % 2:
            blocks.append(f'<pre class="plain-code" tabindex="0"><code>{escape(part.rstrip())}</code></pre>')
        else:
            blocks += [_block(block) for block in re.split(r"\n\s*\n", part) if block.strip()]
    return mark_safe("\n".join(blocks))  # noqa: S308


def _block(text: str) -> str:
    lines = text.strip().split("\n")
    if lines[0].lstrip().startswith(("- ", "* ")):
        items = re.split(r"^\s*[-*] ", text, flags=re.MULTILINE)[1:]
        return f"<ul>{''.join(f'<li>{inline_code(item.strip())}</li>' for item in items)}</ul>"
    return f"<p>{inline_code(text.strip())}</p>"


@register.filter
def code_rows(frame: SourceFrame) -> SafeString:
    """Write the lines of code as rows of a table. A rule's page has hundreds of them."""
    rows = []
    for line in frame.lines:
        flag, heard = (' class="flagged"', _FLAGGED) if line.is_flagged else ("", "")
        number = f'<th scope="row" class="line-number">{line.number}{heard}</th>'
        # The highlighter escaped what it shows.
        rows.append(f"<tr{flag}>{number}<td><code>{line.html}</code></td></tr>")
    return mark_safe("\n".join(rows))  # noqa: S308


@register.filter
def said(comment: Comment) -> SafeString:
    """Show a comment, which is Markdown; the names of those who were told stand out."""
    return mark_safe(_rendered(comment.text, tuple(comment.told)))  # type: ignore[attr-defined]  # noqa: S308


# What a comment looks like follows from its text and from who was told; a page shows the same ones each time.
@lru_cache(maxsize=256)
def _rendered(text: str, told: tuple[str, ...]) -> str:
    return render_comment(text, told)


@register.filter
def comment_anchors(lines: Sequence[CommentLine], subject: FallbackSite | CapabilityGap) -> SafeString:
    """Write comments as items that lead to their texts, each with its anchor: there may be hundreds."""
    address = escape(subject.get_absolute_url())
    items = (
        f'<li id="comment-{line.pk}"><a href="{address}?through={line.pk}#comment-{line.pk}">'
        f"{html.escape(line.author)}, {timezone.localtime(line.created_at):%Y-%m-%d %H:%M}</a></li>"
        for line in lines
    )
    return mark_safe("\n".join(items))  # noqa: S308


@register.filter
def status_label(value: str) -> str:
    """Name a migration's status."""
    return STATUS_LABELS[Status(value)] if value in set(Status) else "Not planned"


@register.filter
def state_label(value: str) -> str:
    """Name the state of a scan or request."""
    return _STATE_LABELS.get(value, value)


@register.filter
def notice_kind(value: str) -> str:
    """Name what a notice is of."""
    return dict(NoticeKind.choices).get(value, value)


@register.filter
def cause_label(value: str) -> str:
    """Name who moved a migration."""
    return {cause.value: label for cause, label in CAUSE_LABELS.items()}.get(value, value)


@register.filter
def role_label(value: str) -> str:
    """Name what a step of the evidence shows."""
    return _ROLE_LABELS.get(value, value)


@register.filter
def match_label(value: str) -> str:
    """Name how a result was recognised."""
    return MATCH_PASS_LABELS.get(value, value)


@register.filter
def rule_name(rule_id: str) -> str:
    """Name a rule by its id."""
    return rule_get(rule_id=rule_id).name


@register.filter
def form_link(form: str) -> SafeString:
    """Write a form by its key, with a link where it has a page."""
    if form not in FORMS_BY_KEY:
        return format_html("{}", form)
    return format_html('<a href="{}">{}</a>', reverse("form-detail", args=[form]), form)


@register.filter
def state_text(value: str) -> str:
    """Name what becomes of a case of an operator, in words."""
    return value.replace("-", " ").replace("opt in", "opt-in")


@register.filter
def layer_label(value: str) -> str:
    """Name a layer of the code."""
    return _LAYER_LABELS.get(value, value)


@register.filter
def get(mapping: Mapping[str, Any], key: str) -> Any:
    """Look a key up; nothing where it is not."""
    return mapping.get(key, ())


@register.simple_tag
def cell_url(repository: Repository, cell: Capability | CapabilityGap) -> str:
    """Return the address of a cell of the capability matrix."""
    return cell_address(repository, cell)


@register.simple_tag
def unit_options(units: Iterable[WorkUnit | Offered], chosen: str) -> SafeString:
    """Write units as options: a template takes tens of milliseconds for what a large plan offers."""
    return options_text(((unit.pk, unit.title) for unit in units), chosen)


@register.filter
def cell_query(cell: Capability | CapabilityGap) -> str:
    """Return what stands behind the address of a cell's operator."""
    return case_query(cell)


@register.filter
def changes_url(row: BranchScan) -> str:
    """Return the address of what a scan changed since the one before; nothing for a branch's first."""
    if row.previous is None:
        return ""
    address = reverse("repository-changes", args=[row.scan_run.repository.slug])
    earlier, later = row.previous.scan_run.commit.object_id, row.scan_run.commit.object_id
    return f"{address}?from={earlier}&to={later}"


@register.filter
def breakable(text: str) -> SafeString:
    """Let a path or a symbol break after its separators."""
    return mark_safe(re.sub(r"(::|/|_)", r"\1<wbr>", escape(text)))  # noqa: S308


@register.filter
def marked(snippet: str) -> SafeString:
    """Show the part of a text that was found, with the words that were asked for."""
    text = escape(snippet.replace("`", ""))
    return mark_safe(text.replace(OPEN_MARK, "<mark>").replace(CLOSE_MARK, "</mark>"))  # noqa: S308


@register.filter
def seconds(value: float | None) -> str:
    """Write a duration as people say it."""
    if value is None:
        return ""
    if value < 10:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


@register.filter
def verdict_label(value: str) -> str:
    """Return a verdict as people read it."""
    return VERDICT_TEXTS[Verdict(value)].label if value else ""


@register.filter
def verdict_meaning(value: str) -> str:
    """Return what a verdict says."""
    return VERDICT_TEXTS[Verdict(value)].meaning if value else ""


@register.filter
def verdict_tone(value: str) -> str:
    """Return how a verdict is coloured."""
    return VERDICT_TEXTS[Verdict(value)].tone if value else "neutral"


@register.simple_tag
def clause_url(clause_id: str, slug: str = "", version: str = "") -> str:
    """Return where a clause stands; a repository's own as it stood in a version of its policy."""
    return clause_address(clause_id, slug=slug, version=version)


@register.simple_tag
def clause_ids(
    clauses: Iterable[str], *, is_online: bool = False, slug: str = "", version: str = ""
) -> SafeString:
    """Name clauses, with links to them unless they are in a file that is read elsewhere.

    `slug` and `version` are the repository and the policy that its own clauses are of.
    """
    if not is_online:
        return format_html_join(", ", "{}", ((clause,) for clause in clauses))
    return clause_links(get_script_prefix(), tuple(clauses), slug, version)


# A report names the same few hundreds of times. Where a clause stands follows from these parts alone.
@lru_cache(maxsize=1024)
def clause_links(script_prefix: str, clauses: tuple[str, ...], slug: str, version: str) -> SafeString:
    """Write links to clauses, as the policy that ships with this process has them."""
    del script_prefix
    links = ((clause_address(clause, slug=slug, version=version), clause) for clause in clauses)
    return format_html_join(", ", '<a href="{}">{}</a>', links)


@register.simple_tag(takes_context=True)
def may(context: template.Context, target: str, repository: Repository | None = None) -> bool:
    """Tell whether whoever looks may send to a page, by its name or an address of it.

    `repository` is that of the form, on a list that is about several; elsewhere it is the one that the page
    is about.
    """
    user = context["request"].user
    need = PAGES[target if target in PAGES else str(resolve(target).url_name)]
    if need.scope is Scope.SYSTEM:
        return standing_of(user).everywhere >= need.write
    here: Role | None = getattr(user, "role_here", None)
    if repository is not None:
        here = standing_of(user).role_in(repository.pk)
    return (standing_of(user).everywhere if here is None else here) >= need.write
