//! Several lists, each in its own order and read page by page, as one list in that order.

use std::cmp::Ordering;
use std::collections::VecDeque;

use futures_util::future::BoxFuture;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use hookbox_ledger::{Cursor, LedgerError, Page};

/// Pages that are read at once.
const AT_ONCE: usize = 16;

/// Reads the page of a list that begins at a cursor.
pub(super) type Read<'a, T> = Box<dyn Fn(Option<Cursor>) -> BoxFuture<'a, Result<Page<T>, LedgerError>> + Send + 'a>;

/// One of the lists.
struct Source<'a, T> {
    read: Read<'a, T>,
    buffer: VecDeque<T>,
    next: Next,
}

enum Next {
    Page(Option<Cursor>),
    End,
}

/// The lists as one.
pub(super) struct Merged<'a, T> {
    sources: Vec<Source<'a, T>>,
    order: fn(&T, &T) -> Ordering,
    /// Entries that could not be read so far, and why.
    pub(super) unreadable: Vec<String>,
}

impl<'a, T> Merged<'a, T> {
    /// Nothing is read yet. Each list must be in this order by itself.
    pub(super) fn new(lists: impl IntoIterator<Item = Read<'a, T>>, order: fn(&T, &T) -> Ordering) -> Self {
        let source = |read| Source { read, buffer: VecDeque::new(), next: Next::Page(None) };
        Self { sources: lists.into_iter().map(source).collect(), order, unreadable: Vec::new() }
    }

    /// Of nothing.
    pub(super) fn none() -> Self {
        Self::new([], |_, _| Ordering::Equal)
    }

    /// The entry that comes next; `None` at the end of all lists.
    pub(super) async fn next(&mut self) -> Result<Option<T>, LedgerError> {
        self.fill().await?;
        let heads = self.sources.iter().enumerate().filter_map(|(i, source)| Some((i, source.buffer.front()?)));
        let first = heads.min_by(|(_, a), (_, b)| (self.order)(a, b)).map(|(i, _)| i);
        Ok(first.and_then(|first| self.sources.get_mut(first)?.buffer.pop_front()))
    }

    /// Reads on wherever nothing is left that could be the next.
    async fn fill(&mut self) -> Result<(), LedgerError> {
        loop {
            let empty = self.sources.iter().enumerate().filter_map(|(i, source)| match &source.next {
                Next::Page(after) if source.buffer.is_empty() => Some((i, (source.read)(after.clone()))),
                _ => None,
            });
            let reads: Vec<_> = empty.map(|(i, page)| async move { page.await.map(|page| (i, page)) }).collect();
            if reads.is_empty() {
                return Ok(());
            }
            let pages: Vec<(usize, Page<T>)> = stream::iter(reads).buffered(AT_ONCE).try_collect().await?;
            for (i, page) in pages {
                self.unreadable.extend(page.unreadable.iter().map(|entry| entry.error.to_string()));
                if let Some(source) = self.sources.get_mut(i) {
                    source.buffer.extend(page.items);
                    source.next = page.next.map_or(Next::End, |cursor| Next::Page(Some(cursor)));
                }
            }
        }
    }
}
