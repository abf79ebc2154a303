#!/usr/bin/env python3
"""Plays five cases against the local AWS and compares what is seen with what is promised.

`make demo` starts the local AWS, runs this and stops it again. Everything goes the way of a real delivery: signed by
the `hookbox` command, through the API, the functions, the table and the queues, to a destination that is rehearsed by
`hookbox sandbox`. Ends with exit code 1 when a case shows something else than expected.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SAMPLE = ROOT / "hookbox.toml"
# Where the sample configuration expects the sandbox. The demo lets the kernel choose, so that it can always run.
SAMPLE_SANDBOX = "http://127.0.0.1:9099"
COMMAND_SECONDS = 120
# Generous: a job that needs the sweeper waits for it up to a minute or two.
WAIT_SECONDS = 240
BEGAN = time.monotonic()
TERMINAL = ("completed", "review", "dismissed")


class Failure(Exception):
    """The demo cannot go on, or a case cannot be looked at."""


@dataclass
class Case:
    name: str
    expected: str
    seen: str

    @property
    def holds(self) -> bool:
        return self.expected == self.seen


def say(text: str) -> None:
    print(f"[{time.monotonic() - BEGAN:5.1f} s] {text}", flush=True)


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


class Demo:
    def __init__(self, hookbox: Path, env_file: Path):
        self.hookbox_path = hookbox.resolve()
        self.directory = env_file.resolve().parent
        self.config = self.directory / "hookbox.toml"
        local = dict(line.split("=", 1) for line in env_file.read_text().splitlines())
        # Only the local AWS: a real account in the caller's environment must not be reached.
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "HOOKBOX_"))}
        self.environment = kept | local
        self.sandbox_url = ""
        self.sandbox: subprocess.Popen | None = None

    # ------------------------------------------------------------------------------------------------------- commands

    def hookbox(self, *arguments: str, accept: tuple[int, ...] = (0,)) -> subprocess.CompletedProcess:
        command = [str(self.hookbox_path), *arguments]
        try:
            done = subprocess.run(command, env=self.environment, cwd=ROOT, capture_output=True, text=True,
                                  timeout=COMMAND_SECONDS, check=False)
        except OSError as error:
            raise Failure(f"{self.hookbox_path} cannot be run: {error}. `make demo` builds it.") from None
        except subprocess.TimeoutExpired:
            raise Failure(f"`hookbox {' '.join(arguments)}` took longer than {COMMAND_SECONDS} s") from None
        if done.returncode not in accept:
            raise Failure(f"`hookbox {' '.join(arguments)}` ended with exit code {done.returncode}:\n"
                          f"{(done.stderr or done.stdout).strip()}")
        return done

    def ask(self, *arguments: str, accept: tuple[int, ...] = (0,)):
        done = self.hookbox(*arguments, "--output", "json", accept=accept)
        try:
            return json.loads(done.stdout)
        except json.JSONDecodeError:
            raise Failure(f"`hookbox {' '.join(arguments)}` printed no JSON:\n{done.stdout.strip()}") from None

    def send(self, account: str, event: str, *more: str) -> dict:
        # Exit code 1 is an answer too: something was refused or in conflict, and the output says what.
        return self.ask("send", "stripe", "--config", str(self.config), "--account", account, "--event-id", event,
                        *more, accept=(0, 1))

    def folder(self, receipt: str) -> dict:
        return self.ask("receipts", "show", receipt)

    def effects(self, job: str) -> int:
        with urllib.request.urlopen(f"{self.sandbox_url}/effects", timeout=10) as answer:
            return json.load(answer)["by_key"].get(job, {}).get("effects", 0)

    # --------------------------------------------------------------------------------------------------------- waiting

    def wait(self, for_what: str, look: Callable[[], object | None]):
        """Polls until `look` gives something, saying now and then that it still waits."""
        began = time.monotonic()
        told = began
        while (seen := look()) is None:
            now = time.monotonic()
            if now - began > WAIT_SECONDS:
                raise Failure(f"waited {WAIT_SECONDS} s in vain for {for_what}")
            if now - told > 10:
                told = now
                say(f"  still waiting for {for_what}")
            time.sleep(0.3)
        return seen

    def settled(self, receipts: list[str]) -> list[dict]:
        """The folders, once each of their jobs has come to its end."""
        def look():
            folders = [self.folder(receipt) for receipt in receipts]
            jobs = [job for folder in folders for job in folder["jobs"]]
            return folders if jobs and all(job["status"] in TERMINAL for job in jobs) else None
        return self.wait("the jobs to finish", look)

    # --------------------------------------------------------------------------------------------------------- stage

    def prepare(self) -> None:
        subprocess.run([sys.executable, str(HERE / "local.py"), "secrets", str(SAMPLE), "--state", str(self.directory)],
                       check=True, stdout=subprocess.DEVNULL)
        say("random secrets are in the local parameter store")
        self.start_sandbox()
        say(f"the destination is a sandbox on {self.sandbox_url}")
        self.config.write_text(SAMPLE.read_text().replace(SAMPLE_SANDBOX, self.sandbox_url))
        self.hookbox("apply", str(self.config), "--yes")
        say("hookbox.toml is applied: stripe/demo, stripe/flaky, stripe/down")

    def start_sandbox(self) -> None:
        log = self.directory / "sandbox.log"
        with log.open("wb") as output:
            self.sandbox = subprocess.Popen(
                [str(self.hookbox_path), "sandbox", "--listen", "127.0.0.1:0", "--secret", "ssm:/hookbox/demo/signing"],
                env=self.environment, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)

        def look():
            if self.sandbox.poll() is not None:
                raise Failure(f"the sandbox ended with exit code {self.sandbox.returncode}:\n{log.read_text().strip()}")
            found = re.search(r"listening on (http://\S+)", log.read_text())
            return found and found[1]
        self.sandbox_url = self.wait("the sandbox to listen", look)

    def close(self) -> None:
        if self.sandbox and self.sandbox.poll() is None:
            self.sandbox.terminate()
            try:
                self.sandbox.wait(5)
            except subprocess.TimeoutExpired:
                self.sandbox.kill()

    # ---------------------------------------------------------------------------------------------------------- cases

    def storm(self) -> str:
        say("1  sending one delivery 20 times at once")
        sent = self.send("demo", "evt_demo_storm", "--times", "20", "--concurrent")
        [folder] = self.settled(sorted(set(sent["receipts"])))
        jobs = folder["jobs"]
        return ", ".join((count(sent["created"], "receipt"), count(len(jobs), "job"),
                          count(sent["duplicates"], "duplicate"),
                          count(sum(self.effects(job["key"]) for job in jobs), "effect")))

    def updates(self) -> str:
        say("2  sending two updates of one resource")
        receipts = []
        for number in (1, 2):
            sent = self.send("demo", f"evt_demo_update_{number}", "--kind", "customer.subscription.updated",
                             "--resource", "sub_demo", "--times", "1")
            receipts += sent["receipts"]
        folders = self.settled(receipts)
        resources = {folder["receipt"]["resource"] for folder in folders}
        done = sum(job["status"] == "completed" for folder in folders for job in folder["jobs"])
        return f"{count(len(set(receipts)), 'receipt')} of {count(len(resources), 'resource')}, {done} completed"

    def flaky(self) -> str:
        say("3  sending to a destination that fails twice, then works")
        [folder] = self.settled(self.send("flaky", "evt_demo_flaky", "--times", "1")["receipts"])
        [job] = folder["jobs"]
        return f"{job['status']}, {count(job['attempts_total'], 'attempt')}, {count(self.effects(job['key']), 'effect')}"

    def down(self) -> str:
        say("4  sending to a destination that never works")
        [folder] = self.settled(self.send("down", "evt_demo_down", "--times", "1")["receipts"])
        [job] = folder["jobs"]

        def look():
            return next((notice for notice in self.ask("dlq", "list") if notice["job"] == job["key"]), None)
        self.wait("the notice in the dead-letter queue", look)
        return f"{job['status']}, {count(job['attempts_total'], 'attempt')}, in the dead-letter queue"

    def conflict(self) -> str:
        say("5  sending the first event again with another payload")
        sent = self.send("demo", "evt_demo_storm", "--times", "1", "--set", '{"livemode": true}')
        folder = self.folder(sent["receipts"][0])
        return f"{count(len(folder['receipt']['conflicts']), 'conflict')}, {count(len(folder['jobs']), 'job')}"

    def play(self) -> list[Case]:
        played = []
        for name, expected, case in (
            ("the same delivery 20 times at once", "1 receipt, 1 job, 19 duplicates, 1 effect", self.storm),
            ("two updates of one resource", "2 receipts of 1 resource, 2 completed", self.updates),
            ("destination fails twice, then works", "completed, 3 attempts, 1 effect", self.flaky),
            ("destination fails for good", "review, 3 attempts, in the dead-letter queue", self.down),
            ("same event id, other payload", "1 conflict, 1 job", self.conflict),
        ):
            try:
                seen = case()
            except (Failure, KeyError, ValueError, OSError) as error:
                say(f"   {error}")
                seen = f"could not look ({type(error).__name__}, see above)"
            say(f"   {seen}")
            played.append(Case(name, expected, seen))
        return played

    def audit(self) -> None:
        print("\nThe audit of the first case's receipt, as a person would ask for it:\n")
        question = ("receipts", "show", "--provider", "stripe", "--account", "demo", "--event-id", "evt_demo_storm")
        print(f"$ hookbox {' '.join(question)}")
        print(self.hookbox(*question).stdout)


def print_table(cases: list[Case]) -> None:
    rows = [("case", "expected", "seen", "")]
    rows += [(case.name, case.expected, case.seen, "ok" if case.holds else "DIFFERS") for case in cases]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    print()
    for number, row in enumerate(rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths)]
        print(f"{cells[0]} | {cells[1]} | {cells[2]} {row[3]}".rstrip())
        if number == 0:
            print("-+-".join("-" * width for width in widths))


NEXT = """What to try next:
  make dev      the same local AWS, left running, with commands to type
  make test     all tests, among them these cases and what happens when a process is killed
  hookbox.toml  is what was applied; README.md says how to point a real provider at it
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", type=Path, required=True, help="the env file that `local.py up` wrote")
    parser.add_argument("--hookbox", type=Path, required=True, help="the hookbox binary")
    arguments = parser.parse_args()
    demo = Demo(arguments.hookbox, arguments.env)
    try:
        demo.prepare()
        cases = demo.play()
        print_table(cases)
        demo.audit()
    except Failure as failure:
        print(f"The demo stopped: {failure}\nThe functions' log: {demo.environment['HOOKBOX_LOCAL_LOG']}",
              file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"The demo stopped: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        demo.close()
    different = sum(not case.holds for case in cases)
    if different:
        print(f"{count(different, 'case')} of {len(cases)} differ. "
              f"The functions' log: {demo.environment['HOOKBOX_LOCAL_LOG']}", file=sys.stderr)
        return 1
    print(NEXT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
