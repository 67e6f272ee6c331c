//! Special functions at known values.

use super::*;

/// The largest error compared with known values in units in the last place of `f64`, and whether `f32` is as accurate as
/// its digits allow.
#[track_caller]
fn true_to(positions: f64, f: fn(&Tensor) -> Result<Tensor>, known: &[(f64, f64)]) {
    for &(at, value) in known {
        let y = f(&Tensor::from(at)).unwrap().item::<f64>().unwrap();
        let error = (y / value - 1.0).abs();
        assert!(
            error <= positions * f64::EPSILON,
            "{at}: {y} is not {value}"
        );
    }
}

#[test]
fn special_functions_are_true_to_their_last_digits() {
    // From fifty digits.
    true_to(
        4.0,
        Tensor::erfinv,
        &[
            (1e-10, 8.862_269_254_527_58e-11),
            (0.1, 0.088_855_990_494_257_69),
            (0.7, 0.732_869_077_959_216_8),
            (0.700_01, 0.732_884_241_759_906_7),
            (-0.9, -1.163_087_153_676_674_2),
            (0.999_999_999, 4.320_005_388_105_362),
            (1.0 - 1e-12, 5.042_031_898_572_696),
            (1.0 - f64::EPSILON / 2.0, 5.863_584_748_755_168),
        ],
    );
    true_to(
        8.0,
        Tensor::digamma,
        &[
            (1e-3, -1_000.575_571_931_810_3),
            (0.5, -1.963_510_026_021_423_5),
            (3.0, 0.922_784_335_098_467_1),
            (10.5, 2.303_001_034_297_686_4),
            (1e5, 11.512_920_464_961_895),
            (-2.25, 4.158_583_564_657_972),
            (-7.75, -1.030_768_832_830_931_5),
            (-20.5, 3.044_616_882_512_524_6),
        ],
    );
    true_to(
        8.0,
        |x| x.polygamma(1),
        &[
            (1e-3, 1_000_001.642_533_195_8),
            (0.5, 4.934_802_200_544_679),
            (10.5, 0.099_916_956_059_126_73),
            (1e5, 1.000_005_000_016_666_7e-5),
            (-0.5, 8.934_802_200_544_68),
            (-7.75, 19.618_144_334_352_29),
            (-20.5, 9.821_994_344_649_88),
        ],
    );
    true_to(
        32.0,
        |x| x.polygamma(5),
        &[
            (0.5, 7_691.113_548_602_435),
            (3.0, 0.206_167_438_133_896_77),
            (-2.25, 492_231.135_504_470_1),
            (-20.5, 15_382.227_091_345_02),
        ],
    );
    // Far from 0 there is no more work than near it.
    let far = Tensor::from([-1e15 + 0.5, 1e300, f64::INFINITY]);
    let far = far.polygamma(2).unwrap().to_vec::<f64>().unwrap();
    assert!(far.iter().all(|y| y.abs() < 1e-6), "{far:?}");
}
