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
        assert_eq!(fault_of(&history), None, "seed {seed}");
        return;
    }
    let (start, seeds) = (number("START").unwrap_or(0), number("SEEDS").unwrap_or(SEEDS));
    let next = AtomicU64::new(start);
    #[expect(clippy::disallowed_methods, reason = "how long it takes is printed and decides nothing")]
    let begun = std::time::Instant::now();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (mut calls, mut failed) = (0, None);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(|| play_from(&next, start + seeds))).collect();
        for worker in workers {
            let (made, first) = worker.join().unwrap();
            calls += made;
            failed = failed.into_iter().chain(first).min();
        }
    });
    let (average, rate) = (calls / seeds.max(1), seeds / begun.elapsed().as_secs().max(1));
    println!("{seeds} histories of {average} calls on average, {rate} a second on {threads} cores");
    if let Some(seed) = failed {
        let (history, fault) = shorten::shortened(&generate::history(seed));
        panic!("SEED={seed} breaks a promise: {fault}\n{}", told(&history));
    }
}

/// Plays histories until there are no more or one fails: the calls that were made, and the seed that failed.
fn play_from(next: &AtomicU64, end: u64) -> (u64, Option<u64>) {
    let mut calls = 0;
    loop {
        let seed = next.fetch_add(1, Ordering::SeqCst);
        if seed >= end {
            return (calls, None);
        }
        let history = generate::history(seed);
        let played = catch_unwind(AssertUnwindSafe(|| history.play()));
        match played {
            Ok(world) if world.broken.lock().unwrap().is_empty() => calls += world.faults.count() as u64,
            _ => {
                next.store(end, Ordering::SeqCst);
                return (calls, Some(seed));
            }
        }
    }
}

/// The first promise that a history breaks, or the panic that ends it.
fn fault_of(history: &History) -> Option<String> {
    match catch_unwind(AssertUnwindSafe(|| first_broken(&history.play()))) {
        Ok(broken) => broken,
        Err(panic) => Some(panic.downcast_ref::<String>().cloned().unwrap_or_else(|| "a panic".to_owned())),
    }
}

fn first_broken(world: &World) -> Option<String> {
    let broken = world.broken.lock().unwrap();
    broken.first().map(|broken| format!("{}: {}", broken.promise, broken.what))
}

/// The history, one thing a line, as it stands in [`frozen`].
fn told(history: &History) -> String {
    let History { single, batch, steps, troubles } = history;
    let mut told = format!("single: {single:?}\nbatch: {batch:?}\nsteps:\n");
    for step in steps {
        writeln!(told, "    {step:?}").unwrap();
    }
    told.push_str("troubles:\n");
    for trouble in troubles {
        writeln!(told, "    {trouble:?}").unwrap();
    }
    told
}

#[expect(clippy::disallowed_methods, reason = "how many histories to play is said from outside")]
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")))
}
