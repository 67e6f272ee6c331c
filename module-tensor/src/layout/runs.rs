use smallvec::SmallVec;

use super::Layout;

/// Walks several layouts of the same shape together, in row-major order, run by run.
///
/// A run is the longest stretch along which every layout has a constant step. Dimensions that can be merged in all layouts
/// are merged first, so that runs are as long as memory allows. An image `[2, 3, 8, 8]` with one value per channel, `[3]`
/// broadcast to it, is six runs of 64: step 1 in the image, step 0 in the channels.
pub(crate) struct Runs<const N: usize> {
    /// The merged dimensions before the last, with the steps of each layout.
    outer: SmallVec<[(usize, [usize; N]); 4]>,
    position: SmallVec<[usize; 4]>,
    offsets: [usize; N],
    steps: [usize; N],
    length: usize,
    left: usize,
}

/// The start of a run in each layout, the distance between its elements, and their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run<const N: usize> {
    pub(crate) offsets: [usize; N],
    pub(crate) steps: [usize; N],
    pub(crate) length: usize,
}

/// Runs of one length that start at regular distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block<const N: usize> {
    pub(crate) offsets: [usize; N],
    /// The distance between the starts of two runs.
    pub(crate) strides: [usize; N],
    /// The number of runs.
    pub(crate) count: usize,
    pub(crate) steps: [usize; N],
    pub(crate) length: usize,
}

/// The offsets of all elements in row-major order, relative to that of the first.
pub(crate) fn offsets(first: usize, shape: &[usize], strides: &[usize]) -> Vec<usize> {
    let mut all = vec![first];
    for (&size, &stride) in shape.iter().zip(strides) {
        let outer = std::mem::take(&mut all);
        all.reserve_exact(outer.len() * size);
        for start in outer {
            for i in 0..size {
                all.push(start + i * stride);
            }
        }
    }
    all
}

/// A dimension, or several merged ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MergedDim {
    pub(crate) size: usize,
    pub(crate) stride: usize,
}

/// The dimensions of a layout after merging; at least one.
pub(crate) fn merge_dims(layout: &Layout) -> SmallVec<[MergedDim; 4]> {
    let runs = Runs::new([layout]);
    let outer = runs.outer.iter();
    let mut dims: SmallVec<_> = outer
        .map(|&(size, [stride])| MergedDim { size, stride })
        .collect();
    dims.push(MergedDim {
        size: runs.length,
        stride: runs.steps[0],
    });
    dims
}

impl<const N: usize> Runs<N> {
    /// The layouts must have the same shape.
    pub(crate) fn new(layouts: [&Layout; N]) -> Self {
        let shape = layouts
            .first()
            .map(|layout| &**layout.shape())
            .unwrap_or_default();
        let mut dims: SmallVec<[(usize, [usize; N]); 4]> = SmallVec::new();
        for (d, &size) in shape.iter().enumerate().filter(|(_, size)| **size != 1) {
            let steps = layouts.map(|layout| layout.strides()[d]);
            match dims.last_mut() {
                Some((joined, last)) if (0..N).all(|i| last[i] == steps[i] * size) => {
                    *joined *= size;
                    *last = steps;
                }
                _ => dims.push((size, steps)),
            }
        }
        let (length, steps) = dims.pop().unwrap_or((1, [1; N]));
        let left = if shape.contains(&0) {
            0
        } else {
            dims.iter().map(|(size, _)| size).product()
        };
        Self {
            position: SmallVec::from_elem(0, dims.len()),
            outer: dims,
            offsets: layouts.map(Layout::offset),
            steps,
            length,
            left,
        }
    }

    /// The number of elements of a run.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// The distance between the elements of a run in each layout.
    pub(crate) fn steps(&self) -> &[usize; N] {
        &self.steps
    }

    /// The length of the runs, and the walk over their first elements.
    pub(crate) fn starts(mut self) -> (usize, Self) {
        let length = self.length;
        let (size, steps) = self.outer.pop().unwrap_or((1, [1; N]));
        self.position.pop();
        self.left = self.left.checked_div(size).unwrap_or(0);
        (self.length, self.steps) = (size, steps);
        (length, self)
    }

    /// The same elements in runs of at most `most` elements, so that one gathered run fits in a cache.
    pub(crate) fn pieces(self, most: usize) -> Pieces<N> {
        Pieces {
            runs: self,
            rest: None,
            most,
        }
    }

    /// The same elements in blocks of at most `most` elements; a run of `long` elements, or a piece of it, is a block.
    pub(crate) fn blocks(self, long: usize, most: usize) -> Blocks<N> {
        let (length, steps) = (self.length, self.steps);
        if length >= long {
            return Blocks {
                pieces: self.pieces(most),
                short: None,
            };
        }
        let count = most.checked_div(length).unwrap_or(1).max(1);
        Blocks {
            pieces: self.starts().1.pieces(count),
            short: Some((length, steps)),
        }
    }
}

/// Runs in blocks.
pub(crate) struct Blocks<const N: usize> {
    /// The starts of the runs of each block, or runs that are blocks.
    pieces: Pieces<N>,
    /// The length and the steps of runs of which a block has several.
    short: Option<(usize, [usize; N])>,
}

impl<const N: usize> Blocks<N> {
    /// Whether each block is one run.
    pub(crate) fn are_runs(&self) -> bool {
        self.short.is_none()
    }

    /// The number of elements of a block, at most.
    pub(crate) fn numel(&self) -> usize {
        self.pieces.length() * self.short.map_or(1, |(length, _)| length)
    }
}

impl<const N: usize> Iterator for Blocks<N> {
    type Item = Block<N>;

    fn next(&mut self) -> Option<Block<N>> {
        let piece = self.pieces.next()?;
        Some(match self.short {
            None => Block {
                offsets: piece.offsets,
                strides: [0; N],
                count: 1,
                steps: piece.steps,
                length: piece.length,
            },
            Some((length, steps)) => Block {
                offsets: piece.offsets,
                strides: piece.steps,
                count: piece.length,
                steps,
                length,
            },
        })
    }
}

/// Runs split into pieces; a separate type, so that it is compiled once rather than for each kernel.
pub(crate) struct Pieces<const N: usize> {
    runs: Runs<N>,
    /// The rest of a run.
    rest: Option<Run<N>>,
    most: usize,
}

impl<const N: usize> Pieces<N> {
    /// The length of the runs, or of their pieces if they are longer.
    pub(crate) fn length(&self) -> usize {
        self.runs.length.min(self.most)
    }
}

impl<const N: usize> Iterator for Pieces<N> {
    type Item = Run<N>;

    fn next(&mut self) -> Option<Run<N>> {
        let mut run = self.rest.take().or_else(|| self.runs.next())?;
        if run.length > self.most {
            self.rest = Some(Run {
                offsets: std::array::from_fn(|i| run.offsets[i] + run.steps[i] * self.most),
                steps: run.steps,
                length: run.length - self.most,
            });
            run.length = self.most;
        }
        Some(run)
    }
}

impl<const N: usize> Iterator for Runs<N> {
    type Item = Run<N>;

    fn next(&mut self) -> Option<Run<N>> {
        self.left = self.left.checked_sub(1)?;
        let run = Run {
            offsets: self.offsets,
            steps: self.steps,
            length: self.length,
        };
        for (position, (size, steps)) in self.position.iter_mut().zip(&self.outer).rev() {
            *position += 1;
            if *position < *size {
                (0..N).for_each(|i| self.offsets[i] += steps[i]);
                break;
            }
            *position = 0;
            (0..N).for_each(|i| self.offsets[i] -= steps[i] * (size - 1));
        }
        Some(run)
    }
}
