//! Products of matrices of `bf16` by the matrix unit of recent Intel processors (AMX).
//!
//! It has eight registers of 16 rows of 64 bytes, and an instruction that multiplies two of them: 16 rows by 32 `bf16` with
//! 32 by 16. Four hold the sums of a block of 32 by 32, two its rows, and two its columns.
//!
//! The `unsafe` here are these instructions, for which the language has no functions yet.

use super::Pair;

/// The sizes of a block of sums.
pub(crate) const ROWS: usize = 32;
pub(crate) const COLUMNS: usize = 32;

/// The pairs of a row that are multiplied by one instruction.
pub(crate) const STEPS: usize = 16;

/// The matrix unit of the processor; only detection makes one.
#[derive(Clone, Copy)]
pub(crate) struct MatrixUnit(());

/// [`ROWS`] rows of pairs, which begin `step` pairs after each other.
#[derive(Clone, Copy)]
pub(crate) struct PairRows<'a> {
    pub(crate) data: &'a [Pair],
    pub(crate) step: usize,
}

impl MatrixUnit {
    /// The unit, if the processor has it, the system lets programs use it, and the level is that of AVX-512.
    pub(crate) fn detect() -> Option<Self> {
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        {
            use std::sync::OnceLock;
            static IS_USABLE: OnceLock<bool> = OnceLock::new();
            let is_high = super::Level::highest().0 == super::Instructions::Avx512;
            (is_high && *IS_USABLE.get_or_init(|| amx::is_there() && amx::ask()))
                .then_some(Self(()))
        }
        #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
        None
    }

    /// `sums[i][j] += Σ rows[i][p] · panel[p][j]`, where the columns of one panel follow those of the panel before it.
    ///
    /// For each [`STEPS`] pairs, the products of the first numbers of pairs, in the order of `p`, and those of the second
    /// numbers are added by fused multiply-adds, and the sum of both is added to the sum so far. Subnormal numbers count as
    /// zero.
    ///
    /// # Panics
    ///
    /// If rows or panels end within `STEPS` pairs, or if there are more columns than sums.
    #[cfg_attr(
        not(all(target_arch = "x86_64", target_os = "linux")),
        allow(unused_variables)
    )]
    pub(crate) fn add_products<const WIDTH: usize>(
        self,
        rows: PairRows<'_>,
        panels: &[[Pair; COLUMNS]],
        depth: usize,
        sums: &mut [[f32; WIDTH]; ROWS],
    ) {
        assert!(
            depth.is_multiple_of(STEPS)
                && rows.data.len() >= (ROWS - 1) * rows.step + depth
                && panels.len().is_multiple_of(depth.max(1))
                && panels.len() * COLUMNS <= depth * WIDTH,
            "rows, panels and sums of a product have other sizes"
        );
        #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
        if depth > 0 {
            // SAFETY: the value of this type says that the processor has the unit, and the sizes were checked.
            unsafe { amx::add_products(rows, panels, depth, sums) }
        }
    }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod amx {
    use std::arch::asm;
    use std::arch::x86_64::__cpuid_count;

    use super::{COLUMNS, PairRows, ROWS, STEPS};
    use crate::simd::Pair;

    /// The rows of a register, and their bytes.
    const HEIGHT: u8 = 16;
    const WIDTH: u16 = 64;

    /// The sizes of all registers, as the processor reads them.
    #[repr(C, align(64))]
    struct Sizes {
        palette: u8,
        start_row: u8,
        reserved: [u8; 14],
        widths: [u16; 16],
        heights: [u8; 16],
    }

    static SIZES: Sizes = Sizes {
        palette: 1,
        start_row: 0,
        reserved: [0; 14],
        widths: [
            WIDTH, WIDTH, WIDTH, WIDTH, WIDTH, WIDTH, WIDTH, WIDTH, 0, 0, 0, 0, 0, 0, 0, 0,
        ],
        heights: [
            HEIGHT, HEIGHT, HEIGHT, HEIGHT, HEIGHT, HEIGHT, HEIGHT, HEIGHT, 0, 0, 0, 0, 0, 0, 0, 0,
        ],
    };

    /// Whether the processor has the registers and the instruction for `bf16`.
    #[allow(unused_unsafe)]
    pub(super) fn is_there() -> bool {
        const BF16: u32 = 1 << 22;
        const REGISTERS: u32 = 1 << 24;
        // SAFETY: processors with AVX-512 have this leaf.
        let features = unsafe { __cpuid_count(7, 0) }.edx;
        features & (BF16 | REGISTERS) == BF16 | REGISTERS
    }

    /// Asks the system for the right to use the registers, which it must save with those of a thread; false if it refuses.
    pub(super) fn ask() -> bool {
        const ARCH_PRCTL: usize = 158;
        const REQUEST_STATE: usize = 0x1023;
        const REGISTERS: usize = 18;
        let result: isize;
        // SAFETY: a call of the system that reads and writes no memory of the program.
        unsafe {
            asm!(
                "syscall",
                inlateout("rax") ARCH_PRCTL => result,
                in("rdi") REQUEST_STATE,
                in("rsi") REGISTERS,
                lateout("rcx") _,
                lateout("r11") _,
                options(nostack),
            );
        }
        result == 0
    }

    /// # Safety
    ///
    /// The processor has the unit, the system lets the program use it, and the sizes are those that
    /// [`add_products`](super::MatrixUnit::add_products) asks for.
    pub(super) unsafe fn add_products<const WIDTH: usize>(
        rows: PairRows<'_>,
        panels: &[[Pair; COLUMNS]],
        depth: usize,
        sums: &mut [[f32; WIDTH]; ROWS],
    ) {
        // SAFETY: the sizes of registers are valid, and the registers are not used for anything else.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const SIZES, options(nostack, readonly)) };
        let sums = sums.as_mut_ptr().cast::<f32>();
        for (i, panel) in panels.chunks_exact(depth).enumerate() {
            // SAFETY: there are at least as many sums in a row as columns in all panels.
            unsafe { add_panel(rows, panel, sums.add(i * COLUMNS), WIDTH) };
        }
        // SAFETY: it leaves the registers as they were before the first instruction.
        unsafe { asm!("tilerelease", options(nostack, nomem)) };
    }

    /// Adds the products of one panel to sums whose rows begin `width` numbers after each other.
    ///
    /// # Safety
    ///
    /// As above; the registers have their sizes, and there are sums for all rows and columns.
    unsafe fn add_panel(
        rows: PairRows<'_>,
        panel: &[[Pair; COLUMNS]],
        sums: *mut f32,
        width: usize,
    ) {
        const LINE: usize = COLUMNS * size_of::<Pair>();
        let row = rows.step * size_of::<Pair>();
        let first = rows.data.as_ptr().cast::<u8>();
        // SAFETY: each step reads 16 pairs of all rows, and 16 lines of the panel, of which there are as many as it says.
        unsafe {
            asm!(
                "tileloadd tmm0, [{sums} + {width}]",
                "tileloadd tmm1, [{sums} + {width} + 64]",
                "tileloadd tmm2, [{lower_sums} + {width}]",
                "tileloadd tmm3, [{lower_sums} + {width} + 64]",
                "2:",
                "tileloadd tmm4, [{upper} + {row}]",
                "tileloadd tmm6, [{panel} + {line}]",
                "tileloadd tmm7, [{panel} + {line} + 64]",
                "tileloadd tmm5, [{lower} + {row}]",
                "tdpbf16ps tmm0, tmm4, tmm6",
                "tdpbf16ps tmm1, tmm4, tmm7",
                "tdpbf16ps tmm2, tmm5, tmm6",
                "tdpbf16ps tmm3, tmm5, tmm7",
                "add {upper}, 64",
                "add {lower}, 64",
                "add {panel}, {lines}",
                "dec {steps}",
                "jnz 2b",
                "tilestored [{sums} + {width}], tmm0",
                "tilestored [{sums} + {width} + 64], tmm1",
                "tilestored [{lower_sums} + {width}], tmm2",
                "tilestored [{lower_sums} + {width} + 64], tmm3",
                upper = inout(reg) first => _,
                lower = inout(reg) first.add(ROWS / 2 * row) => _,
                panel = inout(reg) panel.as_ptr() => _,
                steps = inout(reg) panel.len() / STEPS => _,
                sums = in(reg) sums,
                lower_sums = in(reg) sums.add(ROWS / 2 * width),
                width = in(reg) width * size_of::<f32>(),
                row = in(reg) row,
                line = in(reg) LINE,
                lines = const STEPS * LINE,
                out("tmm0") _, out("tmm1") _, out("tmm2") _, out("tmm3") _,
                out("tmm4") _, out("tmm5") _, out("tmm6") _, out("tmm7") _,
                options(nostack),
            );
        }
    }
}
