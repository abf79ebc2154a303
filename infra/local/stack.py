"""The deployment in the local AWS: template.yaml by `sam deploy`, and what became of it."""

from __future__ import annotations

import os
import platform
import subprocess

from state import (
    FUNCTIONS, REGION, ROOT, TOOLS, Failure, State, clean_environment, client_environment, shown, write_atomically,
)

STACK = "hookbox"  # as in samconfig.toml; each local AWS holds one stack, so the name need not vary
DEPLOY_SECONDS = 300


def check_prerequisites() -> None:
    for tool in ("ministack", "sam"):
        if not (TOOLS / tool).exists():
            raise Failure("start the local AWS", f"{shown(TOOLS / tool)} is missing", "run `make tools`")
    for function in FUNCTIONS:
        bootstrap = ROOT / "target" / "lambda" / function / "bootstrap"
        if not bootstrap.exists():
            raise Failure("start the local AWS", f"{shown(bootstrap)} is missing", "run `make lambdas`")


def deploy(state: State, endpoint: str) -> None:
    """`sam deploy` of the real template with the binaries in target/lambda."""
    remedy = f"read the log below, then {shown(state.log)}"
    if state.kept_port.exists():
        remedy += f"; when the kept state hinders it, start afresh: `{state.forget_what_is_kept()}`"
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
                      remedy, state.deploy_log)


def make_concurrency_a_number(endpoint: str) -> None:
    """The local CloudFormation hands parameters on as text: its queue poller then fails to compare with the one, and a
    strict client to read the other."""
    mappings = client("lambda", endpoint)
    for mapping in mappings.list_event_source_mappings()["EventSourceMappings"]:
        if factor := mapping.get("ParallelizationFactor"):
            mappings.update_event_source_mapping(UUID=mapping["UUID"], ParallelizationFactor=int(factor))
        if limit := mapping.get("ScalingConfig", {}).get("MaximumConcurrency"):
            mappings.update_event_source_mapping(UUID=mapping["UUID"], ScalingConfig={"MaximumConcurrency": int(limit)})


def switch_on_what_was_passed_over(endpoint: str) -> None:
    """The local CloudFormation makes the table without the time to live and the recovery of the template."""
    table = described(client("cloudformation", endpoint), STACK)["TableName"]
    dynamodb = client("dynamodb", endpoint)
    expires = dynamodb.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    if expires["TimeToLiveStatus"] != "ENABLED":
        dynamodb.update_time_to_live(
            TableName=table, TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires_at"})
    dynamodb.update_continuous_backups(
        TableName=table, PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": True})


def described(cloudformation, stack: str) -> dict[str, str]:
    """The outputs of a stack."""
    outputs = cloudformation.describe_stacks(StackName=stack)["Stacks"][0].get("Outputs", [])
    return {output["OutputKey"]: output["OutputValue"] for output in outputs}


def stack_outputs(endpoint: str) -> dict[str, str]:
    """The outputs of the local stack, with the address that can be used."""
    outputs = described(client("cloudformation", endpoint), STACK)
    # ApiUrl of the stack is a name that only the real AWS answers to; here the API is reached by path.
    usable = f"{endpoint}/_aws/execute-api/{outputs['ApiId']}/%24default"
    return {key: value.replace(outputs["ApiUrl"], usable) for key, value in outputs.items()}


def hookbox_variables(outputs: dict[str, str]) -> dict[str, str]:
    """What the `hookbox` command needs to find a stack."""
    return {
        "HOOKBOX_URL": outputs["ApiUrl"],
        "HOOKBOX_TABLE": outputs["TableName"],
        "HOOKBOX_SHARDS": outputs["ShardCount"],
        "HOOKBOX_WORK_QUEUE_URL": outputs["WorkQueueUrl"],
        "HOOKBOX_DEAD_LETTER_QUEUE_URL": outputs["DeadLetterQueueUrl"],
        "HOOKBOX_WORKER_LOG_GROUP": outputs["WorkerLogGroup"],
    }


def write_env(state: State, record: dict, outputs: dict[str, str]) -> dict[str, str]:
    values = client_environment(record["endpoint"]) | hookbox_variables(outputs) | {
        "HOOKBOX_LOCAL_PID": str(record["pid"]),
        "HOOKBOX_LOCAL_LOG": str(state.log),
    }
    values |= {f"HOOKBOX_{f.upper()}_FUNCTION": outputs[f"{f.capitalize()}FunctionName"] for f in FUNCTIONS}
    write_atomically(state.env, "".join(f"{key}={value}\n" for key, value in values.items()))
    return values


def client(service: str, endpoint: str):
    # Imported here, so that --help and the missing-tools message work without the virtual environment.
    import botocore.session
    from botocore.config import Config

    return botocore.session.get_session().create_client(
        service, endpoint_url=endpoint, region_name=REGION, aws_access_key_id="test", aws_secret_access_key="test",
        config=Config(connect_timeout=5, read_timeout=20, retries={"max_attempts": 2}, proxies={}),
    )


def account_client(service: str, region: str | None, profile: str | None):
    """A client for a person's own AWS account: their credentials, and their region unless one is given."""
    import botocore.session

    session = botocore.session.Session(profile=profile)
    return session.create_client(service, region_name=region or os.environ.get("AWS_REGION"))
