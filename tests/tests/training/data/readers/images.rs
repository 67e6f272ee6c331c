//! Folders of images.

use super::*;

#[test]
fn folders_of_images_are_listed_and_decoded() {
    let (case, tensors) = recorded();
    let images = &case["images"];
    let root = file("images");
    let dataset = ImageFolder::new(&root).unwrap();
    assert_eq!(json!(dataset.classes()), images["classes"]);
    let relative = |path: &PathBuf| {
        path.strip_prefix(&root)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    };
    let (files, labels): (Vec<_>, Vec<_>) = dataset
        .samples()
        .iter()
        .map(|(p, l)| (relative(p), *l))
        .unzip();
    assert_eq!(
        (json!(files), json!(labels)),
        (images["files"].clone(), images["labels"].clone())
    );
    for (index, name) in files.iter().enumerate() {
        let (image, label) = dataset.get(index).unwrap();
        assert_eq!(label, labels[index]);
        let key = format!("image.{index}");
        if name.ends_with("png") {
            same(&image, &tensors, &key);
            continue;
        }
        // Two decoders of JPEG round differently: the transform back (IDCT) by 1, which the conversion from YCbCr
        // multiplies by up to 1.772. Chroma at half the size is enlarged by the same triangular filter.
        let wide = |x: &Tensor| x.to_dtype(DType::I64).unwrap();
        let expected = tensors.get(&key).unwrap();
        assert_eq!(image.shape(), expected.shape());
        let away = wide(&image).sub(wide(expected)).unwrap().abs().unwrap();
        let most = away.amax(..).unwrap().item::<i64>().unwrap();
        let mean = away
            .to_dtype(DType::F64)
            .unwrap()
            .mean(..)
            .unwrap()
            .item::<f64>()
            .unwrap();
        assert!(
            most <= 3 && mean < 0.5,
            "{name}: {most} away, {mean} on the mean"
        );
    }
    assert!(dataset.get(files.len()).is_err());
}

#[test]
fn folders_and_files_that_hold_no_images_are_refused() {
    let root = std::env::temp_dir().join(format!("readers-{}-folders", std::process::id()));
    let class = root.join("class");
    std::fs::create_dir_all(&class).unwrap();
    let text = |path: &PathBuf| ImageFolder::new(path).unwrap_err().to_string();
    assert!(text(&root).starts_with(&format!(
        "{}: image folder: this class has no files",
        class.display()
    )));
    assert!(text(&class).ends_with("it has no sub-folders, which are the classes"));
    assert!(text(&root.join("none")).starts_with(&root.join("none").display().to_string()));
    let png = bytes("images/dog/b.png");
    let cut = class.join("cut.png");
    std::fs::write(&cut, &png[..png.len() / 2]).unwrap();
    let dataset = ImageFolder::new(&root).unwrap();
    let error = dataset.get(0).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with(&format!("{}: image: ", cut.display())),
        "{error}"
    );
    // A header that claims 65535 x 65535 pixels, with its checksum.
    let mut huge = png;
    huge[16..24].copy_from_slice(&[0, 0, 0xff, 0xff, 0, 0, 0xff, 0xff]);
    huge[29..33].copy_from_slice(&[0x39, 0x67, 0x4e, 0x07]);
    std::fs::write(&cut, &huge).unwrap();
    let error = load_image(&cut).unwrap_err().to_string();
    assert!(error.contains("limit"), "{error}");
    std::fs::write(&cut, b"no picture").unwrap();
    assert!(load_image(&cut).is_err());
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&root, class.join("around")).unwrap();
        assert!(text(&root).contains("form a cycle"));
    }
    std::fs::remove_dir_all(root).unwrap();
}
