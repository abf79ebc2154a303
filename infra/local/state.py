"""One local AWS: its directory, whether it runs, and the environment that its clients need."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / ".venv" / "bin"
FUNCTIONS = ("ingest", "dispatcher", "worker", "sweeper")
REGION = "us-east-1"
LOG_TAIL_LINES = 40


class Failure(Exception):
    """Something a person must act on: what was attempted, why it failed, what to do, and the end of a log."""

    def __init__(self, attempted: str, why: str, remedy: str, log: Path | None = None):
        lines = [f"Could not {attempted}: {why}", f"What to do: {remedy}"]
        if log is not None and log.exists():
            tail = log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:]
            lines += [f"The end of {shown(log)}:"] + [f"  | {line}" for line in tail]
        super().__init__("\n".join(lines))


def shown(path: Path) -> str:
    """A path as people type it: relative to the repository where it lies inside."""
    return os.path.relpath(path, ROOT) if path.is_relative_to(ROOT) else str(path)


class State:
    """The directory of one local AWS.

    `lock` answers whether it runs. The process inherits the locked file and keeps it locked until it ends, however it
    ends, so a process id from a file is never trusted alone: while the lock is held, it is the one that was started.
    """

    def __init__(self, directory: Path):
        self.directory = directory
        self.lock = directory / "lock"
        self.record = directory / "running.json"
        self.env = directory / "env"
        self.log = directory / "aws.log"
        self.deploy_log = directory / "deploy.log"
        self.scratch = directory / "tmp"
        self.kept = directory / "kept"
        self.kept_port = self.kept / "port"

    def try_lock(self) -> int | None:
        """The locked file, or None while a local AWS (or another `up`) holds it."""
        self.directory.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.lock, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        return handle

    def running(self) -> dict | None:
        """What `up` wrote down about the local AWS that runs now."""
        if not self.lock.exists():
            return None
        handle = self.try_lock()
        if handle is not None:
            os.close(handle)
            return None
        with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
            return json.loads(self.record.read_text())
        return None

    def forget_what_is_kept(self) -> str:
        """The command that makes the next `up --keep` start afresh, as people type it."""
        return f"rm -r {shown(self.kept)}"

    def required(self, attempted: str) -> dict:
        record = self.running()
        if record is None:
            raise Failure(attempted, f"no local AWS runs for {shown(self.directory)}", "start one with `make dev`")
        return record


def write_atomically(path: Path, text: str) -> None:
    draft = path.with_suffix(".new")
    draft.write_text(text)
    draft.replace(path)


def client_environment(endpoint: str) -> dict[str, str]:
    """What a client needs to reach the local AWS, and cannot reach anything else with."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
    }


def clean_environment(endpoint: str) -> dict[str, str]:
    """The caller's environment without whatever would lead to a real account or through a proxy.

    The local AWS hands its own environment on to the functions, so nothing of Hookbox's may slip in that way either.
    """
    dropped = ("AWS_", "HOOKBOX_", "SAM_CLI_")
    proxies = {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"}
    kept = {k: v for k, v in os.environ.items() if not k.startswith(dropped) and k.upper() not in proxies}
    return kept | client_environment(endpoint)
