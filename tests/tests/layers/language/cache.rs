//! Cached keys and values.

use module_nn::prelude::*;

fn part(length: usize, first: f32) -> Tensor {
    let count = 2 * 3 * length * 2;
    let values = (0..count).map(|i| first + i as f32).collect();
    Tensor::from_vec(values, [2, 3, length, 2]).unwrap()
}

fn appended(cache: &mut KeyValueCache, x: &Tensor) -> (Tensor, Tensor) {
    cache.append(x.clone(), x.neg().unwrap()).unwrap()
}

#[test]
fn what_is_appended_stands_behind_what_there_was() {
    for mut cache in [
        KeyValueCache::new(),
        KeyValueCache::with_capacity(3),
        KeyValueCache::with_capacity(30),
    ] {
        assert!(cache.is_empty() && cache.key().is_none());
        let mut all = Vec::new();
        for (i, length) in [3, 1, 1, 4, 1].into_iter().enumerate() {
            let x = part(length, 100.0 * i as f32);
            all.push(x.clone());
            let (key, value) = appended(&mut cache, &x);
            let expected = Tensor::cat(&all, 2).unwrap();
            assert!(key.equal(&expected).unwrap());
            assert!(value.neg().unwrap().equal(&expected).unwrap());
            assert!(cache.key().unwrap().equal(&expected).unwrap());
        }
        assert_eq!((cache.len(), cache.kept()), (10, 10));
    }
}

#[test]
fn an_element_is_written_where_there_is_room_and_all_else_stays_in_place() {
    let mut cache = KeyValueCache::with_capacity(64);
    appended(&mut cache, &part(4, 0.0));
    // The address of the elements: their handle changes with each write.
    let address = |cache: &KeyValueCache| {
        let head = cache.key().unwrap().select(0, 0).unwrap();
        let head = head.select(0, 0).unwrap();
        head.as_le_bytes().unwrap().as_ptr()
    };
    let before = address(&cache);
    for i in 0..60 {
        appended(&mut cache, &part(1, i as f32));
        assert_eq!(address(&cache), before, "{i}");
    }
    // The capacity is exhausted, so it doubles.
    appended(&mut cache, &part(1, 0.0));
    let after = address(&cache);
    assert_ne!(after, before);
    for i in 0..60 {
        appended(&mut cache, &part(1, i as f32));
        assert_eq!(address(&cache), after, "{i}");
    }
}

#[test]
fn a_clone_and_a_view_stay_as_they_are() {
    let mut cache = KeyValueCache::with_capacity(16);
    let (view, _) = appended(&mut cache, &part(2, 0.0));
    let (kept, values) = (cache.clone(), view.to_vec::<f32>().unwrap());
    appended(&mut cache, &part(1, 50.0));
    let mut other = kept.clone();
    appended(&mut other, &part(1, 70.0));
    assert_eq!(view.to_vec::<f32>().unwrap(), values);
    assert_eq!(kept.key().unwrap().to_vec::<f32>().unwrap(), values);
    assert!(!cache.key().unwrap().equal(&other.key().unwrap()).unwrap());
    let back = cache.truncate(2).unwrap();
    drop(cache);
    assert_eq!(back.key().unwrap().to_vec::<f32>().unwrap(), values);
}

#[test]
fn a_window_keeps_what_the_next_element_sees() {
    let mut cache = KeyValueCache::new().sliding_window(3);
    let mut all = Vec::new();
    for (i, length) in [5, 1, 1, 2, 1, 1, 1, 1].into_iter().enumerate() {
        let x = part(length, 100.0 * i as f32);
        let seen = cache.kept() + length;
        all.push(x.clone());
        let (key, _) = appended(&mut cache, &x);
        let whole = Tensor::cat(&all, 2).unwrap();
        let total = whole.size(2).unwrap();
        assert!(
            key.equal(&whole.narrow(2, total - seen..total).unwrap())
                .unwrap()
        );
        assert_eq!((cache.len(), cache.kept()), (total, 2));
    }
    let error = cache.truncate(9).unwrap_err().to_string();
    assert!(error.contains("have left the window"), "{error}");
    assert_eq!(cache.truncate(13).unwrap().len(), 13);
}

#[test]
fn a_state_that_does_not_fit_is_refused_and_changes_nothing() {
    let mut cache = KeyValueCache::with_capacity(8);
    appended(&mut cache, &part(2, 0.0));
    let before = cache.key().unwrap().to_vec::<f32>().unwrap();
    let zeros = |shape: [usize; 4], dtype| Tensor::zeros(shape, dtype).unwrap();
    for (key, value, expected) in [
        (
            zeros([1, 3, 1, 2], DType::F32),
            zeros([1, 3, 1, 2], DType::F32),
            "[2, 3, length, 2]",
        ),
        (
            zeros([2, 3, 1, 2], DType::F32),
            zeros([2, 3, 2, 2], DType::F32),
            "[2, 3, 2, 2]",
        ),
        (
            zeros([2, 3, 1, 2], DType::F64),
            zeros([2, 3, 1, 2], DType::F64),
            "float64",
        ),
    ] {
        let error = cache.append(key, value).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(cache.key().unwrap().to_vec::<f32>().unwrap(), before);
    assert_eq!(cache.len(), 2);
}

#[test]
fn what_does_not_fit_into_memory_leaves_it_as_it_was() {
    for mut cache in [
        KeyValueCache::new(),
        KeyValueCache::with_capacity(8),
        KeyValueCache::new().sliding_window(2),
    ] {
        appended(&mut cache, &part(3, 0.0));
        let state = |cache: &KeyValueCache| {
            let values = [cache.key(), cache.value()].map(|x| x.unwrap().to_vec::<f32>().unwrap());
            (values, cache.len(), cache.kept())
        };
        let before = state(&cache);
        // All its elements are the same one, and a copy would need petabytes.
        let huge = part(1, 0.0).expand([2, 3, 1_isize << 50, 2]).unwrap();
        assert!(cache.append(huge.clone(), huge).is_err());
        assert_eq!(state(&cache), before);
        let (key, _) = appended(&mut cache, &part(1, 5.0));
        assert_eq!(key.size(2).unwrap(), before.2 + 1);
        assert_eq!(cache.len(), 4);
    }
}
