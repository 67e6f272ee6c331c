//! What derived modules enumerate, compared with lists that `build.rs` computes on its own.

include!(concat!(env!("OUT_DIR"), "/random_structs.rs"));
