//! Invalid arguments of functions of elements and along dimensions, and that errors name the argument.

use super::*;

/// A function of one tensor, as it is called.
type Named = (&'static str, fn(&Tensor) -> Result<Tensor>);

#[test]
fn functions_of_elements_name_themselves_and_the_dtype() {
    let functions: [Named; 9] = [
        ("tan", |x| x.tan()),
        ("asin", |x| x.asin()),
        ("acos", |x| x.acos()),
        ("atan", |x| x.atan()),
        ("sinh", |x| x.sinh()),
        ("cosh", |x| x.cosh()),
        ("log2", |x| x.log2()),
        ("log10", |x| x.log10()),
        ("exp2", |x| x.exp2()),
    ];
    for (name, function) in functions {
        for x in [Tensor::from([1_i64]), Tensor::from([true])] {
            let error = function(&x).unwrap_err().to_string();
            let start = format!("{name}: not available for {}; it needs", x.dtype());
            assert!(error.starts_with(&start), "{error}");
            assert!(error.contains("floating-point"), "{error}");
        }
    }
    let error = Tensor::from([true]).trunc().unwrap_err().to_string();
    assert!(
        error.starts_with("trunc: not available for bool"),
        "{error}"
    );
}

#[test]
fn bounds_and_dimensions_that_do_not_fit_are_named() {
    let x = Tensor::from([1.0_f32, 2.0, 3.0]);
    let (four, wide) = (Tensor::from([0.0_f32; 4]), Tensor::from([0.0_f64; 3]));
    let both = |result: Result<(Tensor, Tensor)>| result.map(|(values, _)| values);
    let cases = [
        (x.clamp(&four, 1.0), ["clamp", "[3]", "[4]"]),
        (x.clamp(0.0, &four), ["clamp", "[3]", "[4]"]),
        (x.clamp(&wide, 1.0), ["clamp", "float32", "float64"]),
        (x.clamp_min(&four), ["maximum", "[3]", "[4]"]),
        (x.clamp_max(&wide), ["minimum", "float32", "float64"]),
        (both(x.cummax(9)), ["cummax", "dimension 9", "[3]"]),
        (both(x.cummin(-2)), ["cummin", "dimension -2", "[3]"]),
        (x.count_nonzero(9), ["count_nonzero", "dimension 9", "[3]"]),
    ];
    for (result, words) in cases {
        let error = result.expect_err(words[1]).to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }
}
