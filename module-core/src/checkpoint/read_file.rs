//! Reads parts of a file; large parts are read by several threads.

use std::fs::File;
use std::io;

#[cfg(feature = "threads")]
use super::contents::PART;

/// From this total size on, elements are read by several threads: page faults on fresh memory cost more than the copy.
const LARGE: usize = 1 << 26;

/// Fills each part with the bytes of the file from a given position.
pub(super) fn read_into(file: &File, parts: Vec<(usize, &mut [u8])>) -> io::Result<()> {
    let total: usize = parts.iter().map(|(_, part)| part.len()).sum();
    let read = match cfg!(unix) && total >= LARGE {
        true => read_together(file, parts),
        false => read_in_turn(file, parts),
    };
    read.map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => {
            io::Error::new(error.kind(), "it became shorter while it was read")
        }
        _ => error,
    })
}

fn read_in_turn(file: &File, parts: Vec<(usize, &mut [u8])>) -> io::Result<()> {
    let mut parts = parts.into_iter();
    parts.try_for_each(|(place, part)| read_at(file, part, place as u64))
}

#[cfg(not(feature = "threads"))]
use read_in_turn as read_together;

/// [`read_into`] by several threads, each of which takes the next few megabytes.
#[cfg(feature = "threads")]
pub(super) fn read_together(file: &File, parts: Vec<(usize, &mut [u8])>) -> io::Result<()> {
    use std::sync::{Mutex, PoisonError};
    use std::thread;

    let pieces = parts.into_iter().flat_map(|(place, part)| {
        let pieces = part.chunks_mut(PART).enumerate();
        pieces.map(move |(i, piece)| (place + i * PART, piece))
    });
    let pieces: Vec<_> = pieces.collect();
    let pieces = Mutex::new(pieces.into_iter());
    let next = || pieces.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some((place, piece)) = next() {
            read_at(file, piece, place as u64)?;
        }
        Ok(())
    };
    let threads = thread::available_parallelism().map_or(1, |n| n.get().min(4));
    thread::scope(|scope| {
        // Fewer, if the system does not provide more.
        let others = (1..threads).map_while(|_| {
            let thread = thread::Builder::new();
            thread.spawn_scoped(scope, work).ok()
        });
        let others: Vec<_> = others.collect();
        let mut read = work();
        for other in others {
            let failed = |_| Err(io::Error::other("a thread that read the file panicked"));
            read = read.and(other.join().unwrap_or_else(failed));
        }
        read
    })
}

#[cfg(unix)]
fn read_at(file: &File, bytes: &mut [u8], place: u64) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, place)
}

/// Uses the handle's own position, so only one thread reads.
#[cfg(not(unix))]
fn read_at(mut file: &File, bytes: &mut [u8], place: u64) -> io::Result<()> {
    use std::io::{Read, Seek, SeekFrom};

    file.seek(SeekFrom::Start(place))?;
    file.read_exact(bytes)
}
