#!/usr/bin/env python3
"""Start and stop a private AWS on this machine, with Hookbox deployed in it from the real template.yaml.

`make demo`, `make dev` and the end-to-end tests all call this. The local AWS is one process (MiniStack) that listens on
the loopback interface; the functions are the binaries in target/lambda, run as plain processes. Everything that
belongs to one local AWS lies in one state directory, so any number of them may run beside each other.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import fcntl
import json
import os
import platform
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ROOT / ".venv" / "bin"
FUNCTIONS = ("ingest", "dispatcher", "worker", "sweeper")
STACK = "hookbox"  # as in samconfig.toml; each local AWS holds one stack, so the name need not vary
REGION = "us-east-1"
READY_SECONDS = 90
DEPLOY_SECONDS = 300
STOP_SECONDS = 10
LOG_TAIL_LINES = 40

EXAMPLES = """examples:
  local.py up                                   on a free port, state in .local
  local.py up --port 4566                       on a port of your choice
  local.py up --state target/e2e --replace      a second one, instead of an earlier one of the same directory
  local.py secret /hookbox/demo/stripe whsec_…  what `ssm:/hookbox/demo/stripe` in hookbox.toml stands for
  local.py secret /hookbox/demo/stripe -        the same, read from standard input
  local.py secrets hookbox.toml                 random values for all that the file refers to
  local.py invoke ingest event.json             run a function with an event of yours
  set -a; . .local/env; set +a                  then `hookbox` and the AWS tools talk to it
  local.py status
  local.py down
"""


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

    def required(self, attempted: str) -> dict:
        record = self.running()
        if record is None:
            raise Failure(attempted, f"no local AWS runs for {shown(self.directory)}", "start one with `make dev`")
        return record


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


def reserve_port(port: int) -> int:
    """A port that nobody listens on: the wanted one, or for 0 one that the kernel chooses."""
    with socket.socket() as probe:
        # As servers do it: connections of an earlier one that linger on the port are no hindrance.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise Failure("start the local AWS", f"port {port} is not free ({error.strerror})",
                          "choose another --port, or leave it out") from None
        return probe.getsockname()[1]


def check_prerequisites() -> None:
    for tool in ("ministack", "sam"):
        if not (TOOLS / tool).exists():
            raise Failure("start the local AWS", f"{shown(TOOLS / tool)} is missing", "run `make tools`")
    for function in FUNCTIONS:
        bootstrap = ROOT / "target" / "lambda" / function / "bootstrap"
        if not bootstrap.exists():
            raise Failure("start the local AWS", f"{shown(bootstrap)} is missing", "run `make lambdas`")


def answers(state: State, endpoint: str) -> bool:
    # Its own word first: whoever else might have taken the port meanwhile would answer just as well, and the deployment
    # would go there.
    if f"Running on {endpoint}" not in state.log.read_text(errors="replace"):
        return False
    with contextlib.suppress(OSError):
        with urllib.request.urlopen(f"{endpoint}/_ministack/ready", timeout=2) as answer:
            return answer.status == 200
    return False


def start(state: State, port: int, lock: int) -> subprocess.Popen:
    """Starts the process and waits until it answers."""
    endpoint = f"http://127.0.0.1:{port}"
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


def deploy(state: State, endpoint: str) -> None:
    """`sam deploy` of the real template with the binaries in target/lambda."""
    # The functions run on this machine's processor. The template knows Amazon's names of it.
    architecture = "arm64" if platform.machine() in ("arm64", "aarch64") else "x86_64"
    command = [TOOLS / "sam", "deploy", "--config-env", "local", "--no-progressbar",
               "--parameter-overrides", f"Architecture={architecture}"]
    environment = clean_environment(endpoint) | {
        "SAM_CLI_TELEMETRY": "0",
        "SAM_CLI_POLL_DELAY": "0.5",  # it asks every five seconds otherwise
        # A profile in the person's own AWS configuration must not decide anything here.
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }
    with state.deploy_log.open("wb") as log:
        try:
            done = subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=log,
                                  stderr=subprocess.STDOUT, timeout=DEPLOY_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise Failure("deploy template.yaml to the local AWS", f"sam took longer than {DEPLOY_SECONDS} s",
                          f"read {shown(state.log)} and the log below", state.deploy_log) from None
    if done.returncode != 0:
        raise Failure("deploy template.yaml to the local AWS", f"sam ended with exit code {done.returncode}",
                      f"read the log below, then {shown(state.log)}", state.deploy_log)


def client(service: str, endpoint: str):
    # Imported here, so that --help and the missing-tools message work without the virtual environment.
    import botocore.session
    from botocore.config import Config

    return botocore.session.get_session().create_client(
        service, endpoint_url=endpoint, region_name=REGION, aws_access_key_id="test", aws_secret_access_key="test",
        config=Config(connect_timeout=5, read_timeout=20, retries={"max_attempts": 2}, proxies={}),
    )


def make_concurrency_a_number(endpoint: str) -> None:
    """The local CloudFormation hands parameters on as text, and its queue poller then fails to compare with this one."""
    mappings = client("lambda", endpoint)
    for mapping in mappings.list_event_source_mappings()["EventSourceMappings"]:
        if limit := mapping.get("ScalingConfig", {}).get("MaximumConcurrency"):
            mappings.update_event_source_mapping(UUID=mapping["UUID"], ScalingConfig={"MaximumConcurrency": int(limit)})


def stack_outputs(endpoint: str) -> dict[str, str]:
    stack = client("cloudformation", endpoint).describe_stacks(StackName=STACK)["Stacks"][0]
    return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}


def write_atomically(path: Path, text: str) -> None:
    draft = path.with_suffix(".new")
    draft.write_text(text)
    draft.replace(path)


def write_env(state: State, record: dict, outputs: dict[str, str]) -> dict[str, str]:
    endpoint = record["endpoint"]
    values = client_environment(endpoint) | {
        # ApiUrl of the stack is a name that only the real AWS answers to; here the API is reached by path.
        "HOOKBOX_URL": f"{endpoint}/_aws/execute-api/{outputs['ApiId']}/%24default",
        "HOOKBOX_TABLE": outputs["TableName"],
        "HOOKBOX_WORK_QUEUE_URL": outputs["WorkQueueUrl"],
        "HOOKBOX_DEAD_LETTER_QUEUE_URL": outputs["DeadLetterQueueUrl"],
        "HOOKBOX_LOCAL_PID": str(record["pid"]),
        "HOOKBOX_LOCAL_LOG": str(state.log),
    }
    values |= {f"HOOKBOX_{f.upper()}_FUNCTION": outputs[f"{f.capitalize()}FunctionName"] for f in FUNCTIONS}
    write_atomically(state.env, "".join(f"{key}={value}\n" for key, value in values.items()))
    return values


def stop(state: State, record: dict) -> None:
    """Ends the process that `up` started, and the functions that it started in turn. `record` is of a held lock."""
    for signal_, seconds in ((signal.SIGTERM, STOP_SECONDS), (signal.SIGKILL, STOP_SECONDS)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(record["pid"], signal_)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if state.running() is None:
                for leftover in (state.record, state.env):
                    leftover.unlink(missing_ok=True)
                return
            time.sleep(0.05)
    raise Failure("stop the local AWS", f"process {record['pid']} survived SIGKILL for {STOP_SECONDS} s",
                  f"look at it with `ps -p {record['pid']}`", state.log)


def up(state: State, arguments: argparse.Namespace) -> None:
    check_prerequisites()
    if arguments.replace and (record := state.running()):
        stop(state, record)
    lock = state.try_lock()
    if lock is None:
        raise Failure("start the local AWS", f"one already runs for {shown(state.directory)}",
                      "`make down` first, or pass --replace or another --state")
    began = time.monotonic()
    port = reserve_port(arguments.port)
    endpoint = f"http://127.0.0.1:{port}"
    try:
        process = start(state, port, lock)
        print(f"local AWS on {endpoint}, process {process.pid} ({time.monotonic() - began:.1f} s)", flush=True)
        began = time.monotonic()
        deploy(state, endpoint)
        make_concurrency_a_number(endpoint)
        values = write_env(state, {"pid": process.pid, "endpoint": endpoint}, stack_outputs(endpoint))
    except BaseException:
        # Whatever went wrong, Ctrl-C included: nothing half-started stays behind.
        os.close(lock)
        if record := state.running():
            stop(state, record)
        raise
    os.close(lock)
    print(f"template.yaml deployed ({time.monotonic() - began:.1f} s)")
    print(f"providers deliver to {values['HOOKBOX_URL']}/hooks/<provider>/<account>")
    print(f"addresses and names are in {shown(state.env)}")


def down(state: State, _: argparse.Namespace) -> None:
    record = state.running()
    if record is None:
        print(f"no local AWS runs for {shown(state.directory)}")
        return
    stop(state, record)
    print(f"stopped process {record['pid']}; its log stays in {shown(state.log)}")


def store_secret(state: State, arguments: argparse.Namespace) -> None:
    endpoint = state.required("store the secret")["endpoint"]
    value = sys.stdin.readline().rstrip("\n") if arguments.value == "-" else arguments.value
    client("ssm", endpoint).put_parameter(Name=arguments.name, Value=value, Type="SecureString", Overwrite=True)
    print(f"stored ssm:{arguments.name}")


def generate_secrets(state: State, arguments: argparse.Namespace) -> None:
    """Gives each `ssm:` reference of a configuration a random value, once."""
    endpoint = state.required("generate the secrets")["endpoint"]
    ssm = client("ssm", endpoint)
    for name in sorted(set(re.findall(r'"ssm:(/[^"]+)"', arguments.file.read_text()))):
        # The shape that Stripe and Standard Webhooks expect; to the others it is a string like any other.
        value = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
        try:
            ssm.put_parameter(Name=name, Value=value, Type="SecureString", Overwrite=False)
            print(f"stored a random ssm:{name}")
        except ssm.exceptions.ParameterAlreadyExists:
            print(f"kept ssm:{name}")


def invoke(state: State, arguments: argparse.Namespace) -> None:
    """`cargo lambda invoke` against the deployed function: the local AWS answers at the address that it asks."""
    endpoint = state.required(f"invoke {arguments.function}")["endpoint"]
    if not arguments.event.exists():
        known = sorted(path.name for path in (ROOT / "events").glob(f"{arguments.function}.*.json"))
        raise Failure(f"invoke {arguments.function}", f"{shown(arguments.event)} does not exist",
                      "choose one of events/: " + (", ".join(known) or "none there for this function"))
    name = stack_outputs(endpoint)[f"{arguments.function.capitalize()}FunctionName"]
    host, port = endpoint.removeprefix("http://").split(":")
    done = subprocess.run([TOOLS / "cargo-lambda", "lambda", "invoke", "--invoke-address", host, "--invoke-port", port,
                           "--data-file", arguments.event, name], env=clean_environment(endpoint), check=False)
    if done.returncode != 0:
        raise Failure(f"invoke {arguments.function}", f"cargo lambda ended with exit code {done.returncode}",
                      "read its message above and the log below", state.log)


def status(state: State, _: argparse.Namespace) -> None:
    record = state.required("show the local AWS")
    print(f"local AWS on {record['endpoint']}, process {record['pid']}, log {shown(state.log)}")
    outputs = stack_outputs(record["endpoint"])
    sqs = client("sqs", record["endpoint"])
    for name, key in (("work queue", "WorkQueueUrl"), ("dead letters", "DeadLetterQueueUrl")):
        counts = sqs.get_queue_attributes(QueueUrl=outputs[key], AttributeNames=["All"])["Attributes"]
        print(f"{name}: {counts['ApproximateNumberOfMessages']} waiting, "
              f"{counts['ApproximateNumberOfMessagesNotVisible']} in flight, "
              f"{counts['ApproximateNumberOfMessagesDelayed']} delayed")
    for key, value in sorted(outputs.items()):
        print(f"{key}: {value}")


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="local.py", description=__doc__.splitlines()[0], epilog=EXAMPLES,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--state", type=Path, default=ROOT / ".local", metavar="DIR",
                        help="directory of this local AWS (default: .local in the repository)")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    command = commands.add_parser("up", parents=[common], help="start it, deploy template.yaml, write DIR/env")
    command.add_argument("--port", type=int, default=0, help="0 (default) lets the kernel choose a free one")
    command.add_argument("--replace", action="store_true", help="first stop one that runs for the same DIR")
    command.set_defaults(run=up)
    command = commands.add_parser("down", parents=[common], help="stop it; does nothing when none runs")
    command.set_defaults(run=down)
    command = commands.add_parser("secret", parents=[common], help="store a SecureString in its parameter store")
    command.add_argument("name", help="a path such as /hookbox/demo/stripe")
    command.add_argument("value", help="the secret, or - to read one line from standard input")
    command.set_defaults(run=store_secret)
    command = commands.add_parser("secrets", parents=[common], help="random secrets for the ssm: references of a file")
    command.add_argument("file", type=Path, help="a configuration such as hookbox.toml")
    command.set_defaults(run=generate_secrets)
    command = commands.add_parser("invoke", parents=[common], help="run a deployed function with an event")
    command.add_argument("function", choices=FUNCTIONS)
    command.add_argument("event", type=Path, help="a JSON file such as those in events/")
    command.set_defaults(run=invoke)
    command = commands.add_parser("status", parents=[common], help="show where it is and what waits in its queues")
    command.set_defaults(run=status)
    arguments = parser.parse_args(argv)
    arguments.state = arguments.state.resolve()
    return arguments


def main(argv: list[str]) -> int:
    arguments = parse(argv)
    # Run by any Python: the one that has botocore is in .venv.
    python = TOOLS / "python"
    if python.exists() and Path(sys.prefix) != ROOT / ".venv":
        os.execv(python, [str(python), __file__, *argv])
    try:
        arguments.run(State(arguments.state), arguments)
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
