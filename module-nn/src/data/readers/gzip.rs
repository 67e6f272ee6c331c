use std::io::{self, Read};

use crc32fast::Hasher;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush, MZStatus};

/// How many compressed bytes are read at a time.
const BUFFER: usize = 1 << 15;

/// The decompressed content of a gzip file (RFC 1952), read as a stream; the checksum and length of each member are
/// verified at its end.
///
/// # Example
///
/// ```
/// use std::io::Read;
///
/// use module_nn::data::GzipReader;
///
/// // `gzip.compress(b"", mtime=0)` of Python.
/// let file = [31, 139, 8, 0, 0, 0, 0, 0, 2, 255, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0];
/// let mut content = Vec::new();
/// GzipReader::new(&file[..]).read_to_end(&mut content)?;
/// assert!(content.is_empty());
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct GzipReader<R> {
    input: R,
    buffer: Vec<u8>,
    /// The unused bytes of the buffer.
    start: usize,
    end: usize,
    /// The member that is being read, if any.
    member: Option<Member>,
    any: bool,
}

struct Member {
    state: Box<InflateState>,
    crc: Hasher,
    /// The number of decompressed bytes, modulo 2³².
    length: u32,
}

fn invalid(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("gzip: {problem}"))
}

fn cut(_: ()) -> io::Error {
    let problem = "gzip: the file ends early (truncated?); download it again";
    io::Error::new(io::ErrorKind::UnexpectedEof, problem)
}

impl<R: Read> GzipReader<R> {
    /// Decompresses what `input` gives.
    pub fn new(input: R) -> Self {
        Self {
            input,
            buffer: vec![0; BUFFER],
            start: 0,
            end: 0,
            member: None,
            any: false,
        }
    }

    /// The unused compressed bytes; none at the end of the file.
    fn fill(&mut self) -> io::Result<&[u8]> {
        while self.start == self.end {
            match self.input.read(&mut self.buffer) {
                Ok(0) => break,
                Ok(count) => (self.start, self.end) = (0, count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.buffer.get(self.start..self.end).unwrap_or_default())
    }

    /// The next byte of a header or trailer.
    fn byte(&mut self, crc: &mut Hasher) -> io::Result<u8> {
        let byte = *self.fill()?.first().ok_or(()).map_err(cut)?;
        self.start += 1;
        crc.update(&[byte]);
        Ok(byte)
    }

    fn bytes<const N: usize>(&mut self, crc: &mut Hasher) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        for byte in &mut bytes {
            *byte = self.byte(crc)?;
        }
        Ok(bytes)
    }

    /// The header of a member; `None` after the last one.
    fn header(&mut self) -> io::Result<Option<Member>> {
        if self.fill()?.is_empty() {
            return if self.any { Ok(None) } else { Err(cut(())) };
        }
        let mut crc = Hasher::new();
        let [id1, id2, method, flags, ..] = self.bytes::<10>(&mut crc)?;
        if [id1, id2, method] != [0x1f, 0x8b, 8] || flags & 0xe0 != 0 {
            let problem = format!(
                "a member starts with the bytes {id1:02x} {id2:02x} {method:02x} {flags:02x}, not with 1f 8b 08 \
                 and known flags"
            );
            return Err(invalid(&problem));
        }
        if flags & 4 != 0 {
            let length = u16::from_le_bytes(self.bytes(&mut crc)?);
            (0..length).try_for_each(|_| self.byte(&mut crc).map(drop))?;
        }
        // The name of the file and a comment, which end with a zero.
        for text in [8, 16] {
            while flags & text != 0 && self.byte(&mut crc)? != 0 {}
        }
        if flags & 2 != 0 {
            let expected = crc.clone().finalize() as u16;
            if u16::from_le_bytes(self.bytes(&mut crc)?) != expected {
                return Err(invalid("the checksum of its header differs"));
            }
        }
        self.any = true;
        Ok(Some(Member {
            state: InflateState::new_boxed(DataFormat::Raw),
            crc: Hasher::new(),
            length: 0,
        }))
    }

    /// Verifies the checksum and the length after a member.
    fn trailer(&mut self, member: Member) -> io::Result<()> {
        let mut unused = Hasher::new();
        let found = [member.crc.finalize(), member.length];
        let mut expected = [0; 2];
        for number in &mut expected {
            *number = u32::from_le_bytes(self.bytes(&mut unused)?);
        }
        match found == expected {
            true => Ok(()),
            false => Err(invalid(&format!(
                "checksum and length are {found:x?}, and the file says {expected:x?} (damaged?); download it again"
            ))),
        }
    }
}

impl<R: Read> Read for GzipReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            let mut member = match self.member.take() {
                Some(member) => member,
                None => match self.header()? {
                    Some(member) => member,
                    None => return Ok(0),
                },
            };
            let input = self.fill()?;
            let (ended, result) = (
                input.is_empty(),
                inflate(&mut member.state, input, out, MZFlush::None),
            );
            self.start += result.bytes_consumed;
            let written = result.bytes_written;
            member.crc.update(out.get(..written).unwrap_or_default());
            member.length = member.length.wrapping_add(written as u32);
            match result.status {
                Ok(MZStatus::StreamEnd) => self.trailer(member)?,
                Ok(_) => self.member = Some(member),
                // Nothing more can be done without more bytes.
                Err(miniz_oxide::MZError::Buf) if !ended => self.member = Some(member),
                Err(miniz_oxide::MZError::Buf) => return Err(cut(())),
                Err(_) => {
                    return Err(invalid(
                        "its content is not compressed as it says (damaged?)",
                    ));
                }
            }
            if written > 0 {
                return Ok(written);
            }
            if ended && self.member.is_some() {
                return Err(cut(()));
            }
        }
    }
}
