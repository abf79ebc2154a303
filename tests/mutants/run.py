#!/usr/bin/env python3
"""Takes away one guard after the other and sees whether a test notices.

    tests/mutants/run.py                 all of them; writes docs/mutants.md
    tests/mutants/run.py lease token     those whose name holds one of the words
    tests/mutants/run.py --check         only whether each guard still stands where the list says

It works in a copy of what is committed, with a build folder of its own. The tests run with all guards first: what fails
then proves nothing later. However it ends, the copy goes; the build folder stays for the next time. Exit code 1 when a
guard is missed by no test.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from guards import GUARDS, Guard

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "target" / "mutants"
TREE = FOLDER / "tree"
# In seconds. A test that has lost its guard may run for ever.
LIMIT = 1_200


def main() -> int:
    words = sys.argv[1:]
    if words == ["--check"]:
        return check()
    guards = [guard for guard in GUARDS if not words or any(word in guard.name for word in words)]
    if not guards:
        sys.exit(f"no guard's name holds any of {words}: see tests/mutants/guards.py")
    # `kill` too ends what runs and removes the copy.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    try:
        return take_away(guards, whole=not words)
    finally:
        shutil.rmtree(TREE, ignore_errors=True)


def check() -> int:
    """The code moves on, and a guard that is not found could not be taken away."""
    lost = [guard for guard in GUARDS if (ROOT / guard.file).read_text().count(guard.before) != 1]
    for guard in lost:
        print(f"{guard.file} does not hold the text of `{guard.name}` once: mend tests/mutants/guards.py")
    return 1 if lost else 0


def take_away(guards: list[Guard], whole: bool) -> int:
    prepare()
    print(f"{len(guards)} guards; the first build takes minutes, each later one less than one", flush=True)
    clean = Guard("nothing", "", "", "", tuple(sorted({test for guard in guards for test in guard.tests})))
    failed = run(clean)
    if failed:
        sys.exit("with every guard in its place tests fail already:\n  " + "\n  ".join(failed))
    caught = {}
    for number, guard in enumerate(guards, 1):
        started = time.monotonic()
        caught[guard] = without(guard)
        tests = caught[guard]
        verdict = f"caught by {len(tests)}: {tests[0]}" if tests else "MISSED by every test"
        print(f"{number}/{len(guards)} {guard.name}: {verdict} ({time.monotonic() - started:.0f} s)", flush=True)
    if whole:
        write_table(caught)
    missed = [guard.name for guard, tests in caught.items() if not tests]
    print(f"{len(guards) - len(missed)} of {len(guards)} guards are caught" + "".join(f"\n  missed: {name}" for name in missed))
    return 1 if missed else 0


def prepare() -> None:
    """A copy of the last commit."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(TREE, ignore_errors=True)
    subprocess.run(["git", "clone", "--quiet", "--shared", str(ROOT), str(TREE)], check=True)


def without(guard: Guard) -> list[str]:
    """The tests that fail without the guard."""
    file = TREE / guard.file
    whole = file.read_text()
    if whole.count(guard.before) != 1:
        sys.exit(f"{guard.file} holds the text of `{guard.name}` {whole.count(guard.before)} times instead of once")
    file.write_text(whole.replace(guard.before, guard.after))
    try:
        return run(guard)
    finally:
        file.write_text(whole)


def run(guard: Guard) -> list[str]:
    """The guard's tests that fail as the copy stands."""
    filters = {name: chosen for name, *chosen in map(str.split, guard.tests)}
    return [test for name, *binary in build(guard, list(filters)) for test in failures(*binary, filters[name])]


def build(guard: Guard, names: list[str]) -> list[tuple[str, str, str, str]]:
    """The test binaries of these names: the name, the file, the folder of its package and the package's name."""
    # One `--lib` builds those of every package.
    libraries = ["--lib"] if any(name.startswith("hookbox_") for name in names) else []
    kinds = libraries + [part for name in names if not name.startswith("hookbox_") for part in ("--test", name)]
    command = ["cargo", "test", "--workspace", "--no-run", "--message-format", "json-render-diagnostics", *kinds]
    environment = dict(os.environ, CARGO_TARGET_DIR=str(FOLDER / "build"))
    done = subprocess.run(command, cwd=TREE, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"without `{guard.name}` nothing compiles, so it proves nothing:\n{done.stderr[-3000:]}")
    artifacts = [json.loads(line) for line in done.stdout.splitlines()]
    found = [
        (artifact["target"]["name"], artifact["executable"], str(Path(artifact["manifest_path"]).parent), package(artifact))
        for artifact in artifacts
        if artifact["reason"] == "compiler-artifact"
        and artifact["profile"]["test"]
        and artifact["target"]["name"] in names
    ]
    if len(found) != len(names):
        sys.exit(f"`{guard.name}` names tests that do not exist: {guard.tests}")
    return found


def package(artifact: dict) -> str:
    """The name in `path+file:///folder#name@version`; where it is the folder's own, it is left out there."""
    named = re.search(r"#(.+)@", artifact["package_id"])
    return named[1] if named else Path(artifact["manifest_path"]).parent.name


def failures(executable: str, folder: str, name: str, filters: list[str]) -> list[str]:
    environment = dict(os.environ, CARGO_PKG_NAME=name, CARGO_MANIFEST_DIR=folder, RUST_BACKTRACE="0", SEEDS="200")
    command = [executable, "--format", "terse", *filters]
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return [f"a test without an end in {Path(executable).name.split('-')[0]}"]
    if done.returncode == 0:
        return []
    names = [line.strip() for line in done.stdout.split("\nfailures:\n")[-1].splitlines()]
    return [name for name in names if "::" in name and " " not in name] or ["the process, which died"]


def write_table(caught: dict[Guard, list[str]]) -> None:
    lines = [
        "# Guards and the tests that miss them",
        "",
        "Written by `make mutants`: each guard is taken away alone, and at least one test has to fail.",
        "",
        "| guard | stands in | without it fail | for example |",
        "| --- | --- | --- | --- |",
    ]
    for guard, tests in caught.items():
        example = f"`{tests[0]}`" if tests else "**no test**"
        lines.append(f"| {guard.name} | `{guard.file}` | {len(tests)} | {example} |")
    (ROOT / "docs" / "mutants.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
