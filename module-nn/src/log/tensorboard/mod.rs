//! Event files, which TensorBoard reads.

mod crc;
mod event_file;
mod histogram;
mod hparams;
mod png;
mod proto;
mod writer;

pub use hparams::HParam;
pub use writer::SummaryWriter;
