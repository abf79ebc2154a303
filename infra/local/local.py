#!/usr/bin/env python3
"""Start and stop a private AWS on this machine, with Hookbox deployed in it from the real template.yaml.

`make demo`, `make dev` and the end-to-end tests all call this. The local AWS is one process (MiniStack) that listens on
the loopback interface; the functions are the binaries in target/lambda, run as plain processes. Everything that
belongs to one local AWS lies in one state directory, so any number of them may run beside each other.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import re
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

from guide import local_environment, next_steps, stack_environment
from process import choose_port, crash_function, start, stop
from stack import (
    STACK, check_prerequisites, client, deploy, make_concurrency_a_number, stack_outputs,
    switch_on_what_was_passed_over, write_env,
)
from state import FUNCTIONS, ROOT, TOOLS, Failure, State, clean_environment, shown, write_atomically

EXAMPLES = """examples:
  local.py up                                   on a free port, state in .local
  local.py up --port 4566                       on a port of your choice
  local.py up --state target/e2e --replace      a second one, instead of an earlier one of the same directory
  local.py up --keep                            with the table, queues and secrets that the last one left
  local.py secret /hookbox/demo/stripe whsec_…  what `ssm:/hookbox/demo/stripe` in hookbox.toml stands for
  local.py secret /hookbox/demo/stripe -        the same, read from standard input
  local.py secrets hookbox.toml                 random values for all that the file refers to
  local.py invoke ingest event.json             run a function with an event of yours
  eval "$(infra/local/local.py env)"            then `hookbox` and the AWS tools talk to it
  local.py call sqs list_queues
  local.py status
  local.py logs worker
  local.py crash worker                         what a rehearsal of a crash needs
  local.py down
"""


def up(state: State, arguments: argparse.Namespace) -> None:
    check_prerequisites()
    if arguments.replace and (record := state.running()):
        stop(state, record)
    lock = state.try_lock()
    if lock is None:
        raise Failure("start the local AWS", f"one already runs for {shown(state.directory)}",
                      "`make down` first, or pass --replace or another --state")
    began = time.monotonic()
    port = choose_port(state, arguments.port, arguments.keep)
    endpoint = f"http://127.0.0.1:{port}"
    try:
        process = start(state, port, lock, arguments.keep)
        print(f"local AWS on {endpoint}, process {process.pid} ({time.monotonic() - began:.1f} s)", flush=True)
        began = time.monotonic()
        deploy(state, endpoint)
        make_concurrency_a_number(endpoint)
        switch_on_what_was_passed_over(endpoint)
        values = write_env(state, {"pid": process.pid, "endpoint": endpoint}, stack_outputs(endpoint))
        if arguments.keep:
            write_atomically(state.kept_port, str(port))
    except BaseException:
        # Whatever went wrong, Ctrl-C included: nothing half-started stays behind, and nothing half-made is kept.
        os.close(lock)
        if record := state.running():
            stop(state, record, (signal.SIGKILL,))
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


def call(state: State, arguments: argparse.Namespace) -> None:
    """Any call of any service: for what the other commands do not cover, where there is no `aws` command."""
    import botocore.exceptions

    endpoint = state.required(f"call {arguments.service}")["endpoint"]
    try:
        asked = client(arguments.service, endpoint)
        answer = getattr(asked, arguments.operation.replace("-", "_"))(**json.loads(arguments.parameters))
    except (AttributeError, ValueError, botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError) as error:
        raise Failure(f"call {arguments.service} {arguments.operation}", str(error),
                      "write it as in: lambda get_function '{\"FunctionName\": \"…\"}'") from None
    answer.pop("ResponseMetadata", None)
    print(json.dumps(answer, default=str))


def crash(state: State, arguments: argparse.Namespace) -> None:
    """Exit code 1 when there was nothing to kill, so that a test can ask again until there is."""
    attempted = f"crash {arguments.function}"
    if not Path("/proc/self/environ").exists():
        raise Failure(attempted, "this machine has no /proc to find its processes in", "run it on Linux")
    record = state.required(attempted)
    function = stack_outputs(record["endpoint"])[f"{arguments.function.capitalize()}FunctionName"]
    killed = crash_function(record, function)
    if not killed:
        raise Failure(attempted, "no process of it runs now", "send it something to do first")
    print(f"killed {' '.join(map(str, killed))}")


def logs(state: State, arguments: argparse.Namespace) -> None:
    """What the functions wrote, oldest first. The local AWS makes one stream for each invocation."""
    endpoint = state.required("read the logs")["endpoint"]
    cloudwatch = client("logs", endpoint)
    lines = []
    for function in [arguments.function] if arguments.function else FUNCTIONS:
        pages = cloudwatch.get_paginator("filter_log_events").paginate(logGroupName=f"/hookbox/{STACK}/{function}")
        lines += [(event["timestamp"], function, event["message"]) for page in pages for event in page["events"]
                  if not event["message"].startswith(("START RequestId", "END RequestId", "REPORT RequestId"))]
    for _, function, message in sorted(lines, key=lambda line: line[0]):
        print(f"{function}: {message}")


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


def print_environment(state: State, arguments: argparse.Namespace) -> None:
    if arguments.stack:
        print(stack_environment(arguments.stack), end="")
    else:
        print(local_environment(state, arguments.binaries), end="")


def print_next_steps(state: State, _: argparse.Namespace) -> None:
    print(f"\n{next_steps(state)}")


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
    command.add_argument("--keep", action="store_true",
                         help="go on where an earlier `up --keep` of DIR was stopped, on the same port (DIR/kept)")
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
    command = commands.add_parser("call", parents=[common], help="call any of its services and print the answer")
    command.add_argument("service", help="such as lambda")
    command.add_argument("operation", help="such as list_event_source_mappings")
    command.add_argument("parameters", nargs="?", default="{}", help="a JSON object, named as in the service's own API")
    command.set_defaults(run=call)
    command = commands.add_parser("crash", parents=[common], help="kill -9 the processes of a function (Linux)")
    command.add_argument("function", choices=FUNCTIONS)
    command.set_defaults(run=crash)
    command = commands.add_parser("logs", parents=[common], help="print what the functions logged")
    command.add_argument("function", nargs="?", choices=FUNCTIONS, help="only this one's (default: all)")
    command.set_defaults(run=logs)
    command = commands.add_parser("status", parents=[common], help="show where it is and what waits in its queues")
    command.set_defaults(run=status)
    command = commands.add_parser("env", parents=[common], help="print it as `export` lines for a shell to evaluate")
    command.add_argument("--stack", metavar="NAME", help="those of a stack in your AWS account instead")
    command.add_argument("--binaries", type=Path, default=ROOT / "target" / "debug", metavar="DIR",
                         help="where hookbox lies (default: target/debug)")
    command.set_defaults(run=print_environment)
    command = commands.add_parser("next", parents=[common], help="print what to try in it")
    command.set_defaults(run=print_next_steps)
    arguments = parser.parse_args(argv)
    arguments.state = arguments.state.resolve()
    return arguments


def main(argv: list[str]) -> int:
    arguments = parse(argv)
    # Run by any Python: the one that has botocore is in .venv.
    python = TOOLS / "python"
    if python.exists() and not os.path.samefile(sys.prefix, ROOT / ".venv"):
        os.execv(python, [str(python), __file__, *argv])
    try:
        arguments.run(State(arguments.state), arguments)
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `local.py logs | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (OSError, OverflowError) as error:  # a file, a port or a disk that is not as it must be
        print(f"Could not {arguments.command}: {error}\nWhat to do: check the paths and the port that were given",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
