//! Elapsed time.

use std::time::Duration;
#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
use std::time::Instant;

/// A start time. WebAssembly without an operating system has no clock: no time ever passes there.
pub(super) struct Clock {
    #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
    start: Instant,
}

impl Clock {
    pub(super) fn start() -> Self {
        Self {
            #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
            start: Instant::now(),
        }
    }

    pub(super) fn elapsed(&self) -> Duration {
        #[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
        return self.start.elapsed();
        #[cfg(all(target_family = "wasm", target_os = "unknown"))]
        Duration::ZERO
    }
}
