//! Elementwise functions of one input: their description for every backend, and the CPU's formulas.

/// The list of operations: a line of documentation, the variant with its numbers, the name in errors, and what the CPU
/// computes from the operand `x`, whose elements have type `T`.
///
/// [`UnaryOp`] is generated from the part before `=>`. The part after it is code for `cpu/unary.rs`, which says what it
/// consists of; nothing else reads it.
macro_rules! unary_ops {
    ($write:ident! $($with:ident)*) => {
        $write! { $($with)* x T;

        /// `-x`
        Neg "neg" => map1(x, T::negate);
        /// `|x|`
        Abs "abs" => map1(x, T::magnitude);
        /// -1, 0 or 1
        Sign "sign" => map1_wide(x, <T as Number>::signum);
        /// `eˣ`
        Exp "exp" => map1_wide(x, exp);
        /// `ln x`
        Log "log" => map1_wide(x, ln);
        /// `√x`
        Sqrt "sqrt" => formula!(x, |v| v.sqrt());
        /// `1/x`
        Reciprocal "reciprocal" => formula!(x, |v| v.recip());
        /// `1/√x`
        Rsqrt "rsqrt" => formula!(x, |v| v.sqrt().recip());
        /// `ln(1 + x)`
        Log1p "log1p" => map1_wide(x, ln_1p);
        /// `eˣ - 1`
        Expm1 "expm1" => map1_wide(x, exp_m1);
        /// `2/√π · ∫₀ˣ e^(-t²) dt`
        Erf "erf" => map1_wide(x, erf);
        /// `1 - erf(x)`
        Erfc "erfc" => map1_wide(x, erfc);
        /// `sin x`
        Sin "sin" => map1_within(x, sin, MOST_TURNED, |v| T::narrowed(v.to_f64().sin()));
        /// `cos x`
        Cos "cos" => map1_within(x, cos, MOST_TURNED, |v| T::narrowed(v.to_f64().cos()));
        /// `tan x`
        Tan "tan" => map1_within(x, tan, MOST_TURNED, |v| T::narrowed(v.to_f64().tan()));
        /// `arcsin x`
        Asin "asin" => map1_wide(x, asin);
        /// `arccos x`
        Acos "acos" => map1_wide(x, acos);
        /// `arctan x`
        Atan "atan" => map1_wide(x, atan);
        /// `sinh x`
        Sinh "sinh" => map1_wide(x, sinh);
        /// `cosh x`
        Cosh "cosh" => map1_wide(x, cosh);
        /// `arsinh x`
        Asinh "asinh" => map1_wide(x, asinh);
        /// `arcosh x`
        Acosh "acosh" => map1_wide(x, acosh);
        /// `artanh x`
        Atanh "atanh" => map1_wide(x, atanh);
        /// `log₂ x`
        Log2 "log2" => map1_wide(x, log2);
        /// `log₁₀ x`
        Log10 "log10" => map1_wide(x, log10);
        /// `2ˣ`
        Exp2 "exp2" => map1_wide(x, exp2);
        /// The inverse of [`Erf`](Self::Erf)
        Erfinv "erfinv" => formula!(x, |v| erfinv_within(v); |v: T| v.abs() > MOST_INVERTED => erfinv);
        /// `ln |Γ(x)|`
        Lgamma "lgamma" => match T::DTYPE {
            DType::F32 => formula!(x, |v| lgamma(v); is_not_positive => libm::lgamma),
            _ => call::<T>(x, libm::lgamma),
        };
        /// The derivative of this order of the digamma function
        Polygamma {
            /// How often the digamma function is differentiated
            order: u32,
        } "polygamma" => match order {
            0 => formula!(x, |v| digamma(v); is_not_positive => special::digamma),
            1 => formula!(x, |v| trigamma(v); is_not_positive => |v| polygamma(1, v)),
            _ => map1(x, move |v: T| polygamma(order, v.to_f64()) as T),
        };
        /// `x` rounded down to an integer
        Floor "floor" => formula!(x, |v| v.floor());
        /// `x` rounded up to an integer
        Ceil "ceil" => formula!(x, |v| v.ceil());
        /// `x` rounded to the nearest integer, ties to even
        Round "round" => formula!(x, |v| v.round_ties_even());
        /// `x` rounded toward 0
        Trunc "trunc" => formula!(x, |v| v.trunc());
        /// `x` minus [`Trunc`](Self::Trunc)
        Frac "frac" => formula!(x, |v| v - v.trunc());
        /// `tanh x`
        Tanh "tanh" => map1_wide(x, tanh);
        /// `1/(1 + e⁻ˣ)`
        Sigmoid "sigmoid" => map1_wide(x, T::sigmoid);
        /// `max(x, 0)`, NaN kept
        // Only values below zero are replaced: -0.0 and NaN stay, as in PyTorch.
        Relu "relu" => formula!(x, |v| if v < 0.0 { 0.0 } else { v });
        /// `x · ½ (1 + erf(x/√2))`
        Gelu "gelu" => formula!(x, |v| gelu(v));
        /// `x · ½ (1 + tanh(√(2/π) (x + 0.044715 x³)))`
        // ½ (1 + tanh u) is 1/(1 + e⁻²ᵘ), which keeps the digits of small values below zero.
        GeluTanh "gelu" => formula!(x, |v| v / (1.0 + exp(-v * (v * v).mul_add(CUBIC, LINEAR))));
        /// `x / (1 + e⁻ˣ)`
        Silu "silu" => formula!(x, |v| v / (1.0 + exp(-v)));
        /// `x tanh(ln(1 + eˣ))`
        Mish "mish" => formula!(x, |v| {
            // With e = eˣ, tanh(ln(1 + e)) = (e² + 2e) / (e² + 2e + 2).
            let e = exp(v.min(20.0));
            let w = e * (e + 2.0);
            if v > 20.0 { v } else { v * (w / (w + 2.0)) }
        });
        /// `x · min(max(x + 3, 0), 6) / 6`
        Hardswish "hardswish" => formula!(x, |v| v * (v + 3.0).clamped([0.0, 6.0]) / 6.0);
        /// `min(max(x + 3, 0), 6) / 6`
        Hardsigmoid "hardsigmoid" => formula!(x, |v| (v + 3.0).clamped([0.0, 6.0]) / 6.0);
        /// `min(max(x, low), high)`, NaN kept
        Clamp {
            /// The lower bound, not NaN
            low: f64,
            /// The upper bound, not NaN
            high: f64,
        } "clamp" => formula!(x, (low = low, high = high) |v| v.clamped([low, high]));
        /// `x - min(max(x, -λ), λ)`
        Softshrink {
            /// `λ`, at least 0
            lambd: f64,
        } "softshrink" => formula!(x, (low = -lambd, high = lambd) |v| v - v.clamped([low, high]));
        /// `x`, with other numbers for NaN and the infinities
        NanToNum {
            /// For NaN
            nan: f64,
            /// For `∞`
            posinf: f64,
            /// For `-∞`
            neginf: f64,
        } "nan_to_num" => formula!(x, (nan = nan, above = posinf, below = neginf) |v| {
            let number = if v == T::INFINITY { above } else { v };
            let number = if v == T::NEG_INFINITY { below } else { number };
            if v.is_nan() { nan } else { number }
        });
        /// The derivative of [`Sigmoid`](Self::Sigmoid), as a function of its result
        SigmoidGrad "sigmoid" => map1(x, |y: T| y * (1.0 - y));
        /// The derivative of [`Tanh`](Self::Tanh), as a function of its result
        TanhGrad "tanh" => map1(x, |y: T| 1.0 - y * y);
        /// The derivative of [`Gelu`](Self::Gelu)
        GeluGrad "gelu" => formula!(x, |v| gelu_grad(v));
        /// The derivative of [`GeluTanh`](Self::GeluTanh)
        GeluTanhGrad "gelu" => formula!(x, |v| {
            let square = v * v;
            let share = 1.0 / (1.0 + exp(-v * square.mul_add(CUBIC, LINEAR)));
            share * (1.0 + v * (1.0 - share) * square.mul_add(3.0 * CUBIC, LINEAR))
        });
        /// The derivative of [`Silu`](Self::Silu)
        SiluGrad "silu" => formula!(x, |v| {
            let share = 1.0 / (1.0 + exp(-v));
            share * (1.0 + v * (1.0 - share))
        });
        /// The derivative of [`Mish`](Self::Mish)
        MishGrad "mish" => formula!(x, |v| {
            let e = exp(v.min(20.0));
            let w = e * (e + 2.0);
            let t = w / (w + 2.0);
            // 1 - t²
            let rest = (1.0 + t) * (2.0 / (w + 2.0));
            if v > 20.0 { 1.0 } else { t + v * (e / (1.0 + e)) * rest }
        });
        /// The derivative of [`Hardswish`](Self::Hardswish)
        HardswishGrad "hardswish" => formula!(x, |v| {
            let inner = if v < 3.0 { v / 3.0 + 0.5 } else { 1.0 };
            if v <= -3.0 { 0.0 } else { inner }
        });
        /// `ln(1 + e^(βx)) / β`, and `x` where `βx` exceeds the threshold
        Softplus {
            /// `β`
            beta: f64,
            /// The value of `βx` above which the result is `x`
            threshold: f64,
        } "softplus" => formula!(x, (beta = beta, threshold = threshold) |v| {
            let scaled = v * beta;
            let log = ln_1p(exp_of_negative(-scaled.abs()));
            if scaled > threshold { v } else { (scaled.max(0.0) + log) / beta }
        });
        /// The derivative of [`Softplus`](Self::Softplus)
        SoftplusGrad {
            /// `β`
            beta: f64,
            /// The value of `βx` above which it is 1
            threshold: f64,
        } "softplus" => formula!(x, (beta = beta, threshold = threshold) |v| {
            let scaled = v * beta;
            let share = T::sigmoid(scaled);
            if scaled > threshold { 1.0 } else { share }
        });
        /// `x` where it is positive, else the slope times `x`
        LeakyRelu {
            /// The slope
            negative_slope: f64,
        } "leaky_relu" => formula!(x, (slope = negative_slope) |v| if v > 0.0 { v } else { v * slope });
        /// The derivative of [`LeakyRelu`](Self::LeakyRelu)
        LeakyReluGrad {
            /// The slope
            negative_slope: f64,
        } "leaky_relu" => formula!(x, (slope = negative_slope) |v| if v > 0.0 { 1.0 } else { slope });
        /// `½ s x²/δ` where `|x| ≤ δ`, else `s (|x| - ½ δ)`
        Huber {
            /// `δ`, above 0
            delta: f64,
            /// `s`
            slope: f64,
            /// `s/δ`
            curvature: f64,
        } "huber_loss" => formula!(x, (delta = delta, half = 0.5 * delta, near = 0.5 * curvature, slope = slope) |v| {
            let distance = v.abs();
            let far = (distance - half) * slope;
            if distance <= delta { v * v * near } else { far }
        });
        /// `λ α (e^(βx) - 1)` where `x` is negative, else `λ x`
        Elu {
            /// `α`
            alpha: f64,
            /// `λ`
            scale: f64,
            /// `β`
            input_scale: f64,
        } "elu" => formula!(x, (below = alpha * scale, above = scale, inner = input_scale) |v| {
            let bent = exp_m1(v * inner);
            if v < 0.0 { bent * below } else { v * above }
        });
        /// The derivative of [`Elu`](Self::Elu), and at 0 that of its left side
        EluGrad {
            /// `α`
            alpha: f64,
            /// `λ`
            scale: f64,
            /// `β`
            input_scale: f64,
        } "elu" => formula!(x, (below = alpha * scale * input_scale, above = scale, inner = input_scale) |v| {
            let bent = exp(v.min(0.0) * inner);
            if v <= 0.0 { bent * below } else { above }
        });
        }
    };
}
pub(in crate::backend) use unary_ops;

/// Generates [`UnaryOp`] from the list.
macro_rules! variants {
    ($x:ident $t:ident; $(
        $(#[$doc:meta])*
        $op:ident $({ $($(#[$about:meta])* $number:ident: $type:ty),* $(,)? })? $name:literal => $kernel:expr;
    )*) => {
        /// Operations on one element; their numbers are rounded to the dtype.
        ///
        /// # Example
        ///
        /// ```
        /// use module_tensor::backend::UnaryOp;
        /// use module_tensor::{Device, Layout, Tensor};
        ///
        /// let backend = Device::cpu().backend();
        /// let (x, factor) = (Tensor::from([4.0, 9.0]), Tensor::from([10.0, 100.0]));
        /// let tensor = |storage| Tensor::from_storage(storage, Layout::contiguous(2.into()));
        /// let root = backend.unary(UnaryOp::Sqrt, x.operand())?;
        /// assert_eq!(tensor(root).to_vec::<f64>()?, [2.0, 3.0]);
        /// let product = backend.unary_times(UnaryOp::Sqrt, x.operand(), factor.operand())?;
        /// assert_eq!(tensor(product).to_vec::<f64>()?, [20.0, 300.0]);
        /// assert_eq!(UnaryOp::Sqrt.name(), "sqrt");
        /// # Ok::<(), module_tensor::Error>(())
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum UnaryOp {
            $($(#[$doc])* $op $({ $($(#[$about])* $number: $type),* })?,)*
        }

        impl UnaryOp {
            /// The name in errors.
            pub fn name(self) -> &'static str {
                match self {
                    Self::Polygamma { order: 0 } => "digamma",
                    $(Self::$op { .. } => $name,)*
                }
            }
        }
    };
}

unary_ops!(variants!);
