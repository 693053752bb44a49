"""The file door: `python -m workers.runner run JOB.json --out OUTCOME.json`, and what goes before it."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from workers.protocol.codec import MAX_DOCUMENT_BYTES, MalformedError, canonical_bytes, to_json
from workers.protocol.outcome import JobState, Outcome
from workers.protocol.readings import Probe
from workers.protocol.signing import SignatureError, sign, to_bytes
from workers.runner.cargo import BuildError, BuildRequest, build_tests, check_out, write_built
from workers.runner.configuration import ConfigurationError, check_server, write_configuration
from workers.runner.job import Runner, run_job
from workers.runner.probe.machine import probe_machine
from workers.runner.server import ServerError, register
from workers.runner.tracer.build import TracerError, compile_tracer

#: Exit codes: the job ended with evidence; it ended without; the command line was wrong.
ENDED, NOT_RUN, USAGE = 0, 1, 2
SERVE = "python -m workers.runner_worker"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command of the file door."""
    parser = argparse.ArgumentParser(prog="python -m workers.runner", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    run = commands.add_parser("run", help="do a job and write its outcome")
    run.add_argument("job", type=Path)
    run.add_argument("--out", type=Path, required=True)
    run.add_argument("--bundle", type=Path, help="the test bundle, where the job's own path is not here")
    run.add_argument("--key-file", type=Path, help="the runner's key; without it the outcome is not signed")
    run.add_argument("--key-id", default="", help="the name of the key at the server")
    run.add_argument("--work", type=Path, help="where runs get their folders; other users must reach it")
    run.add_argument("--cache", type=Path, help="where the compiled tracer and cargo's target folder stay")
    run.add_argument(
        "--prebuilt-tracer", type=Path, help="a folder written by `tracer`, for want of a compiler"
    )
    run.set_defaults(do=_run)

    probe = commands.add_parser("probe", help="measure this machine")
    probe.add_argument("--workspace", type=Path, help="a checkout whose pins and features are read too")
    probe.add_argument("--json", action="store_true")
    probe.set_defaults(do=_probe)

    tracer = commands.add_parser("tracer", help="compile tracer and canary for machines without a compiler")
    tracer.add_argument("--out", type=Path, required=True)
    tracer.set_defaults(do=_tracer)

    enrol = commands.add_parser("register", help="turn a registration token into this runner's configuration")
    enrol.add_argument("server", help="the address of the web app")
    enrol.add_argument("--token-file", type=Path, required=True, help="the token; `-` reads a line")
    enrol.add_argument("--config", type=Path, required=True, help="the file to write: RUNNER_CONFIG names it")
    enrol.set_defaults(do=_register)

    bundle = commands.add_parser("bundle", help="build a crate's tests at a commit and pack them")
    bundle.add_argument("repository", type=Path)
    bundle.add_argument("commit", help="the full hash")
    bundle.add_argument("crate")
    bundle.add_argument("--features", default="", help="separated by commas")
    bundle.add_argument("--target-cpu", help="else the target's own baseline, which runs everywhere")
    bundle.add_argument("--cache", type=Path, help="where cargo's target folder stays")
    bundle.add_argument("--out", type=Path, required=True)
    bundle.set_defaults(do=_bundle)

    options = parser.parse_args(arguments)
    code: int = options.do(options)
    return code


def _run(options: argparse.Namespace) -> int:
    try:
        with options.job.open("rb") as stream:
            raw = stream.read(MAX_DOCUMENT_BYTES + 1)
    except OSError as error:
        print(f"{options.job}: {error}", file=sys.stderr)
        return USAGE
    with _work_folder(options.work) as work:
        cache = options.cache or Path(tempfile.gettempdir()) / f"ferroaudit-cache-{os.geteuid()}"
        if not _is_ours(cache):
            print(f"{cache}: belongs to somebody else or is open to others", file=sys.stderr)
            return USAGE
        runner = Runner(
            work=Path(work),
            cache=cache,
            bundle=options.bundle,
            prebuilt_tracer=options.prebuilt_tracer,
            progress=lambda done, total: print(f"{done}/{total}", file=sys.stderr),
        )
        outcome = run_job(raw, runner)
    try:
        document = _document(outcome, options.key_file, options.key_id)
    except (OSError, SignatureError) as error:
        print(f"{options.key_file}: {error}", file=sys.stderr)
        return USAGE
    options.out.write_bytes(document)
    print(f"{outcome.state}{': ' + outcome.reason if outcome.reason else ''}")
    for test in outcome.tests:
        print(f"{test.judgement.verdict:16} {test.test.name}: {test.judgement.reason}")
    for reading in outcome.ptx:
        said = "loaded" if reading.loaded else reading.error
        print(f"{said:16} {reading.name}")
    return ENDED if outcome.state in (JobState.FINISHED, JobState.NO_DEVICE, JobState.CUT_SHORT) else NOT_RUN


def _work_folder(work: Path | None) -> tempfile.TemporaryDirectory[str]:
    if work is not None:
        work.mkdir(parents=True, exist_ok=True)
    folder = tempfile.TemporaryDirectory(prefix="ferroaudit-", dir=work, ignore_cleanup_errors=True)
    # Tests run as another user, who has to pass through.
    Path(folder.name).chmod(0o711)
    return folder


def _is_ours(cache: Path) -> bool:
    """Make the cache, or tell whether the one that is there can be trusted: what it holds is executed."""
    cache.mkdir(mode=0o755, parents=True, exist_ok=True)
    status = cache.lstat()
    return status.st_uid == os.geteuid() and stat.S_ISDIR(status.st_mode) and not status.st_mode & 0o022


def _document(outcome: Outcome, key_file: Path | None, key_id: str) -> bytes:
    if key_file is None:
        return canonical_bytes(outcome)
    return to_bytes(sign(outcome, key=key_file.read_bytes().strip(), key_id=key_id))


def _probe(options: argparse.Namespace) -> int:
    probe = probe_machine(options.workspace)
    if options.json:
        print(json.dumps(to_json(probe), indent=1))
        return ENDED
    _print_probe(probe)
    return ENDED


def _print_probe(probe: Probe) -> None:
    for reading in probe.readings:
        print(f"{reading.name}: `{reading.command}` -> {reading.exit_code} ({reading.duration_s:.3f} s)")
        for line in reading.output.splitlines()[:6]:
            print(f"    {line[:160]}")
    for inability in probe.inabilities:
        print(f"can't {inability.what}: {inability.because} (reading `{inability.reading}`)")


def _tracer(options: argparse.Namespace) -> int:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        print("no C compiler on the PATH", file=sys.stderr)
        return NOT_RUN
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        compile_tracer(options.out, compiler)
    except TracerError as error:
        print(error, file=sys.stderr)
        return NOT_RUN
    return ENDED


def _register(options: argparse.Namespace) -> int:
    try:
        check_server(options.server)
        from_input = str(options.token_file) == "-"
        token = (sys.stdin.readline() if from_input else options.token_file.read_text()).strip()
        registration = register(options.server, token, probe_machine())
        write_configuration(options.config, registration, options.server)
    except (ConfigurationError, ServerError, MalformedError, OSError) as error:
        print(error, file=sys.stderr)
        return NOT_RUN
    print(f"registered as `{registration.name}`; `RUNNER_CONFIG={options.config} {SERVE}` serves")
    return ENDED


def _bundle(options: argparse.Namespace) -> int:
    features = tuple(feature for feature in options.features.split(",") if feature)
    request = BuildRequest(crate=options.crate, features=features, target_cpu=options.target_cpu)
    with _work_folder(None) as work:
        source = Path(work) / "source"
        try:
            check_out(options.repository, options.commit, source)
            built = build_tests(
                source,
                request,
                repository=options.repository.name,
                commit=options.commit,
                target_folder=options.cache or Path(work) / "target",
                work=Path(work),
            )
        except BuildError as error:
            print(error, file=sys.stderr)
            return NOT_RUN
        print(f"{write_built(built, options.out)}  {options.out}")
    for refused in built.manifest.not_built:
        print(f"not built: {refused.name}: {refused.reason.splitlines()[0]}", file=sys.stderr)
    return ENDED


if __name__ == "__main__":
    sys.exit(main())
