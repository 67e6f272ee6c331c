//! Criterion benches, each a program of its own beside this file, and in `peers/` the same work
//! written for other frameworks, to be run on the same machine in the same minutes.

pub mod derived;
