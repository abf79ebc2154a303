//! A file that is written beside its place and moved there when it is whole.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, BufWriter, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use hookbox_core::key::ReceiptId;
use hookbox_core::time::Timestamp;
use serde::Deserialize;

use crate::failure::{Failure, Trouble};
use crate::search::receipts::Place;

/// How a line begins that has a receipt.
const WITH_RECEIPT: &[u8] = b"{\"receipt\":{";

/// The file under way.
#[derive(Debug)]
pub(super) struct Partial {
    writer: BufWriter<File>,
    path: PathBuf,
    place: PathBuf,
}

/// As much of a line as says where it stands.
#[derive(Deserialize)]
struct Stands {
    receipt: Receipt,
}

#[derive(Deserialize)]
struct Receipt {
    id: ReceiptId,
    received_at: String,
}

impl Partial {
    /// Begins a file, or goes on with one that was interrupted: behind the last receipt that stands in it whole.
    pub(super) fn begin(place: &Path, go_on: bool) -> Result<(Self, Option<Place>), Failure> {
        let mut name = place.as_os_str().to_owned();
        name.push(".partial");
        let path = PathBuf::from(name);
        let attempted = format!("export into {}", place.display());
        let usage = |why: String, advice: &str| Failure::Usage(Trouble::new(&attempted, why).advise(advice));
        if place.exists() {
            return Err(usage("it is there already".to_owned(), "another name: nothing is written over"));
        }
        let mut options = OpenOptions::new();
        if go_on {
            options.read(true).write(true);
        } else {
            options.write(true).create_new(true);
        }
        owner_only(&mut options);
        let mut file = options.open(&path).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                usage(format!("{} is there already", path.display()), "--continue, or remove it")
            }
            io::ErrorKind::NotFound if go_on => {
                usage(format!("there is no {}", path.display()), "without --continue: nothing was interrupted")
            }
            _ => usage(format!("{}: {error}", path.display()), "a folder that may be written"),
        })?;
        let last = if go_on { Self::cut(&mut file).map_err(Failure::Output)? } else { None };
        Ok((Self { writer: BufWriter::new(file), path, place: place.to_owned() }, last))
    }

    /// Cuts off what was not written wholly, or cannot be gone on behind.
    fn cut(file: &mut File) -> io::Result<Option<Place>> {
        let mut lines = BufReader::new(&mut *file);
        let (mut read, mut whole) = (0, 0);
        let (mut line, mut last) = (Vec::new(), Vec::new());
        loop {
            line.clear();
            let length = lines.read_until(b'\n', &mut line)?;
            if length == 0 {
                break;
            }
            read += length as u64;
            if line.ends_with(b"\n") && line.starts_with(WITH_RECEIPT) {
                whole = read;
                std::mem::swap(&mut line, &mut last);
            }
        }
        file.set_len(whole)?;
        file.seek(SeekFrom::Start(whole))?;
        if last.is_empty() {
            return Ok(None);
        }
        let Receipt { id, received_at } = serde_json::from_slice::<Stands>(&last).map_err(io::Error::other)?.receipt;
        let at = Timestamp::parse_rfc3339(&received_at);
        Ok(Some(Place::at(at.ok_or_else(|| io::Error::other("the last line has no time"))?, id)))
    }

    pub(super) fn say(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.writer, "{line}")
    }

    /// Hands what was written to the system, so that an end of the process loses nothing of it.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }

    /// Moves it to its place.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.writer.flush()?;
        self.writer.get_ref().sync_all()?;
        std::fs::rename(&self.path, &self.place)
    }
}

/// Payloads are nobody else's business.
#[cfg(unix)]
fn owner_only(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.mode(0o600);
}

#[cfg(not(unix))]
fn owner_only(_: &mut OpenOptions) {}
