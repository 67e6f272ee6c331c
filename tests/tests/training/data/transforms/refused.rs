//! Wrong arguments of transforms.

use super::*;

#[test]
fn transforms_refuse_unsuitable_inputs() {
    let image = Tensor::zeros([3, 4, 5], DType::U8).unwrap();
    let text = |result: Result<Tensor>| result.unwrap_err().to_string();
    let integers = image.to_dtype(DType::I64).unwrap();
    assert_eq!(
        text(f::invert(&integers)),
        "invert: image.dtype = int64: must be uint8, float32 or float64; cast it first"
    );
    assert!(f::horizontal_flip(&Tensor::zeros([4, 5], DType::U8).unwrap()).is_err());
    let two = Tensor::zeros([2, 4, 5], DType::U8).unwrap();
    assert!(text(f::adjust_hue(&two, 0.1)).contains("1 or 3 channels"));
    for factor in [-0.1, f64::NAN, f64::INFINITY] {
        assert!(f::adjust_brightness(&image, factor).is_err());
        assert!(f::adjust_contrast(&image, factor).is_err());
        assert!(f::adjust_saturation(&image, factor).is_err());
        assert!(f::adjust_sharpness(&image, factor).is_err());
    }
    assert!(f::adjust_hue(&image, 0.51).is_err());
    assert!(f::solarize(&image, 255.5).is_err());
    assert!(f::posterize(&image, 9).is_err());
    assert!(f::resize(&image, [0, 3], ResizeMode::Nearest).is_err());
    assert!(f::pad(&image, [1; 4], &[1.0, 2.0], PaddingMode::Constant).is_err());
    assert!(f::pad(&image, [1; 4], &[1.0], PaddingMode::Edge).is_err());
    assert!(f::pad(&image, [6, 0, 0, 0], &[], PaddingMode::Symmetric).is_err());
    assert!(f::erase(&image, [3, 0], [2, 1], &Tensor::from(0_u8)).is_err());
    assert!(f::normalize(&image, &[0.0], &[1.0]).is_err());
    assert!(f::rotate(&image, f64::NAN, &RotateOptions::new()).is_err());
    assert!(f::affine(&image, &AffineOptions::new().scale(0.0)).is_err());
    assert!(f::affine(&image, &AffineOptions::new().fill(vec![0.0; 2])).is_err());
    assert!(Normalize::new([0.0], [1.0, 0.0]).is_err());
    assert!(RandomHorizontalFlip::with_probability(1.5).is_err());
    assert!(RandomCropConfig::new([0, 2]).build().is_err());
    let crop = RandomCropConfig::new([5, 5]).build().unwrap();
    assert!(text(crop.apply(&image)).contains("set `pad_if_needed`"));
    assert!(
        RandomResizedCropConfig::new([2, 2])
            .scale([0.5, 0.1])
            .build()
            .is_err()
    );
    assert!(RandomRotationConfig::new([10.0, -10.0]).build().is_err());
    assert!(
        RandomAffineConfig::new([0.0; 2])
            .translate([1.5, 0.0])
            .build()
            .is_err()
    );
    assert!(
        RandomAffineConfig::new([0.0; 2])
            .shear_y([0.0, 1.0])
            .build()
            .is_err()
    );
    assert!(
        ColorJitterConfig::new()
            .contrast([-0.1, 1.0])
            .build()
            .is_err()
    );
    assert!(
        RandomErasingConfig::new()
            .value(Vec::new())
            .build()
            .is_err()
    );
    assert!(
        RandAugmentConfig::new()
            .num_magnitude_bins(1)
            .build()
            .is_err()
    );
    assert!(MixUp::new(0.0, 3).is_err() && CutMix::new(1.0, 0).is_err());
    let (x, y) = (
        Tensor::zeros([2, 3, 4, 5], DType::F32).unwrap(),
        Tensor::zeros([3, 2], DType::F32).unwrap(),
    );
    assert!(mixup(&x, &y, 0.5).is_err());
    assert!(cutmix(&x, &y.narrow(0, 0..2).unwrap(), [0, 0], [5, 5]).is_err());
    assert!(
        MixUp::new(1.0, 3)
            .unwrap()
            .apply(&x, &Tensor::from([0_i64, 3]))
            .is_err()
    );
}

#[test]
fn a_kernel_that_has_no_middle_is_refused() {
    let image = Tensor::from([[[0_u8, 0, 240, 0, 0]]]);
    let blurred = f::gaussian_blur(&image, [3, 1], [1e9, 1.0]).unwrap();
    assert_eq!(blurred.to_vec::<u8>().unwrap(), [0, 80, 80, 80, 0]);
    let error = |size, sigma| {
        f::gaussian_blur(&image, size, sigma)
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        error([2, 1], [1.0, 1.0]),
        "gaussian_blur: kernel_size = [2, 1]: must be odd"
    );
    assert_eq!(
        error([3, 1], [0.0, 1.0]),
        "gaussian_blur: sigma = [0.0, 1.0]: must be finite and above 0"
    );
    f::gaussian_blur(&image, [1, 3], [1.0, 1.0]).unwrap_err();
    assert!(GaussianBlurConfig::new([3, 4]).build().is_err());
    let falls = GaussianBlurConfig::new([3, 3]).sigma([2.0, 1.0]);
    assert!(falls.build().is_err());
    let blur = GaussianBlur::new([3, 3]).unwrap();
    let image = Tensor::full([3, 8, 8], 7, DType::U8).unwrap();
    assert!(blur.apply(&image).unwrap().equal(&image).unwrap());
}
