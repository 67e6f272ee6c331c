//! The guide in `docs/`: every block of Rust is compiled and run, what it prints is compared with what the page shows, quotations
//! are compared with their files, and the table of PyTorch's calls with what PyTorch returns.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod book;
mod errors;
mod output;
#[path = "../build/page.rs"]
mod page;
mod pitfalls;
mod quotations;
mod values;
mod written;

/// The pages print into a buffer of their thread.
#[allow(unused_macros)]
macro_rules! print {
    ($($argument:tt)*) => { $crate::output::write(format_args!($($argument)*)) };
}

macro_rules! println {
    () => { $crate::output::write(format_args!("\n")) };
    ($($argument:tt)*) => {{
        $crate::output::write(format_args!($($argument)*));
        $crate::output::write(format_args!("\n"));
    }};
}

/// Written by `build/main.rs`.
#[allow(dead_code, unused_macros, missing_docs, unreachable_pub)]
mod pages {
    include!(concat!(env!("OUT_DIR"), "/pages.rs"));
}
