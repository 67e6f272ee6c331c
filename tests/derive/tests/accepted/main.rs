//! Inputs that the derives accept: each file is one case, named after what it shows, and runs.
//!
//! `random_structs` contains the types that `build/main.rs` generates.
#![allow(dead_code, unreachable_pub, unused_qualifications)]
#![allow(clippy::all, clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod cfg_fields;
mod const_generic;
mod constants;
mod crate_path;
mod dyn_fields;
mod enum_generic;
mod enum_members;
mod enum_transparent;
mod extra_repr;
mod fields;
mod flatten_without_collision;
mod forward_enum;
mod generic_without_where;
mod in_function;
mod kind;
mod macro_generated;
mod marker_struct;
mod named_struct;
mod no_implicit_prelude;
mod pitfall_01_flatten;
mod pitfall_03_containers;
mod pitfall_06_aliases;
mod pitfall_06_own_names;
mod pitfall_07_maybe;
mod random_structs;
mod raw_identifier;
mod recursion;
mod rename;
mod show;
mod skip;
mod tensors;
mod tuple_struct;
mod user_types_in_scope;
mod where_clause_and_associated_type;
