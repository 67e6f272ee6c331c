use module_nn::{Error, Result, Tensor};

use super::Comm;

/// Bytes of each rank, of any length, in the order of the ranks.
///
/// # Errors
///
/// A [`RankFailure`](crate::RankFailure).
///
/// # Example
///
/// ```
/// use module_dist::{LocalComm, comm::gather_bytes};
///
/// let names = LocalComm::run(2, |comm| {
///     let mine = ["a", "bc"][comm.rank()];
///     gather_bytes(&*comm, mine.as_bytes())
/// })?;
/// assert_eq!(names, [[b"a".to_vec(), b"bc".to_vec()], [b"a".to_vec(), b"bc".to_vec()]]);
/// # Ok::<(), module_nn::Error>(())
/// ```
pub fn gather_bytes(comm: &dyn Comm, mine: &[u8]) -> Result<Vec<Vec<u8>>> {
    let gathered = comm.all_gather(&Tensor::from(mine.to_vec()))?;
    gathered.iter().map(Tensor::to_vec).collect()
}

/// The bytes of rank `root`; what the other ranks give does not matter.
///
/// # Errors
///
/// A root that is not a rank; a [`RankFailure`](crate::RankFailure).
pub fn share_bytes(comm: &dyn Comm, bytes: &[u8], root: usize) -> Result<Vec<u8>> {
    let mine = if comm.rank() == root { bytes } else { &[] };
    let gathered = gather_bytes(comm, mine)?.into_iter().nth(root);
    gathered.ok_or_else(|| {
        let problem = format!("must be less than the {} rank(s)", comm.size());
        Error::argument("share_bytes", "root", root, problem)
    })
}
