use module_nn::fork_rng;

use crate::Comm;

/// The seed of a rank: different for every rank, and the same in every run.
///
/// # Example
///
/// ```
/// use module_dist::rank_seed;
///
/// assert_ne!(rank_seed(0, 0), rank_seed(0, 1));
/// assert_eq!(rank_seed(7, 3), rank_seed(7, 3));
/// ```
pub fn rank_seed(seed: u64, rank: usize) -> u64 {
    // SplitMix64, so that neighboring ranks and seeds share no bits.
    let mut z = seed.wrapping_add((rank as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Runs `body` with random numbers of this rank alone, seeded with [`rank_seed`]: for dropout and augmentation. Build the
/// model outside, with the same seed on all ranks.
///
/// # Example
///
/// ```
/// use module_dist::{LocalComm, with_rank_rng};
/// use module_nn::prelude::*;
///
/// let draw = |_| LocalComm::run(2, |comm| with_rank_rng(&*comm, 0, || Tensor::randn([1], DType::F32)?.item::<f32>()));
/// let (first, again) = (draw(0)?, draw(1)?);
/// assert_ne!(first[0], first[1]);
/// assert_eq!(first, again);
/// # Ok::<(), Error>(())
/// ```
pub fn with_rank_rng<R>(comm: &dyn Comm, seed: u64, body: impl FnOnce() -> R) -> R {
    fork_rng(rank_seed(seed, comm.rank()), body)
}
