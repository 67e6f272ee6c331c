//! Runs loops with the vector instructions that the processor has.
//!
//! A loop is compiled once for each level and the level is asked for when the program runs, because
//! programs are built for the oldest processor. No level changes a result: the compiler neither fuses
//! a product with a sum nor adds in another order, and what is written fused is fused at every level.
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
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
        {
            // SAFETY: the processor has what the function was compiled for.
            return unsafe { avx512(work) };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: the processor has what the function was compiled for.
            return unsafe { avx2(work) };
        }
    }
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,fma")]
fn avx512<L: Loop>(work: L) -> L::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<L: Loop>(work: L) -> L::Output {
    work.run()
}

#[cfg(test)]
mod tests {
    use super::super::vector::{double, single};
    use super::{Loop, widest};

    struct Each<'a, T, F>(&'a mut [T], F);

    impl<T: Copy, F: Fn(T) -> T> Loop for Each<'_, T, F> {
        type Output = ();

        #[inline(always)]
        #[allow(clippy::inline_always)]
        fn run(self) {
            for v in self.0 {
                *v = (self.1)(*v);
            }
        }
    }

    /// The same function twice: inlined into the loop, and by a pointer, for any processor.
    fn agrees<T: Copy>(
        numbers: &[T],
        inlined: impl Fn(T) -> T,
        plain: fn(T) -> T,
        bits: fn(T) -> Option<u64>,
    ) -> bool {
        let mut wide = numbers.to_vec();
        widest(Each(&mut wide, inlined));
        let plain = std::hint::black_box(plain);
        let mut pairs = numbers.iter().zip(wide);
        pairs.all(|(&x, wide)| bits(plain(x)) == bits(wide))
    }

    #[test]
    fn no_level_changes_a_result() {
        let step = if cfg!(miri) { 40_000_003 } else { 65_537 };
        let numbers = (0..u32::MAX).step_by(step).map(f32::from_bits);
        let numbers: Vec<f32> = numbers.collect();
        // Any NaN is as good as another.
        let bits = |v: f32| (!v.is_nan()).then(|| u64::from(v.to_bits()));
        assert!(agrees(&numbers, single::exp, single::exp, bits));
        assert!(agrees(&numbers, single::ln, single::ln, bits));
        assert!(agrees(&numbers, single::tanh, single::tanh, bits));
        assert!(agrees(&numbers, single::erf, single::erf, bits));
        assert!(agrees(&numbers, single::gelu, single::gelu, bits));
        let numbers: Vec<f64> = (0..40_000).map(|i| f64::from(i) * 0.037 - 740.0).collect();
        let numbers = &numbers[..if cfg!(miri) { 100 } else { numbers.len() }];
        let bits = |v: f64| (!v.is_nan()).then(|| v.to_bits());
        assert!(agrees(numbers, double::exp, double::exp, bits));
        assert!(agrees(numbers, double::ln, double::ln, bits));
        assert!(agrees(numbers, double::tanh, double::tanh, bits));
    }
}
