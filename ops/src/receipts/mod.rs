//! `hookbox receipts`: what is known of events.

mod json;
mod list;
mod show;
mod timeline;
mod view;

pub(crate) use json::Folder;
pub use list::{ListArgs, Receipts, list};
pub(crate) use show::{Found, Sheet, parse_receipt, show_job};
pub use show::{ShowArgs, Wanted, run, show};
pub use timeline::{Moment, TimelineArgs, timeline};
pub(crate) use view::tone;

#[cfg(test)]
mod tests;
