//! The members of derived modules, compared with lists that `build/main.rs` computes independently.

include!(concat!(env!("OUT_DIR"), "/random_structs.rs"));
