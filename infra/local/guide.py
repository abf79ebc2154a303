"""What a person types next: the environment of a shell, and the commands to try in it."""

from __future__ import annotations

import os
import shlex
import socket
from pathlib import Path

from stack import account_client, described, hookbox_variables
from state import ROOT, Failure, State

# Where hookbox.toml expects the sandbox.
SANDBOX = ("127.0.0.1", 9099)


def exports(values: dict[str, str]) -> str:
    return "".join(f"export {key}={shlex.quote(value)}\n" for key, value in values.items())


def local_environment(state: State, binaries: Path) -> str:
    """For `eval`: what leads to the local AWS, and `hookbox` as it was built."""
    state.required("print the environment of the local AWS")
    values = dict(line.split("=", 1) for line in state.env.read_text().splitlines())
    path = exports({"PATH": str(binaries.resolve())}).rstrip("\n") + ':"$PATH"\n'
    return exports(values) + "unset AWS_PROFILE AWS_SESSION_TOKEN\n" + path


def stack_environment(stack: str) -> str:
    """For `eval`: what `hookbox` needs to find a stack in a person's own AWS account."""
    attempted = f"print the environment of the stack {stack}"
    if endpoint := os.environ.get("AWS_ENDPOINT_URL"):
        raise Failure(attempted, f"AWS_ENDPOINT_URL leads to {endpoint}, not to your AWS account",
                      "use a shell that was not set up for the local AWS, or unset AWS_ENDPOINT_URL and the keys")
    import botocore.exceptions

    saved = saved_answers()
    try:
        cloudformation = account_client("cloudformation", saved.get("region"), saved.get("profile"))
        outputs = described(cloudformation, stack)
    except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError) as error:
        raise Failure(attempted, str(error), "check the stack's name (make env STACK=…), the region (AWS_REGION) and "
                      "the credentials; `make deploy` makes a stack") from None
    return exports({"AWS_REGION": cloudformation.meta.region_name} | hookbox_variables(outputs))


def saved_answers() -> dict[str, str]:
    """What the first `make deploy` wrote into samconfig.toml."""
    import tomlkit  # comes with sam; tomllib is younger than the oldest Python that is allowed

    config = tomlkit.parse((ROOT / "samconfig.toml").read_text())
    return dict(config["default"]["deploy"]["parameters"])


def next_steps(state: State) -> str:
    lines = [
        "Next, in this shell:",
        '  eval "$(make env)"     leads hookbox and other AWS tools here, and puts hookbox on the PATH. Again in every',
        "                         new shell, and after a fresh start: a shell keeps what it was given",
        "  hookbox sandbox --listen 127.0.0.1:9099 --secret ssm:/hookbox/demo/signing &",
        "  hookbox apply hookbox.toml",
        "  hookbox send stripe --account demo --event-id evt_1 --times 3",
        "  hookbox receipts show --provider stripe --account demo --event-id evt_1",
        "  hookbox send stripe --account down --event-id evt_2",
        "  hookbox dlq list       seconds later, when its three attempts are over",
        "  make invoke-sweeper    runs one function with a file of events/; make invoke-ingest answers 401, because",
        "                         nobody signed its example",
        "  make status            where it is, and what waits in its queues; make logs what the functions wrote",
        "",
        "make dev again after a change: the table, the queues, the secrets and the port stay. make down stops it.",
        f"To start afresh: make down, {state.forget_what_is_kept()}, make dev.",
    ]
    if sandbox_is_there():
        address, port = "{}:{}".format(*SANDBOX), SANDBOX[1]
        lines += [
            "",
            f"Note: something listens on {address} already. If it is a `hookbox sandbox` that you started for this",
            "local AWS, it goes on working and need not be started again. Otherwise see who it is with",
            f"`ss -ltnp 'sport = :{port}'` or `lsof -i :{port}`, or give the sandbox another port (--listen 127.0.0.1:0)",
            "and name that in a copy of hookbox.toml.",
        ]
    return "\n".join(lines)


def sandbox_is_there() -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(SANDBOX) == 0
