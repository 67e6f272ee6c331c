//! Elementwise operations and logic.

use super::*;

#[test]
fn elementwise() {
    type Unary = (&'static str, fn(&Tensor) -> Result<Tensor>);
    let unary: &[Unary] = &[
        ("log1p", Tensor::log1p),
        ("expm1", Tensor::expm1),
        ("erf", Tensor::erf),
        ("sin", Tensor::sin),
        ("cos", Tensor::cos),
        ("floor", Tensor::floor),
        ("ceil", Tensor::ceil),
        ("round", Tensor::round),
        ("square", Tensor::square),
        ("silu", Tensor::silu),
        ("neg", Tensor::neg),
        ("abs", Tensor::abs),
        ("sign", Tensor::sign),
        ("exp", Tensor::exp),
        ("log", Tensor::log),
        ("sqrt", Tensor::sqrt),
        ("rsqrt", Tensor::rsqrt),
        ("reciprocal", Tensor::reciprocal),
        ("relu", Tensor::relu),
        ("sigmoid", Tensor::sigmoid),
        ("tanh", Tensor::tanh),
        ("contiguous", Tensor::contiguous),
        ("zeros_like", Tensor::zeros_like),
    ];
    for (name, op) in unary {
        fuzz(name, |d| op(&d.maybe_huge()));
    }
    type Binary = (&'static str, fn(&Tensor, Value<'_>) -> Result<Tensor>);
    let binary: &[Binary] = &[
        ("add", |x, y| x.add(y)),
        ("sub", |x, y| x.sub(y)),
        ("mul", |x, y| x.mul(y)),
        ("div", |x, y| x.div(y)),
        ("maximum", |x, y| x.maximum(y)),
        ("minimum", |x, y| x.minimum(y)),
        ("eq", |x, y| x.eq(y)),
        ("ne", |x, y| x.ne(y)),
        ("lt", |x, y| x.lt(y)),
        ("le", |x, y| x.le(y)),
        ("gt", |x, y| x.gt(y)),
        ("ge", |x, y| x.ge(y)),
    ];
    for (name, op) in binary {
        fuzz(name, |d| {
            let x = d.maybe_huge();
            let y = d.value(&x);
            op(&x, y)
        });
    }
    fuzz("pow", |d| {
        let x = d.maybe_huge();
        x.pow(d.number())
    });
    fuzz("gelu", |d| {
        let x = d.maybe_huge();
        x.gelu(d.of(&[Approximate::None, Approximate::Tanh]))
    });
    fuzz("softplus", |d| {
        let x = d.maybe_huge();
        x.softplus(d.number(), d.number())
    });
    fuzz("leaky_relu", |d| {
        let x = d.maybe_huge();
        x.leaky_relu(d.number())
    });
    fuzz("elu", |d| {
        let x = d.maybe_huge();
        x.elu(d.number())
    });
    fuzz("clamp", |d| {
        let x = d.maybe_huge();
        let (low, high) = (d.scalar(), d.scalar());
        match d.below(3) {
            0 => x.clamp_min(low),
            1 => x.clamp_max(high),
            _ => x.clamp(low, high),
        }
    });
    fuzz("where", |d| {
        let x = d.maybe_huge();
        let condition = d.like(&x);
        let condition = if d.often() {
            condition.to_dtype(DType::Bool)?
        } else {
            condition
        };
        condition.where_(&x, d.like(&x))
    });
    fuzz("to_dtype", |d| {
        let x = d.maybe_huge();
        x.to_dtype(d.of(&DType::ALL))
    });
    fuzz("dropout", |d| {
        let x = d.maybe_huge();
        x.dropout(d.number().abs() / 5.0)
    });
    fuzz("full_like", |d| {
        let x = d.maybe_huge();
        x.full_like(d.scalar())
    });
}

#[test]
fn logic() {
    type Unary = (&'static str, fn(&Tensor) -> Result<Tensor>);
    let unary: &[Unary] = &[
        ("logical_not", Tensor::logical_not),
        ("isnan", Tensor::isnan),
        ("isinf", Tensor::isinf),
        ("isfinite", Tensor::isfinite),
    ];
    for (name, op) in unary {
        fuzz(name, |d| op(&d.maybe_huge()));
    }
    type Binary = (&'static str, fn(&Tensor, &Tensor) -> Result<Tensor>);
    let binary: &[Binary] = &[
        ("logical_and", Tensor::logical_and),
        ("logical_or", Tensor::logical_or),
        ("logical_xor", Tensor::logical_xor),
    ];
    for (name, op) in binary {
        fuzz(name, |d| {
            let x = d.maybe_huge();
            op(&x, &d.like(&x))
        });
    }
    let mask = |d: &mut Draw, x: &Tensor| {
        let mask = d.like(x);
        if d.often() {
            mask.to_dtype(DType::Bool).unwrap_or(mask)
        } else {
            mask
        }
    };
    fuzz("masked_fill", |d| {
        let x = d.maybe_huge();
        x.masked_fill(&mask(d, &x), d.scalar())
    });
    fuzz("masked_select", |d| {
        let x = d.maybe_huge();
        x.masked_select(&mask(d, &x))
    });
}
