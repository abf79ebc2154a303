//! All of Hookbox in one thread, on virtual time, between adversaries.
//!
//! The four functions are the real ones. Around them stand a table (dynoxide behind the real SDK), two queues (behind the
//! real SDK too), an event source for the table's stream, a provider that signs and delivers again, destinations, and a
//! person. Every call to the outside has a number, and a [`Trouble`] makes the call of one number go wrong, or lets
//! somebody else act just before it. Nothing sleeps: one call is in flight at a time, each is done when it is polled once,
//! and the same history gives the same run.
//!
//! - [`world`]: what there is, and one step of each function.
//! - [`process`]: the functions as processes that die and begin again with nothing in memory.
//! - [`interrupts`]: somebody else acts in the middle of a step.
//! - [`table`]: a copy of the table from its changes, each looked at as it comes.
//! - [`stream`], [`queue`], [`provider`], [`destination`], [`person`]: the surroundings, each as bad as it may be.
//! - [`history`]: steps as data, so that a run can be printed, repeated and shortened.
//! - [`settle`]: everything works again, until nothing is left to do.
//! - [`heard`], [`configured`]: what the functions log, and which configurations there were.
//! - [`promises`]: what must be true, by the ids of `docs/guarantees.md`; [`answers`] and
//!   [`kept`] of them: what a provider may hear, and what may be deleted when.

pub(crate) mod world;

pub(crate) mod process;
pub(crate) mod interrupts;

pub(crate) mod table;
pub(crate) mod stream;
pub(crate) mod queue;

pub(crate) mod destination;
pub(crate) mod person;
pub(crate) mod provider;

pub(crate) mod history;
pub(crate) mod answers;
pub(crate) mod configured;
pub(crate) mod heard;
pub(crate) mod kept;
pub(crate) mod promises;
pub(crate) mod settle;

pub(crate) use destination::{Manner, Mood};
pub(crate) use history::{History, Intruder, Step, Trouble, What};
pub(crate) use provider::Delivery;
pub(crate) use world::World;
