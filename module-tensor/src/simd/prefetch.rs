//! Asking for memory some time before it is read.

/// Asks for the cache line at an address, which need not exist.
#[inline(always)]
#[allow(clippy::inline_always, unused_unsafe)]
pub(crate) fn prefetch<T>(address: *const T) {
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, which never fails; every processor of the target has it.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
    }
}
