"""What the server and a runner say to each other: versioned JSON, strictly read, signed.

Pure: the standard library only. The server and the runner import the same classes.
"""

from __future__ import annotations
