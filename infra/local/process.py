"""Starting and ending the process that is the local AWS."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from pathlib import Path

from state import TOOLS, Failure, State, clean_environment, shown, write_atomically

READY_SECONDS = 90
STOP_SECONDS = 10


def choose_port(state: State, wanted: int, keep: bool) -> int:
    """A port that nobody listens on: the wanted one, the one of the state that was kept, or one of the kernel's choice.

    What was kept belongs to its port: the addresses of its queues hold it, and so does the environment of a shell that
    was set up earlier.
    """
    kept = int(state.kept_port.read_text()) if keep and state.kept_port.exists() else 0
    if kept and wanted not in (0, kept):
        raise Failure("start the local AWS", f"what {shown(state.directory)} kept belongs to port {kept}",
                      f"leave --port out, or start afresh: `{state.forget_what_is_kept()}`")
    port = wanted or kept
    with socket.socket() as probe:
        # As servers do it: connections of an earlier one that linger on the port are no hindrance.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            remedy = f"see who holds it with `ss -ltnp 'sport = :{port}'` or `lsof -i :{port}`: " \
                     "perhaps the local AWS of another checkout, which `make down` there stops. "
            remedy += (f"Or start afresh on another port: `{state.forget_what_is_kept()}`" if kept else
                       "Or choose another --port; without it the kernel chooses a free one")
            raise Failure("start the local AWS", f"port {port} is not free ({error.strerror})", remedy) from None
        return probe.getsockname()[1]


def answers(state: State, endpoint: str) -> bool:
    # Its own word first: whoever else might have taken the port meanwhile would answer just as well, and the deployment
    # would go there.
    if f"Running on {endpoint}" not in state.log.read_text(errors="replace"):
        return False
    with contextlib.suppress(OSError):
        with urllib.request.urlopen(f"{endpoint}/_ministack/ready", timeout=2) as answer:
            return answer.status == 200
    return False


def read_stream_from_its_beginning(state: State) -> None:
    """The local AWS keeps how far it had read the table's stream, but not the stream, which is then counted from zero.

    It would pass over as many new records as it had read old ones. This lets it read all that there is, as the
    mapping's TRIM_HORIZON says.
    """
    file = state.kept / "lambda.json"
    if file.exists():
        kept = json.loads(file.read_text())
        kept["payload"].pop("dynamodb_stream_positions", None)
        write_atomically(file, json.dumps(kept))


def start(state: State, port: int, lock: int, keep: bool) -> subprocess.Popen:
    """Starts the process and waits until it answers. With `keep`, it takes up what an earlier one left."""
    endpoint = f"http://127.0.0.1:{port}"
    shutil.rmtree(state.scratch, ignore_errors=True)  # of one that was killed
    state.scratch.mkdir(exist_ok=True)
    state.record.unlink(missing_ok=True)  # of one that was killed; with the lock held, `down` would believe it
    environment = clean_environment(endpoint) | {
        "BIND_HOST": "127.0.0.1",  # without it, it listens on every address of the machine
        "GATEWAY_PORT": str(port),
        "LAMBDA_EXECUTOR": "local",  # bootstraps as plain processes, no Docker
        "SFTP_ENABLED": "0",  # these two would listen on fixed ports
        "IOT_MTLS_ENABLED": "0",
        "TMPDIR": str(state.scratch),  # unpacked functions; the default is shared by all that run on a machine
        "PYTHONUNBUFFERED": "1",
    }
    if keep:
        state.kept.mkdir(mode=0o700, exist_ok=True)  # secrets are kept too
        read_stream_from_its_beginning(state)
        environment |= {"PERSIST_STATE": "1", "STATE_DIR": str(state.kept)}
    with state.log.open("wb") as log:
        # Its own session: `down` can end it with the functions that it started, and Ctrl-C here does not reach it.
        process = subprocess.Popen(
            [TOOLS / "ministack"], env=environment, cwd=state.scratch, stdin=subprocess.DEVNULL, stdout=log,
            stderr=subprocess.STDOUT, start_new_session=True, pass_fds=(lock,),
        )
    write_atomically(state.record, json.dumps({"pid": process.pid, "endpoint": endpoint}))
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise Failure("start the local AWS", f"it ended with exit code {process.returncode}",
                          "read the log below", state.log)
        if answers(state, endpoint):
            return process
        time.sleep(0.05)
    raise Failure("start the local AWS", f"it did not answer on {endpoint} within {READY_SECONDS} s",
                  "try again when the machine is less busy, or read the log below", state.log)


def stop(state: State, record: dict, signals: tuple[signal.Signals, ...] = (signal.SIGTERM, signal.SIGKILL)) -> None:
    """Ends the process that `up` started, and the functions that it started in turn. `record` is of a held lock.

    With SIGTERM first, it keeps its state where it was started to.
    """
    for signal_ in signals:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(record["pid"], signal_)
        deadline = time.monotonic() + STOP_SECONDS
        while time.monotonic() < deadline:
            if state.running() is None:
                for leftover in (state.record, state.env):
                    leftover.unlink(missing_ok=True)
                shutil.rmtree(state.scratch, ignore_errors=True)  # the unpacked functions, a third of a gigabyte
                return
            time.sleep(0.05)
    raise Failure("stop the local AWS", f"process {record['pid']} survived SIGKILL for {STOP_SECONDS} s",
                  f"look at it with `ps -p {record['pid']}`", state.log)


def crash_function(record: dict, function_name: str) -> list[int]:
    """Kills the processes of one deployed function without a warning, as a crash would. `record` is of a held lock.

    They are found by what the local AWS told them: all of them are its children, and all are called `bootstrap`.
    """
    wanted = f"AWS_LAMBDA_FUNCTION_NAME={function_name}".encode()
    killed = []
    for directory in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError):  # a process may end while it is looked at
            parent = int((directory / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == record["pid"] and wanted in (directory / "environ").read_bytes().split(b"\0"):
                os.kill(int(directory.name), signal.SIGKILL)
                killed.append(int(directory.name))
    return killed
