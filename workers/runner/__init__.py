"""What runs on a GPU machine: probe, build, run under the tracer, judge.

Pure: the standard library, pynvml and workers.protocol. `python -m workers.runner` is the file door.
"""

from __future__ import annotations

RUNNER_VERSION = "1"
