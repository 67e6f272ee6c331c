//! Runs loops with the vector instructions that the processor has.
//!
//! A loop is compiled once for each level and the level is asked for when the program runs, because
//! programs are built for the oldest processor. No level changes a result: the compiler neither fuses
//! a product with a sum nor adds in another order.
//!
//! The one `unsafe` of the kernels is the call of a function that is compiled for a level: it needs a
//! processor that has the instructions, which has just been asked.
#![allow(unsafe_code)]

/// A loop to be compiled for each level; `run` is inlined, as must be all that it calls in the loop.
pub(super) trait Loop {
    type Output;

    fn run(self) -> Self::Output;
}

/// Runs the loop at the highest level.
#[inline]
pub(super) fn widest<L: Loop>(work: L) -> L::Output {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
        {
            // SAFETY: the processor has what the function was compiled for.
            return unsafe { avx512(work) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has what the function was compiled for.
            return unsafe { avx2(work) };
        }
    }
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")]
fn avx512<L: Loop>(work: L) -> L::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn avx2<L: Loop>(work: L) -> L::Output {
    work.run()
}
