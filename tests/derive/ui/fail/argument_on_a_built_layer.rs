//! An argument set on the layer instead of its configuration.

use module_nn::prelude::*;

fn stem() -> Result<Conv2d> {
    Conv2d::new(3, 8, 3).stride(2)
}

fn main() {}
