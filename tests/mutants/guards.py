"""The guards that the promises rest on, each with the change that takes it away.

Conditions are texts to the compiler, so no tool that mutates code finds them. `before` stands exactly once in the file.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Guard:
    """One guard: what it is, where it stands, what takes it away, and which tests are to notice.

    Each of `tests` is a test binary, and behind it which of its tests are run when that is not all of them.
    """

    name: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]


LEDGER = ("hookbox_ledger",)
CORE = ("hookbox_core",)
WORKER = ("worker",)
SWEEPER = ("sweeper",)
DISPATCHER = ("dispatcher",)
INGEST = ("hookbox_ingest",)
# Every call cut in every way, and 200 random histories: a guard beneath everything is missed by these too.
SUITE = ("suite crash_sweep:: simulation::",)
OF_OURS = "Expression::of_ours()"

# In the order in which an event meets them.
GUARDS = [
    # ingest
    Guard("the receipt's condition", "shared/ledger/src/ingest.rs",
          "vec![Write::Put(receipt.to_item(self.shards)?, absent())]",
          "vec![Write::Put(receipt.to_item(self.shards)?, Expression::default())]", LEDGER + SUITE),
    Guard("the condition of a new job", "shared/ledger/src/ingest.rs",
          "parts.push(Write::Put(job.to_item(self.shards)?, absent()));",
          "parts.push(Write::Put(job.to_item(self.shards)?, Expression::default()));", LEDGER),
    Guard("the token of our own transaction", "shared/ledger/src/ingest.rs",
          "if stored.token == token {", "if false {", LEDGER),
    Guard("a receipt is put back only where there is none", "shared/ledger/src/ingest.rs",
          'Write::Put(stored.to_item(self.shards)?, Expression::default().when_absent("pk"))',
          "Write::Put(stored.to_item(self.shards)?, Expression::default())", LEDGER),
    Guard("a further delivery is counted once", "shared/ledger/src/receipt.rs",
          'expression.when(format!("{name} <> {ours}"))',
          'expression.when(format!("({name} <> {ours} OR {name} = {ours} OR attribute_not_exists({name}))"))', LEDGER),
    Guard("2xx only after the commit", "functions/ingest/src/accept.rs",
          ".map(|place| async move { self.store(&events[place], alone).await.map(|stored| (place, stored)) })\n"
          "            .buffer_unordered(PARALLEL_TRANSACTIONS)\n            .try_collect()\n            .await?;",
          ".map(|place| async move { self.store(&events[place], alone).await.map(|stored| (place, stored)) })\n"
          "            .buffer_unordered(PARALLEL_TRANSACTIONS)\n            .filter_map(async |stored| stored.ok())\n"
          "            .collect()\n            .await;", INGEST),
    Guard("an earlier receipt of a weak identity stays", "functions/ingest/src/accept.rs",
          "if stored.expires_at.is_none_or(", "if true || stored.expires_at.is_none_or(", INGEST),
    # later writes
    Guard("the version of a job", "shared/ledger/src/plan.rs",
          f'    let mut expression = {OF_OURS}\n        .when_is("version", number(before.version))\n',
          f"    let mut expression = {OF_OURS}\n", LEDGER + SUITE),
    Guard("the token of a job's write", "shared/ledger/src/write_job.rs",
          "stored.token.as_deref() == Some(token)", "false", LEDGER + SUITE),
    Guard("the record of a deed tells that it was done", "shared/ledger/src/write_job.rs",
          "*part == Part::Audit && matches!(", "false && matches!(", LEDGER),
    Guard("a job is held only under its pause", "shared/ledger/src/write_job.rs",
          f'{OF_OURS}.when_is("rev", number(pause.rev))', OF_OURS, LEDGER),
    Guard("a resumed pause is not replaced by an older resume", "shared/ledger/src/pause.rs",
          f'let ours = {OF_OURS}.when_is("rev", number(pause.rev));', f"let ours = {OF_OURS};", LEDGER),
    Guard("a person ends the pause that was shown", "shared/ledger/src/pause.rs",
          f'Write::Delete(key, {OF_OURS}.when_is("rev", number(pause.rev)))', f"Write::Delete(key, {OF_OURS})", LEDGER),
    Guard("the revision of a configuration", "shared/ledger/src/config.rs",
          f'Some(rev) => {OF_OURS}.when_is("rev", number(rev))', f"Some(_) => {OF_OURS}", LEDGER),
    Guard("items of a newer schema are left alone", "shared/ledger/src/expression.rs",
          'expression.when(format!("{schema} <= {ours}"))',
          'expression.when(format!("({schema} <= {ours} OR {schema} > {ours})"))', LEDGER),
    Guard("items of a newer schema are not read", "shared/ledger/src/item/mod.rs",
          "Some(SCHEMA..) if schema != Some(SCHEMA) =>", "Some(SCHEMA..) if false =>", LEDGER),
    Guard("the limit of a call counter", "shared/ledger/src/rate.rs",
          " AND {calls} < {most}))", " AND ({calls} < {most} OR {calls} >= {most})))", LEDGER),
    Guard("the token of a replaced item", "shared/ledger/src/replace.rs",
          'stored.get("token") == Some(token)', "stored.is_empty()", LEDGER),
    # expiry
    Guard("a folder's expiry is what was read", "shared/ledger/src/plan.rs",
          'job.when_there("expires_at")', "job", LEDGER),
    Guard("two last jobs notice each other", "shared/ledger/src/plan.rs",
          "if after.has_ended() && !expires {", "if false {", LEDGER),
    Guard("a replayed sibling keeps the folder", "shared/ledger/src/plan.rs",
          f'Fate::Expires(expiry) => {OF_OURS}\n                    .when_is("version", number(sibling.version))\n',
          f"Fate::Expires(expiry) => {OF_OURS}\n", LEDGER),
    Guard("the payload is kept with its job", "shared/ledger/src/plan.rs",
          "for sk in (0..folder.chunks)", "for sk in (0..0)", LEDGER),
    Guard("a replay keeps the folder", "shared/core/src/transition/expiry.rs",
          "waits || reopened", "waits", LEDGER),
    # the job's life
    Guard("a running lease", "shared/core/src/transition/claim.rs",
          "State::Processing { lease_expires_at } if lease_expires_at > now => {",
          "State::Processing { lease_expires_at } if false && lease_expires_at > now => {", CORE + SUITE),
    Guard("a retry is not made before its time", "shared/core/src/transition/claim.rs",
          "if next_attempt_at > now =>", "if false && next_attempt_at > now =>", CORE),
    Guard("the bound of attempts", "shared/core/src/transition/claim.rs",
          "if job.attempts.len() >= claim.operation.schedule.attempts() {", "if false {", CORE + SUITE),
    Guard("an abandoned attempt is unknown", "shared/core/src/transition/claim.rs",
          "job.uncertain = Some(running.mode.and(job.uncertain));", "", CORE),
    Guard("a key that the destination has forgotten", "shared/core/src/transition/claim.rs",
          "Some(Mode::Key { until }) if in_time(until) => Approach::Send,",
          "Some(Mode::Key { .. }) => Approach::Send,\n        #[allow(unreachable_patterns)]", CORE),
    Guard("a doubt is added to the one before it", "shared/core/src/transition/finish.rs",
          "|attempt| attempt.mode).and(job.uncertain);", "|attempt| attempt.mode);", CORE),
    Guard("an unknown outcome without a promise", "shared/core/src/transition/finish.rs",
          "Mode::None => false,", "Mode::None => true,", CORE),
    Guard("a replay after the key's retention", "shared/core/src/transition/replay.rs",
          "send_before.filter(|until| *until <= now)", "send_before.filter(|_| false)", CORE),
    Guard("a replay that is late for the key's retention", "shared/core/src/transition/claim.rs",
          "if job.send_before.is_some_and(|until| !in_time(until)) {", "if false {", CORE),
    Guard("a replay opens a new round", "shared/core/src/transition/replay.rs",
          "next.attempts.clear();", "", CORE),
    # worker
    Guard("no call before the claim is durable", "functions/worker/src/job.rs",
          "        Box::pin(self.before_the_call(operation).write_job(loaded, job, &claimed)).await?;\n", "", WORKER),
    Guard("time for the call before the claim", "functions/worker/src/job.rs",
          "self.left().checked_sub(operation.timeout + CLAIM_MARGIN)", "Some(self.left())", WORKER),
    Guard("a message whose job is not found comes back", "functions/worker/src/batch.rs",
          "Ok(Some(ItemFailure { message_id: message_id.to_owned() }))", "Ok(None)", WORKER),
    # dispatcher
    Guard("a record that was not sent comes again", "functions/dispatcher/src/dispatch.rs",
          "(Err(error), _) => failed.push((i, error)),",
          "(Err(error), _) if false => failed.push((i, error)),\n                (Err(_), _) => {}", DISPATCHER),
    Guard("the first failed record is reported", "functions/dispatcher/src/dispatch.rs",
          "failed_work.into_iter().chain(failed_review).min()", "failed_work.into_iter().chain(failed_review).max()",
          DISPATCHER),
    # sweeper
    Guard("the sweeper leaves a running lease alone", "shared/core/src/transition/wake.rs",
          "(State::Processing { lease_expires_at }, _) if *lease_expires_at > now => {",
          "(State::Processing { lease_expires_at }, _) if false && *lease_expires_at > now => {", SWEEPER),
    Guard("the bound of wakes", "shared/core/src/transition/wake.rs",
          "if job.wakes >= MAX_WAKES {", "if false {", SWEEPER),
    Guard("wakes become rarer", "shared/core/src/transition/wake.rs",
          "Duration::from_secs(60 << wakes.min(6))", "Duration::from_secs(60 << (wakes * 0))", SWEEPER),
    Guard("only the write of the entry entitles to send", "functions/sweeper/src/entry.rs",
          "        if !self.ledger.move_entry(job, &moved).await? {\n            tally.lost += 1;\n            return Ok(None);\n        }\n",
          "        let _ = self.ledger.move_entry(job, &moved).await?;\n", SWEEPER),
    Guard("the entry's time as it was read", "shared/ledger/src/move_entry.rs",
          '            .when_is("open_at", number(old.as_millis()))\n', "", LEDGER),
    Guard("the entry's version as it was read", "shared/ledger/src/move_entry.rs",
          '            .when_is("version", number(before.version))\n', "", LEDGER),
]
