"""The addresses that are the beginning of a page's and no page: each leads to the list of what is below it.

People cut an address short to see what else there is. Who may see that list, the list itself says.
"""

from __future__ import annotations

from collections.abc import Iterator

from django.urls import URLPattern, path

from migrations_tracker.views.parents import parent_page

#: The name of a page that lists, and the addresses that lead to it.
LISTS = (
    ("overview", ("repositories/", "scans/", "scan-requests/", "pull-requests/", "held/", "crates/")),
    (
        "overview",
        ("lineage/", "lineage/<int:pk>/", "lineage-rulings/", "lineage-rulings/<int:pk>/", "notes/"),
    ),
    ("site-list", ("sites/filters/", "sites/filters/<int:pk>/", "attachments/")),
    ("plan-list", ("schedules/", "units/", "absences/", "absences/<int:pk>/")),
    ("plan-list", ("precedences/", "precedences/<int:pk>/")),
    ("capability-list", ("operators/", "capabilities/<slug:slug>/")),
    ("report-schedule-list", ("reports/schedules/<int:pk>/",)),
    ("notice-list", ("notices/<int:pk>/",)),
    ("imported-audit-list", ("findings/",)),
    ("precedent-list", ("precedents/<slug:slug>/", "references/", "references/<slug:slug>/")),
    ("precedent-list", ("references/<slug:slug>/<str:kind>/",)),
    ("verification-list", ("verification-jobs/", "verification-requests/")),
    ("account", ("account/tokens/", "account/tokens/<int:pk>/", "account/sessions/")),
    ("account", ("account/sessions/<int:pk>/", "account/oidc/", "account/oidc/<str:provider_id>/")),
)
#: The same for pages of one repository, which the address names.
PAGES_OF_A_REPOSITORY = (
    ("repository-detail", ("crates/<slug:slug>/", "notes/<slug:slug>/", "notes/<slug:slug>/<slug:kind>/")),
    ("repository-detail", ("notes/<slug:slug>/<slug:kind>/<str:key>/",)),
    ("repository-policy", ("repositories/<slug:slug>/policy/clauses/",)),
)


def _parents() -> Iterator[URLPattern]:
    for table, is_of_repository in ((LISTS, False), (PAGES_OF_A_REPOSITORY, True)):
        for page, routes in table:
            for route in routes:
                given = {"page": page, "is_of_repository": is_of_repository}
                yield path(route, parent_page, given, name="parent")


urlpatterns = list(_parents())
