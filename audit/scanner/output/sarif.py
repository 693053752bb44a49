"""A scan as a SARIF 2.1.0 log."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from audit.policy.clauses import CURRENT_VERSION
from audit.policy.links import RULE_CLAUSES
from audit.rules.base import Rule
from audit.rules.doc import rule_doc
from audit.scanner.output.json_text import json_lines
from audit.scanner.output.sarif_result import (
    SOURCE_ROOT,
    Json,
    artifact_location,
    physical_location,
    result_to_sarif,
)
from audit.scanner.report import (
    UNSCANNED,
    BaselineState,
    FileStatus,
    ManifestEntry,
    Result,
    RuleStatus,
    ScanReport,
    SiteOutcome,
    SourceInfo,
)
from audit.version import TOOL_NAME

if TYPE_CHECKING:
    from audit.scanner.baseline import Comparison

SCHEMA_URI = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
REPOSITORY_ROOT = "REPOROOT"
FILE_NOT_SCANNED = "file-not-scanned"
FILE_SCANNED_IN_PART = "file-scanned-in-part"
RULE_NOT_RUN = "rule-not-run"
RULE_NARROWED = "rule-narrowed"

_NAMESPACE = uuid.UUID("f1f7b6a2-6b1e-5f0e-9d53-0c7a4f9f2b11")
_NOTIFICATIONS = {
    FILE_NOT_SCANNED: "A file was not scanned: what it held before is neither found nor gone.",
    FILE_SCANNED_IN_PART: "A file was scanned where it parses: what it held before may still be there.",
    RULE_NOT_RUN: "A rule did not run: it has found nothing out.",
    RULE_NARROWED: "A rule ran and could report only a part of what it looks for: its silence tells little.",
}


def sarif_log(report: ScanReport, rules: Sequence[Rule], comparison: Comparison | None = None) -> Json:
    """Return the scan as a SARIF log, one run. The same scan gives the same log."""
    log = _log(report, rules, comparison)
    run = log["runs"][0]
    run["results"] = list(run["results"])
    return log


def sarif_lines(
    report: ScanReport, rules: Sequence[Rule], comparison: Comparison | None = None
) -> Iterator[str]:
    """Yield the lines of the SARIF log: results are made and written one after the other."""
    return json_lines(_log(report, rules, comparison))


def _log(report: ScanReport, rules: Sequence[Rule], comparison: Comparison | None) -> Json:
    """Return the log with its results yet to be made, one after the other."""
    index_of = {rule.id: index for index, rule in enumerate(rules)}
    run: Json = {
        "tool": {"driver": _driver(report, rules)},
        "automationDetails": {"id": f"{TOOL_NAME}/{report.profile_name}/", "guid": _guid(report)},
        "invocations": [_invocation(report, index_of)],
        "originalUriBaseIds": _uri_bases(report.source),
        "columnKind": "unicodeCodePoints",
        "defaultSourceLanguage": "rust",
        "artifacts": [_artifact(entry) for entry in report.manifest],
        "results": _results(report, comparison, index_of),
        "properties": {
            "profileName": report.profile_name,
            "profileHash": report.profile_hash,
            "profileReason": report.profile_reason,
            "ptxasVersion": report.ptxas_version,
            "policyVersion": report.policy_version or CURRENT_VERSION,
        },
    }
    if comparison and comparison.baseline_guid:
        run["baselineGuid"] = comparison.baseline_guid
    provenance = _provenance(report.source)
    if provenance:
        run["versionControlProvenance"] = [provenance]
    return {"$schema": SCHEMA_URI, "version": "2.1.0", "runs": [run]}


def _driver(report: ScanReport, rules: Sequence[Rule]) -> Json:
    return {
        "name": TOOL_NAME,
        "version": report.scanner_version,
        "semanticVersion": report.scanner_version,
        "rules": [_descriptor(rule, report.own_clauses.get(rule.id, ())) for rule in rules],
        "notifications": [
            {"id": name, "name": name, "shortDescription": {"text": text}}
            for name, text in _NOTIFICATIONS.items()
        ],
    }


def _descriptor(rule: Rule, own_clauses: Sequence[str]) -> Json:
    doc = rule_doc(rule)
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": doc.summary or rule.message},
        "fullDescription": {"text": doc.text or rule.message},
        "help": {"text": doc.text or rule.message, "markdown": doc.markdown or rule.message},
        "messageStrings": {"default": {"text": rule.message}},
        "defaultConfiguration": {"level": rule.level.value},
        "properties": {"clauses": [*RULE_CLAUSES.get(rule.id, ()), *own_clauses]},
    }


def _guid(report: ScanReport) -> str:
    """Name the run by what it saw and with what, so that the same scan has the same name."""
    seen = [f"{entry.path}\0{entry.blob_id}\0{entry.status}" for entry in report.manifest]
    judged = [f"{run.rule_id}\0{run.status}" for run in report.rule_runs]
    judged += [f"{rule_id}\0{level}" for rule_id, level in report.level_overrides.items()]
    policy = report.policy_version or CURRENT_VERSION
    words = [report.scanner_version, report.profile_hash, report.ptxas_version, policy, *seen, *judged]
    return str(uuid.uuid5(_NAMESPACE, "\n".join(words)))


def _results(
    report: ScanReport, comparison: Comparison | None, index_of: Mapping[str, int]
) -> Iterator[Json]:
    if comparison is None:
        yield from (_result(report, result, index_of) for result in report.results)
        return
    for compared in comparison.results:
        sarif = {**_result(report, compared.result, index_of), "baselineState": compared.state.value}
        if compared.not_read_before:
            sarif["properties"]["notReadBefore"] = compared.not_read_before
        yield sarif
    for gone in comparison.absent:
        sarif = {**_result(report, gone.result, index_of), "baselineState": BaselineState.ABSENT.value}
        if gone.outcome:
            _tell(sarif, gone.outcome)
        yield sarif
    for unseen in comparison.unseen:
        state = BaselineState.NEW if unseen.is_new else BaselineState.UNCHANGED
        sarif = {**_result(report, unseen.result, index_of), "baselineState": state.value}
        sarif["properties"]["notSeen"] = unseen.reason
        yield sarif


def _tell(sarif: Json, outcome: SiteOutcome) -> None:
    """Say what became of an absent result: the word, the sentence, and the places that show it."""
    sarif["properties"] |= {"outcome": outcome.outcome.value, "outcomeEvidence": outcome.text}
    if outcome.properties:
        sarif["properties"]["outcomeDetails"] = dict(outcome.properties)
    if outcome.steps:
        sarif["relatedLocations"] = [
            {
                "physicalLocation": physical_location(step.path, step.region),
                "logicalLocations": [{"fullyQualifiedName": step.symbol}],
                "message": {"text": step.message},
            }
            for step in outcome.steps
        ]


def _result(report: ScanReport, result: Result, index_of: Mapping[str, int]) -> Json:
    sarif = result_to_sarif(result, index_of.get(result.rule_id, -1))
    clauses_add(sarif, report, result)
    return sarif


def clauses_add(sarif: Json, report: ScanReport, result: Result) -> None:
    """Say which clauses of the project's own rest on the result's form; those of its rule stand there."""
    clauses = report.own_clauses_of_forms.get(result.form, ())
    if clauses:
        sarif["properties"]["clauses"] = list(clauses)


def _artifact(entry: ManifestEntry) -> Json:
    artifact: Json = {
        "location": artifact_location(entry.path),
        "length": entry.size_bytes,
        "roles": ["analysisTarget"],
        "properties": {"status": entry.status.value, "blobId": entry.blob_id},
    }
    if entry.reason:
        artifact["properties"]["reason"] = entry.reason
    return artifact


def _invocation(report: ScanReport, index_of: Mapping[str, int]) -> Json:
    invocation: Json = {
        "executionSuccessful": not any(run.status is RuleStatus.FAILED for run in report.rule_runs),
        "toolExecutionNotifications": [*_file_notifications(report), *_rule_notifications(report, index_of)],
    }
    if report.level_overrides:
        invocation["ruleConfigurationOverrides"] = [
            {
                "descriptor": {"id": rule_id, "index": index_of.get(rule_id, -1)},
                "configuration": {"level": level.value},
            }
            for rule_id, level in report.level_overrides.items()
        ]
    return invocation


def _file_notifications(report: ScanReport) -> Iterator[Json]:
    for entry in report.manifest:
        if entry.status not in UNSCANNED and entry.status is not FileStatus.PARTIAL:
            continue
        name = FILE_NOT_SCANNED if entry.status in UNSCANNED else FILE_SCANNED_IN_PART
        yield {
            "descriptor": {"id": name},
            "level": "note" if entry.status is FileStatus.SKIPPED else "warning",
            "message": {"text": f"{entry.path} {entry.status.value}: {entry.reason}"},
            "locations": [{"physicalLocation": {"artifactLocation": artifact_location(entry.path)}}],
        }


def _rule_notifications(report: ScanReport, index_of: Mapping[str, int]) -> Iterator[Json]:
    for run in report.rule_runs:
        has_run = run.status is RuleStatus.RAN
        if has_run and not run.reason:
            continue
        status = "narrowed" if has_run else run.status.value
        yield {
            "descriptor": {"id": RULE_NARROWED if has_run else RULE_NOT_RUN},
            "associatedRule": {"id": run.rule_id, "index": index_of.get(run.rule_id, -1)},
            "level": "error" if run.status is RuleStatus.FAILED else "note" if has_run else "warning",
            "message": {"text": f"{run.rule_id} {status}: {run.reason}"},
        }


def _uri_bases(source: SourceInfo) -> Json:
    """Say what paths are relative to. A commit lies nowhere on disk: its root has no URI of its own."""
    root: Json = {"description": {"text": f"The scanned folder: {source.root}"}}
    if source.path_in_repository:
        inside = artifact_location(source.path_in_repository)["uri"] + "/"
        root = {**root, "uri": inside, "uriBaseId": REPOSITORY_ROOT}
        return {SOURCE_ROOT: root, REPOSITORY_ROOT: {"description": {"text": "The root of the repository"}}}
    if not source.commit_id:
        root["uri"] = Path(source.root).as_uri() + "/"
    return {SOURCE_ROOT: root}


def _provenance(source: SourceInfo) -> Json:
    if not (source.commit_id or source.repository_uri):
        return {}
    mapped_to = {"uriBaseId": REPOSITORY_ROOT if source.path_in_repository else SOURCE_ROOT}
    provenance: Json = {
        "repositoryUri": source.repository_uri or Path(source.root).as_uri(),
        "mappedTo": mapped_to,
    }
    if source.commit_id:
        provenance["revisionId"] = source.commit_id
    if source.branch:
        provenance["branch"] = source.branch
    return provenance
