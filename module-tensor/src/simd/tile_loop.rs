//! The loop of a tile of a product, for the registers of AVX-512.
//!
//! A tile takes as long as its multiply-adds, two in each cycle, if its other instructions find a place beside them.
//! Where a second thread works on the same core they do not, and the time is that of all instructions. So four steps are
//! one pass of the loop, the addresses of twelve rows take few registers, and half of the rows of a packed factor are read
//! by the multiply-adds themselves, which compilers do not do with a number that is used twice. If all rows were read so,
//! the processor could not keep up.
//!
//! The `unsafe` here are these instructions.

/// The number of rows of a tile.
pub(crate) const ROWS: usize = 12;

/// The steps whose factors of a row lie side by side.
pub(crate) const STEPS: usize = 4;

/// The left factor of a tile.
#[derive(Clone, Copy)]
pub(crate) enum TileRows<'a, T> {
    /// Rows of `depth` elements where they lie, `step` elements apart.
    Apart {
        data: &'a [T],
        step: usize,
        depth: usize,
    },
    /// Packed: [`STEPS`] elements of each row, then the next of each. What the last block has beyond `depth` is not used.
    Packed {
        blocks: &'a [[[T; STEPS]; ROWS]],
        depth: usize,
    },
}

impl<T: Copy> TileRows<'_, T> {
    /// The factor of a row in a step; none after the last.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    pub(super) fn factor(self, row: usize, at: usize) -> Option<T> {
        match self {
            Self::Apart { data, step, depth } if at < depth => data.get(row * step + at).copied(),
            Self::Packed { blocks, depth } if at < depth => {
                let block = blocks.get(at / STEPS)?;
                Some(block[row][at % STEPS])
            }
            _ => None,
        }
    }

    /// The number of steps for which there are factors of all rows.
    #[cfg(target_arch = "x86_64")]
    fn depth(self) -> usize {
        match self {
            Self::Apart { data, step, depth } => {
                let last_row = data.len().checked_sub((ROWS - 1) * step);
                depth.min(last_row.unwrap_or_default())
            }
            Self::Packed { blocks, depth } => depth.min(STEPS * blocks.len()),
        }
    }
}

/// Some columns of a right factor, whose lines are parts of its rows, or those of a panel.
#[derive(Clone, Copy)]
pub(crate) struct Strip<'a, T> {
    /// The elements from the first line on.
    pub(crate) data: &'a [T],
    /// The elements from one line to the next.
    pub(crate) step: usize,
}

#[cfg(target_arch = "x86_64")]
impl<'a, T> Strip<'a, T> {
    /// A line, if all of it is there.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    pub(super) fn line<const COLUMNS: usize>(self, p: usize) -> Option<&'a [T; COLUMNS]> {
        self.data.get(p * self.step..)?.first_chunk()
    }
}

/// The multiply-adds of a row in one step.
#[cfg(target_arch = "x86_64")]
macro_rules! multiply_adds {
    ($s:literal, $factor:expr, $left:literal, $right:literal) => {
        concat!(
            concat!("vfmadd231p", $s, " ", $left, ", zmm24, ", $factor, "\n"),
            concat!("vfmadd231p", $s, " ", $right, ", zmm25, ", $factor, "\n"),
        )
    };
}

/// The same, of a factor that is read into a register first.
#[cfg(target_arch = "x86_64")]
macro_rules! in_register {
    ($s:literal, $at:expr, $factor:literal, $left:literal, $right:literal) => {
        concat!(
            concat!("vbroadcasts", $s, " ", $factor, ", [", $at, "]\n"),
            multiply_adds!($s, $factor, $left, $right),
        )
    };
}

/// The same, of a factor that each multiply-add reads.
#[cfg(target_arch = "x86_64")]
macro_rules! in_memory {
    ($s:literal, $at:expr, $to_all:literal, $left:literal, $right:literal) => {
        multiply_adds!($s, concat!("[", $at, "]", $to_all), $left, $right)
    };
}

/// Reads a line of the strip and asks for a later one.
#[cfg(target_arch = "x86_64")]
macro_rules! line {
    () => {
        "prefetcht0 [{line} + {ahead}]
         prefetcht0 [{line} + {ahead} + 64]
         vmovups zmm24, [{line}]
         vmovups zmm25, [{line} + 64]
         add {line}, {line_step}\n"
    };
}

/// Four rows that lie apart, from the one at an address on.
#[cfg(target_arch = "x86_64")]
macro_rules! four_rows {
    ($s:literal, $at:literal, $offset:expr, $($sums:literal)*) => {
        four_rows!(@ $s, [concat!($at, $offset), concat!($at, " + {row_step}", $offset),
            concat!($at, " + 2 * {row_step}", $offset), concat!($at, " + {three_rows}", $offset)], $($sums)*)
    };
    (@ $s:literal, [$first:expr, $second:expr, $third:expr, $last:expr],
     $s0:literal $s1:literal $s2:literal $s3:literal $s4:literal $s5:literal $s6:literal $s7:literal) => {
        concat!(
            in_register!($s, $first, "zmm26", $s0, $s1),
            in_register!($s, $second, "zmm27", $s2, $s3),
            in_register!($s, $third, "zmm28", $s4, $s5),
            in_register!($s, $last, "zmm29", $s6, $s7),
        )
    };
}

/// A step of rows that lie apart.
#[cfg(target_arch = "x86_64")]
macro_rules! apart_step {
    ($s:literal, $offset:expr) => {
        concat!(
            line!(),
            four_rows!($s, "{a}", $offset, "zmm0" "zmm1" "zmm2" "zmm3" "zmm4" "zmm5" "zmm6" "zmm7"),
            four_rows!($s, "{b}", $offset, "zmm8" "zmm9" "zmm10" "zmm11" "zmm12" "zmm13" "zmm14" "zmm15"),
            four_rows!($s, "{c}", $offset, "zmm16" "zmm17" "zmm18" "zmm19" "zmm20" "zmm21" "zmm22" "zmm23"),
        )
    };
}

/// The address of the factor of a packed row.
#[cfg(target_arch = "x86_64")]
macro_rules! packed {
    ($bytes:literal, $row:literal, $step:literal) => {
        concat!("{a} + ", $bytes, " * (4 * ", $row, " + ", $step, ")")
    };
}

/// A step of packed rows.
#[cfg(target_arch = "x86_64")]
macro_rules! packed_step {
    ($s:literal, $bytes:literal, $to_all:literal, $step:literal) => {
        concat!(
            line!(),
            in_register!($s, packed!($bytes, 0, $step), "zmm26", "zmm0", "zmm1"),
            in_memory!($s, packed!($bytes, 1, $step), $to_all, "zmm2", "zmm3"),
            in_register!($s, packed!($bytes, 2, $step), "zmm27", "zmm4", "zmm5"),
            in_memory!($s, packed!($bytes, 3, $step), $to_all, "zmm6", "zmm7"),
            in_register!($s, packed!($bytes, 4, $step), "zmm28", "zmm8", "zmm9"),
            in_memory!($s, packed!($bytes, 5, $step), $to_all, "zmm10", "zmm11"),
            in_register!($s, packed!($bytes, 6, $step), "zmm29", "zmm12", "zmm13"),
            in_memory!($s, packed!($bytes, 7, $step), $to_all, "zmm14", "zmm15"),
            in_register!($s, packed!($bytes, 8, $step), "zmm30", "zmm16", "zmm17"),
            in_memory!($s, packed!($bytes, 9, $step), $to_all, "zmm18", "zmm19"),
            in_register!($s, packed!($bytes, 10, $step), "zmm31", "zmm20", "zmm21"),
            in_memory!($s, packed!($bytes, 11, $step), $to_all, "zmm22", "zmm23"),
        )
    };
}

/// Runs so many passes of four steps each, which add to the sums in registers.
#[cfg(target_arch = "x86_64")]
macro_rules! passes {
    ([$($step:expr),*], $end:literal, $bytes:literal, $passes:ident, $strip:ident, $ahead:ident, $sums:ident, $($operands:tt)*) => {
        // SAFETY: the processor has the instructions. They read what the factors have for these steps.
        unsafe {
            std::arch::asm!(
                "2:",
                $($step,)*
                $end,
                "dec {passes}",
                "jnz 2b",
                passes = inout(reg) $passes => _,
                line = inout(reg) $strip.data.as_ptr() => _,
                line_step = in(reg) $bytes * $strip.step,
                ahead = in(reg) $bytes * $ahead,
                $($operands)*
                inout("zmm0") $sums[0][0], inout("zmm1") $sums[0][1],
                inout("zmm2") $sums[1][0], inout("zmm3") $sums[1][1],
                inout("zmm4") $sums[2][0], inout("zmm5") $sums[2][1],
                inout("zmm6") $sums[3][0], inout("zmm7") $sums[3][1],
                inout("zmm8") $sums[4][0], inout("zmm9") $sums[4][1],
                inout("zmm10") $sums[5][0], inout("zmm11") $sums[5][1],
                inout("zmm12") $sums[6][0], inout("zmm13") $sums[6][1],
                inout("zmm14") $sums[7][0], inout("zmm15") $sums[7][1],
                inout("zmm16") $sums[8][0], inout("zmm17") $sums[8][1],
                inout("zmm18") $sums[9][0], inout("zmm19") $sums[9][1],
                inout("zmm20") $sums[10][0], inout("zmm21") $sums[10][1],
                inout("zmm22") $sums[11][0], inout("zmm23") $sums[11][1],
                out("zmm24") _, out("zmm25") _, out("zmm26") _, out("zmm27") _,
                out("zmm28") _, out("zmm29") _, out("zmm30") _, out("zmm31") _,
                options(nostack, readonly),
            );
        }
    };
}

/// `sums[i][j] = Σ rows[i][p] · strip[p][j]`, by fused multiply-adds in the order of `p`; `ahead` is how many elements behind a
/// line the strip is asked for what comes later.
macro_rules! sums {
    ($name:ident, $type:ident, $lanes:literal, $register:ident, $zero:ident, $all:ident, $fused:ident, $s:literal, $bytes:literal, $to_all:literal) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f")]
        #[inline]
        pub(super) fn $name(
            rows: TileRows<'_, $type>,
            strip: Strip<'_, $type>,
            ahead: usize,
        ) -> [[std::arch::x86_64::$register; 2]; ROWS] {
            use std::arch::x86_64::{$all, $fused, $register, $zero};
            const COLUMNS: usize = 2 * $lanes;
            let mut sums = [[$zero(); 2]; ROWS];
            // No more steps than either factor has.
            let behind_first = strip.data.len().checked_sub(COLUMNS);
            let lines = behind_first.map_or(0, |len| len / strip.step.max(1) + 1);
            let depth = rows.depth().min(lines);
            let passes = depth / STEPS;
            if passes > 0 {
                match rows {
                    TileRows::Apart { data, step, .. } => {
                        let (a, row_step) = (data.as_ptr(), $bytes * step);
                        passes!(
                            [
                                apart_step!($s, concat!(" + 0 * ", $bytes)),
                                apart_step!($s, concat!(" + 1 * ", $bytes)),
                                apart_step!($s, concat!(" + 2 * ", $bytes)),
                                apart_step!($s, concat!(" + 3 * ", $bytes))
                            ],
                            "add {a}, {pass}
                             add {b}, {pass}
                             add {c}, {pass}",
                            $bytes,
                            passes, strip, ahead, sums,
                            a = inout(reg) a => _,
                            b = inout(reg) a.wrapping_add(4 * step) => _,
                            c = inout(reg) a.wrapping_add(8 * step) => _,
                            row_step = in(reg) row_step,
                            three_rows = in(reg) 3 * row_step,
                            pass = const STEPS * $bytes,
                        );
                    }
                    TileRows::Packed { blocks, .. } => {
                        passes!(
                            [
                                packed_step!($s, $bytes, $to_all, 0),
                                packed_step!($s, $bytes, $to_all, 1),
                                packed_step!($s, $bytes, $to_all, 2),
                                packed_step!($s, $bytes, $to_all, 3)
                            ],
                            "add {a}, {pass}",
                            $bytes,
                            passes, strip, ahead, sums,
                            a = inout(reg) blocks.as_ptr() => _,
                            pass = const ROWS * STEPS * $bytes,
                        );
                    }
                }
            }
            for p in passes * STEPS..depth {
                let Some(line) = strip.line::<COLUMNS>(p) else { break };
                let line: [$register; 2] = bytemuck::cast(*line);
                for i in 0..ROWS {
                    let factor = $all(rows.factor(i, p).unwrap_or_default());
                    sums[i] = [
                        $fused(factor, line[0], sums[i][0]),
                        $fused(factor, line[1], sums[i][1]),
                    ];
                }
            }
            sums
        }
    };
}

sums!(
    sums_f32,
    f32,
    16,
    __m512,
    _mm512_setzero_ps,
    _mm512_set1_ps,
    _mm512_fmadd_ps,
    "s",
    4,
    "{{1to16}}"
);
sums!(
    sums_f64,
    f64,
    8,
    __m512d,
    _mm512_setzero_pd,
    _mm512_set1_pd,
    _mm512_fmadd_pd,
    "d",
    8,
    "{{1to8}}"
);
