"""One result as a SARIF `result` object, and back."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote

from audit.scanner.report import EvidenceStep, Level, Region, Result, Suppression

SOURCE_ROOT = "SRCROOT"

Json = dict[str, Any]


def result_to_sarif(result: Result, rule_index: int, path_prefix: str = "") -> Json:
    """Return a result as SARIF. `path_prefix` is put before every path."""
    physical = physical_location(path_prefix + result.path, result.region)
    if result.snippet:
        physical["contextRegion"] = {
            "startLine": result.region.start_line,
            "endLine": result.region.end_line,
            "snippet": {"text": result.snippet},
        }
    logical = {"fullyQualifiedName": result.symbol, "kind": result.properties.get("symbol_kind", "function")}
    location: Json = {"physicalLocation": physical}
    if result.symbol:
        location["logicalLocations"] = [logical]
    sarif: Json = {
        "ruleId": result.rule_id,
        "ruleIndex": rule_index,
        "level": result.level.value,
        "message": {"text": result.message},
        "locations": [location],
        "partialFingerprints": dict(result.partial_fingerprints),
        "properties": {"crate": result.crate, "form": result.form, "details": dict(result.properties)},
    }
    if result.level is Level.NONE:
        # The standard keeps this level for results that are no problem; `kind` is `fail` where none is told.
        sarif["kind"] = "informational"
    if result.evidence:
        steps = [_step_to_sarif(step, path_prefix) for step in result.evidence]
        sarif["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    if result.suppressions:
        sarif["suppressions"] = [
            _suppression_to_sarif(path_prefix + result.path, suppression)
            for suppression in result.suppressions
        ]
    return sarif


def result_from_sarif(sarif: Mapping[str, Any]) -> Result:
    """Read a result that this program wrote. Raises `KeyError`, `TypeError` or `ValueError` for another's."""
    location = sarif["locations"][0]
    physical = location["physicalLocation"]
    logical = location.get("logicalLocations", [{}])[0]
    properties = sarif.get("properties", {})
    flows = sarif.get("codeFlows", [])
    steps = flows[0]["threadFlows"][0]["locations"] if flows else []
    fingerprints = dict(sarif.get("partialFingerprints", {}))
    texts = (sarif["ruleId"], sarif["message"]["text"], *fingerprints.values())
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("a text is expected")
    return Result(
        rule_id=sarif["ruleId"],
        level=Level(sarif.get("level", "warning")),
        message=sarif["message"]["text"],
        path=path_from_uri(physical["artifactLocation"]["uri"]),
        region=_region_from_sarif(physical["region"]),
        symbol=logical.get("fullyQualifiedName", ""),
        crate=properties.get("crate", ""),
        form=properties.get("form", ""),
        partial_fingerprints=fingerprints,
        evidence=tuple(_step_from_sarif(step) for step in steps),
        snippet=physical.get("contextRegion", {}).get("snippet", {}).get("text", ""),
        suppressions=tuple(_suppression_from_sarif(each) for each in sarif.get("suppressions", [])),
        properties=dict(properties.get("details", {})),
    )


def artifact_location(path: str) -> Json:
    """Return a path of the tree as an `artifactLocation`."""
    return {"uri": uri_from_path(path), "uriBaseId": SOURCE_ROOT}


def physical_location(path: str, region: Region) -> Json:
    """Return a place in a file as a `physicalLocation`."""
    return {"artifactLocation": artifact_location(path), "region": _region_to_sarif(region)}


@lru_cache(maxsize=4096)
def uri_from_path(path: str) -> str:
    """Percent-encode a path relative to the root."""
    return quote(path, safe="/")


def path_from_uri(uri: str) -> str:
    """Decode a relative URI into a path."""
    return unquote(uri)


def _region_to_sarif(region: Region) -> Json:
    return {
        "startLine": region.start_line,
        "startColumn": region.start_column,
        "endLine": region.end_line,
        "endColumn": region.end_column,
    }


def _region_from_sarif(region: Mapping[str, Any]) -> Region:
    start_line = int(region["startLine"])
    start_column = int(region.get("startColumn", 1))
    end_line = int(region.get("endLine", start_line))
    return Region(start_line, start_column, end_line, int(region.get("endColumn", start_column)))


def _step_to_sarif(step: EvidenceStep, path_prefix: str) -> Json:
    location: Json = {
        "physicalLocation": physical_location(path_prefix + step.path, step.region),
        "message": {"text": step.message},
    }
    if step.symbol:
        location["logicalLocations"] = [{"fullyQualifiedName": step.symbol}]
    return {"location": location, "kinds": [step.role]}


def _step_from_sarif(sarif: Mapping[str, Any]) -> EvidenceStep:
    location = sarif["location"]
    physical = location["physicalLocation"]
    logical = location.get("logicalLocations", [{}])[0]
    return EvidenceStep(
        role=sarif["kinds"][0],
        path=path_from_uri(physical["artifactLocation"]["uri"]),
        region=_region_from_sarif(physical["region"]),
        symbol=logical.get("fullyQualifiedName", ""),
        message=location["message"]["text"],
    )


def _suppression_to_sarif(path: str, suppression: Suppression) -> Json:
    return {
        "kind": suppression.kind,
        "status": suppression.status,
        "justification": suppression.justification,
        "location": {"physicalLocation": physical_location(path, suppression.region)},
    }


def _suppression_from_sarif(sarif: Mapping[str, Any]) -> Suppression:
    return Suppression(
        kind=sarif["kind"],
        status=sarif.get("status", "accepted"),
        justification=sarif.get("justification", ""),
        region=_region_from_sarif(sarif["location"]["physicalLocation"]["region"]),
    )
