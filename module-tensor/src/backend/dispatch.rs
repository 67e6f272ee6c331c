//! The one place where a dtype becomes the Rust type of its elements.

/// Evaluates an expression with `$t` standing for the Rust type of a dtype.
macro_rules! dispatch {
    ($dtype:expr, $t:ident => $body:expr) => {
        $crate::backend::dispatch::types!(
            $dtype, $t => $body;
            F32 f32, F64 f64, F16 half::f16, BF16 half::bf16, I64 i64, I32 i32, U8 u8, Bool bool,
            I8 i8, I16 i16, U16 u16, U32 u32, F8E4M3 $crate::F8E4M3, F8E5M2 $crate::F8E5M2,
            Complex64 $crate::Complex<f32>;
        )
    };
}

/// [`dispatch`] for the dtypes with arithmetic; the others are an error of `$op`.
macro_rules! dispatch_computed {
    ($op:expr, $dtype:expr, $t:ident => $body:expr) => {
        $crate::backend::dispatch::types!(
            $dtype, $t => $body;
            F32 f32, F64 f64, F16 half::f16, BF16 half::bf16, I64 i64, I32 i32, U8 u8, Bool bool;
            other => Err(other.error($op, "another dtype"))
        )
    };
}

/// [`dispatch`] for the dtypes in which elements are moved, inside `by_width` (`cpu/map.rs`).
macro_rules! dispatch_moved {
    ($op:expr, $dtype:expr, $t:ident => $body:expr) => {
        $crate::backend::dispatch::types!(
            $dtype, $t => $body;
            F32 f32, F64 f64, F16 half::f16, BF16 half::bf16, I64 i64, I32 i32, U8 u8, Bool bool,
            Complex64 $crate::Complex<f32>;
            other => Err(other.error($op, "another dtype"))
        )
    };
}

/// The part that the macros above share: each dtype with its type, and the result for the others.
macro_rules! types {
    (
        $dtype:expr, $t:ident => $body:expr; $($variant:ident $type:ty),*;
        $($other:ident => $otherwise:expr)?
    ) => {
        match $dtype {
            $($crate::DType::$variant => {
                type $t = $type;
                $body
            })*
            $($other => $otherwise,)?
        }
    };
}
pub(in crate::backend) use {dispatch, dispatch_computed, dispatch_moved, types};
