//! First the last lines of what has happened, then whatever happens.

use std::collections::VecDeque;
use std::io;
use std::time::Duration;

use aws_smithy_async::rt::sleep::AsyncSleep as _;
use futures_util::future::{Either, select};
use hookbox_core::key::ReceiptId;
use hookbox_core::time::Timestamp;
use serde::Serialize;

use super::line::Line;
use super::pass::Sources;
use super::window::Window;
use super::{Surroundings, TailArgs};
use crate::failure::Failure;
use crate::search::range::{Range, When};
use crate::terminal::{Format, Terminal};

/// How late a receipt may show in the index after it arrived: ingest commits within its ten seconds, and the index
/// follows.
const ARRIVAL_LATE: Duration = Duration::from_secs(30);
/// How late a line may show in the log.
const ENDING_LATE: Duration = Duration::from_secs(120);
/// How far ahead the clocks of others may be.
const AHEAD: Duration = Duration::from_secs(60);
/// The longest wait after something has gone wrong.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Follows both sources.
pub(super) struct Follow<'a> {
    sources: Sources<'a>,
    arrivals: Window<ReceiptId>,
    endings: Window<String>,
    /// What was said to be wrong last, until all is well again.
    trouble: Option<String>,
    overrun: bool,
}

/// The answer for programs that want one document.
#[derive(Serialize)]
struct Report<T> {
    lines: Vec<T>,
}

impl<'a> Follow<'a> {
    pub(super) fn new(sources: Sources<'a>, now: Timestamp) -> Self {
        let from = now.minus(ENDING_LATE);
        Self {
            sources,
            arrivals: Window::new(from, ARRIVAL_LATE),
            endings: Window::new(from, ENDING_LATE),
            trouble: None,
            overrun: false,
        }
    }

    /// Until there is nothing left to print, or until it is stopped.
    pub(super) async fn run(
        &mut self,
        args: &TailArgs,
        mut around: Surroundings<'_>,
        terminal: &mut Terminal,
    ) -> Result<(), Failure> {
        let now = around.clock.now();
        let last = Box::pin(self.last(args.limit as usize, args.since, now));
        let lines = match select(&mut around.stop, last).await {
            Either::Left(_) => return Ok(()),
            Either::Right((lines, _)) => lines?,
        };
        print_all(&lines, args.follow, terminal)?;
        drop(lines);
        if !args.follow {
            return Ok(());
        }
        let mut wait = args.every;
        loop {
            match select(&mut around.stop, around.sleep.sleep(wait)).await {
                Either::Left(_) => return Ok(()),
                Either::Right(_) => {}
            }
            let poll = Box::pin(self.poll(around.clock.now(), terminal));
            let well = match select(&mut around.stop, poll).await {
                Either::Left(_) => return Ok(()),
                Either::Right((well, _)) => well?,
            };
            wait = if well { args.every } else { (wait * 2).min(LONGEST_WAIT.max(args.every)) };
        }
    }

    /// The last lines since then. What is as late as something may come is remembered, whether it is among them or not.
    async fn last(&mut self, limit: usize, since: When, now: Timestamp) -> Result<VecDeque<Line>, Failure> {
        let since = since.at(now);
        let (mut from, mut until, mut span) = (self.endings.from(), now.plus(AHEAD), ENDING_LATE);
        let mut lines = self.some(Range { since: from, until }, since, limit).await?;
        self.arrivals.read_until(now);
        self.endings.read_until(now);
        // Ever further back, so that little is read where much has happened.
        while lines.len() < limit && since < from {
            span *= 4;
            until = from;
            from = from.minus(span).max(since);
            let mut earlier = self.some(Range { since: from, until }, since, limit - lines.len()).await?;
            earlier.append(&mut lines);
            lines = earlier;
        }
        Ok(lines)
    }

    /// The last ones of a range.
    async fn some(&mut self, range: Range, since: Timestamp, limit: usize) -> Result<VecDeque<Line>, Failure> {
        let receipts = self.sources.receipts(range);
        let mut pass = self.sources.pass(&receipts, range).await;
        let mut lines = VecDeque::new();
        while let Some(line) = pass.next().await {
            remember(&mut self.arrivals, &mut self.endings, &line);
            if line.at() >= since && limit > 0 {
                if lines.len() == limit {
                    lines.pop_front();
                }
                lines.push_back(line);
            }
        }
        match pass.arrivals_failed.or(pass.endings_failed) {
            Some(failure) => Err(failure),
            None => Ok(lines),
        }
    }

    /// Prints what is new. Gives whether both sources could be read; what one of them lacks comes with a later poll.
    async fn poll(&mut self, now: Timestamp, terminal: &mut Terminal) -> Result<bool, Failure> {
        let until = now.plus(AHEAD);
        let receipts = self.sources.receipts(Range { since: self.arrivals.from(), until });
        let logged = Range { since: self.endings.from(), until };
        let mut pass = self.sources.pass(&receipts, logged).await;
        while let Some(line) = pass.next().await {
            if remember(&mut self.arrivals, &mut self.endings, &line) {
                print(&line, terminal)?;
            }
        }
        if pass.arrivals_failed.is_none() {
            self.arrivals.read_until(now);
        }
        if pass.endings_failed.is_none() {
            self.endings.read_until(now);
        }
        let failures: Vec<_> = [pass.arrivals_failed, pass.endings_failed]
            .into_iter()
            .flatten()
            .map(|failure| failure.to_string())
            .collect();
        self.tell(&failures.join("\n"), terminal)?;
        Ok(failures.is_empty())
    }

    /// Says once what is wrong, and that it is well again.
    fn tell(&mut self, trouble: &str, terminal: &mut Terminal) -> io::Result<()> {
        if (self.arrivals.overrun || self.endings.overrun) && !self.overrun {
            self.overrun = true;
            terminal.note("so much happens that what the index or the log shows late may be left out")?;
        }
        match (&self.trouble, trouble) {
            (None, "") => {}
            (Some(_), "") => {
                self.trouble = None;
                terminal.note("it can be read again, and goes on where it was")?;
            }
            (Some(told), trouble) if told == trouble => {}
            (_, trouble) => {
                self.trouble = Some(trouble.to_owned());
                terminal.note(format_args!("{trouble}\nit is tried again"))?;
            }
        }
        Ok(())
    }
}

/// Whether it was not seen before.
fn remember(arrivals: &mut Window<ReceiptId>, endings: &mut Window<String>, line: &Line) -> bool {
    match line {
        Line::Arrived(entry) => arrivals.is_new(entry.received_at, entry.id),
        Line::Ended(ending) => endings.is_new(ending.at, ending.id.clone()),
    }
}

fn print_all(lines: &VecDeque<Line>, more_to_come: bool, terminal: &mut Terminal) -> io::Result<()> {
    match terminal.format() {
        Format::Json => terminal.say_json(&Report { lines: lines.iter().map(Line::for_programs).collect() }),
        Format::Table if lines.is_empty() && !more_to_come => {
            terminal.say("nothing happened that fits: --since looks further back")
        }
        Format::Table | Format::Jsonl => lines.iter().try_for_each(|line| print(line, terminal)),
    }
}

fn print(line: &Line, terminal: &mut Terminal) -> io::Result<()> {
    match terminal.format() {
        Format::Table => {
            let line = line.for_people(terminal);
            terminal.say(line)
        }
        Format::Json | Format::Jsonl => terminal.say_json(&line.for_programs()),
    }
}
