use super::{Scale, scales};

#[test]
fn only_powers_of_two_become_factors() {
    let all = scales::<f32>(&[1.0, 2.0, 3.0, 4.0, 6.0, 1024.0]);
    let want = [
        Scale::Keep,
        Scale::Times(0.5),
        Scale::Over(3.0),
        Scale::Times(0.25),
        Scale::Over(6.0),
        Scale::Times(1.0 / 1024.0),
    ];
    assert_eq!(all, want);
}
