//! Random histories over the harness of the crash sweep: whatever happens, in whatever order, with whatever trouble, once
//! everything works again all must come to rest as it was promised.
//!
//! A history follows from its number. `SEED=7` plays one and prints what happened; `SEEDS=n` and `START=m` play many, on
//! all cores. A history that fails is shortened as far as it still fails, and printed; what was found so is kept in
//! [`frozen`] for good.

mod draw;
mod frozen;
mod generate;
mod shorten;

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::harness::{History, World};

/// What `make test` plays.
const SEEDS: u64 = 1_000;

#[test]
fn random_histories_keep_every_promise() {
    if let Some(seed) = number("SEED") {
        let history = generate::history(seed);
        println!("{}", told(&history));
        let world = history.play();
        println!("{}", happened(&world));
        assert_eq!(world.fault(), None, "seed {seed}");
        return;
    }
    let (start, seeds) = (number("START").unwrap_or(0), number("SEEDS").unwrap_or(SEEDS));
    let next = AtomicU64::new(start);
    #[expect(clippy::disallowed_methods, reason = "how long it takes is printed and decides nothing")]
    let begun = std::time::Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (mut calls, mut refused, mut failed) = (0, 0, None);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| play_from(&next, start + seeds))).collect();
        for worker in workers {
            let played = worker.join().unwrap();
            calls += played.calls;
            refused += played.refused;
            failed = failed.into_iter().chain(played.failed).min();
        }
    });
    let (average, rate) = (calls / seeds.max(1), seeds / begun.elapsed().as_secs().max(1));
    println!("{seeds} histories of {average} calls on average, {rate} a second on {threads} cores");
    println!("{refused} replays refused, because the destination may have forgotten the key");
    if let Some(seed) = failed {
        let (history, fault) = shorten::shortened(&generate::history(seed));
        panic!("SEED={seed} breaks a promise: {fault}\n{}", told(&history));
    }
}

/// What one thread has played.
#[derive(Default)]
struct Played {
    calls: u64,
    refused: usize,
    /// The seed that failed.
    failed: Option<u64>,
}

/// Plays histories until there are no more or one fails.
fn play_from(next: &AtomicU64, end: u64) -> Played {
    let mut so_far = Played::default();
    loop {
        let seed = next.fetch_add(1, Ordering::SeqCst);
        if seed >= end {
            return so_far;
        }
        let history = generate::history(seed);
        match catch_unwind(AssertUnwindSafe(|| history.play())) {
            Ok(world) if world.fault().is_none() => {
                so_far.calls += world.faults.count() as u64;
                so_far.refused += *world.refused.lock().unwrap();
            }
            _ => {
                next.store(end, Ordering::SeqCst);
                return Played { failed: Some(seed), ..so_far };
            }
        }
    }
}

/// The first promise that a history breaks, or the panic that ends it.
fn fault_of(history: &History) -> Option<String> {
    match catch_unwind(AssertUnwindSafe(|| history.play().fault())) {
        Ok(broken) => broken,
        Err(panic) => Some(panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "a panic".to_owned())),
    }
}

/// The history, one thing a line. It is not Rust: in [`frozen`] each thing is written with its type.
fn told(history: &History) -> String {
    let History { single, batch, token, steps, troubles } = history;
    let mut told = format!("single: {single:?}\nbatch: {batch:?}\ntoken: {token:?}\nsteps:\n");
    for step in steps {
        writeln!(told, "    {step:?}").unwrap();
    }
    told.push_str("troubles:\n");
    for trouble in troubles {
        writeln!(told, "    {trouble:?}").unwrap();
    }
    told
}

/// What really happened: every call, what went wrong with it and who acted before it, and what destinations saw.
fn happened(world: &World) -> String {
    let acted = world.interrupts.acted();
    let mut told = "calls:\n".to_owned();
    for effect in world.faults.log() {
        let who: Vec<_> = acted.iter().filter(|(call, _)| *call == effect.number).map(|(_, who)| who).collect();
        let intruders = if who.is_empty() { String::new() } else { format!(", before it {who:?}") };
        let fault = effect.fault.map(|fault| format!(": {fault:?}")).unwrap_or_default();
        writeln!(told, "    {} {}{fault}{intruders}", effect.number, effect.operation).unwrap();
    }
    told.push_str("destinations:\n");
    for call in world.destination.calls() {
        writeln!(told, "    {call:?}").unwrap();
    }
    told
}

#[expect(clippy::disallowed_methods, reason = "how many histories to play is said from outside")]
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}
