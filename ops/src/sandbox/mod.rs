//! `hookbox sandbox`: a destination for rehearsals. It verifies our signature as a real destination should, remembers
//! idempotency keys, and behaves as the path of the call says.

pub mod cuttable;
mod handler;
mod signature;
pub mod behaviour;
pub mod book;

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use aws_smithy_async::rt::sleep::SharedAsyncSleep;
use axum::Router;
use hookbox_core::integration::SecretRef;
use hookbox_core::surroundings::Clock;
use tokio::net::TcpListener;

use crate::connection::AwsArgs;
use crate::failure::{Answer, Failure, Trouble};
use crate::layout::count;
use crate::terminal::Terminal;
use book::Book;
use cuttable::{Cut, CuttableListener};
pub use signature::Verifier;

/// Start a destination for rehearsals.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = PATHS)]
pub struct SandboxArgs {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:9099")]
    pub listen: SocketAddr,
    /// Verify the signature of every call with this secret (`ssm:/path` or `env:NAME`); without it every call is taken
    #[arg(long, value_name = "REF")]
    pub secret: Option<SecretRef>,
    /// Listen also on an address that other machines reach
    #[arg(long)]
    pub allow_non_loopback: bool,
    /// How to reach AWS.
    #[command(flatten)]
    pub aws: AwsArgs,
}

const PATHS: &str = "\
The path of a call decides what becomes of it:
  POST /ok            does the work, answers 200 (so does POST /effects)
  POST /fail/2        answers 503 twice for each key, then works
  POST /down          always answers 503
  POST /broken        always answers 400
  POST /unauthorized  always answers 401
  POST /slow/5s       does the work, answers 200 after 5 s
  POST /drop          does the work, then hangs up the first time for each key
  GET  /effects       what happened so far, as JSON; /effects/KEY what happened for one key, or 404

An effect happens once for each Idempotency-Key, however often it is called for. A call without a key is answered 400;
with --secret a call that is not signed as Standard Webhooks describes it, or more than 5 minutes ago, is answered 401.

Examples:
  hookbox sandbox --secret ssm:/hookbox/demo/signing
  hookbox sandbox --listen 127.0.0.1:0
  curl http://127.0.0.1:9099/effects

The first line on standard output is `listening on http://ADDRESS:PORT`; every call is a line on standard error.
SIGINT and SIGTERM end it.";

/// A destination that is being rehearsed.
#[derive(Debug)]
pub struct Sandbox {
    book: Mutex<Book>,
    verifier: Option<Verifier>,
    clock: Arc<dyn Clock>,
    sleep: SharedAsyncSleep,
    terminal: Arc<Mutex<Terminal>>,
}

impl Sandbox {
    /// A sandbox without calls so far. `sleep` is how a slow answer waits.
    pub fn new(
        verifier: Option<Verifier>,
        clock: Arc<dyn Clock>,
        sleep: SharedAsyncSleep,
        terminal: Arc<Mutex<Terminal>>,
    ) -> Self {
        Self { book: Mutex::default(), verifier, clock, sleep, terminal }
    }

    /// Answers calls until it is dropped.
    pub async fn serve(self: Arc<Self>, listener: TcpListener) -> io::Result<()> {
        let router = Router::new().fallback(handler::handle).with_state(self);
        axum::serve(CuttableListener(listener), router.into_make_service_with_connect_info::<Cut>()).await
    }

    /// What happened so far.
    pub fn book(&self) -> Book {
        self.book.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Runs the sandbox until a signal ends it.
pub async fn run(
    args: SandboxArgs,
    clock: Arc<dyn Clock>,
    sleep: SharedAsyncSleep,
    mut terminal: Terminal,
) -> Result<Answer, Failure> {
    let attempt = format!("listen on {}", args.listen);
    if !args.listen.ip().is_loopback() && !args.allow_non_loopback {
        let why = "other machines could reach it there, and it does whatever it is asked for";
        let advice = "listen on 127.0.0.1, or say --allow-non-loopback when the network is yours";
        return Err(Failure::Usage(Trouble::new(attempt, why).advise(advice)));
    }
    let verifier = match &args.secret {
        None => None,
        Some(reference) => {
            let secret = args.aws.secrets(Arc::clone(&clock)).await.read(reference).await?;
            Some(Verifier::new(reference, &secret)?)
        }
    };
    let unable = |error: io::Error| {
        let advice = "--listen 127.0.0.1:0 takes a free port";
        Failure::CouldNotLook(Trouble::new(attempt.clone(), error).advise(advice))
    };
    let listener = TcpListener::bind(args.listen).await.map_err(unable)?;
    let address = listener.local_addr().map_err(unable)?;
    terminal.say(format_args!("listening on http://{address}"))?;
    if verifier.is_none() {
        terminal.note("no --secret: signatures are not verified")?;
    }
    let ended = ended()?;
    let terminal = Arc::new(Mutex::new(terminal));
    let sandbox = Arc::new(Sandbox::new(verifier, clock, sleep, Arc::clone(&terminal)));
    tokio::select! {
        served = Arc::clone(&sandbox).serve(listener) => served?,
        () = ended => {}
    }
    let (calls, effects, refused) = sandbox.book().totals();
    let totals = format!("{}, {}, {refused} refused", count(calls, "call"), count(effects, "effect"));
    terminal.lock().unwrap_or_else(PoisonError::into_inner).note(totals)?;
    Ok(Answer::Yes)
}

/// Ready when the process is asked to end.
fn ended() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

#[cfg(test)]
mod tests;
