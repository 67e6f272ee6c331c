//! Tests of selections.
#![allow(clippy::unwrap_used)]

use super::Select;

const PATHS: [&str; 9] = [
    "scale",
    "encoder.0.weight",
    "encoder.0.bias",
    "encoder.10.weight",
    "encoder.10.norm.weight",
    "encoder.10.norm.running_mean",
    "head.fc1.weight",
    "head.fc2.weight",
    "head.fc2.bias",
];

#[track_caller]
fn assert_covered(select: impl Into<Select>, expected: &[&str]) {
    assert_eq!(select.into().resolve(PATHS).unwrap(), expected);
}

#[track_caller]
fn assert_fails(select: impl Into<Select>, expected: &str) {
    let error = select.into().resolve(PATHS).unwrap_err();
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_star_stays_in_its_name_and_two_cross_names() {
    let covered = [
        ("scale", vec!["scale"]),
        ("*", PATHS.to_vec()),
        ("**", PATHS.to_vec()),
        ("", PATHS.to_vec()),
        ("encoder", PATHS[1..6].to_vec()),
        ("encoder.*", PATHS[1..6].to_vec()),
        ("enc*", PATHS[1..6].to_vec()),
        ("encoder.?", PATHS[1..3].to_vec()),
        ("encoder.1*", PATHS[3..6].to_vec()),
        ("**.norm", PATHS[4..6].to_vec()),
        ("encoder.**.weight", vec![PATHS[1], PATHS[3], PATHS[4]]),
        ("*.*.weight", vec![PATHS[1], PATHS[3], PATHS[6], PATHS[7]]),
        ("head.fc[2-3].{weight,bias}", PATHS[7..9].to_vec()),
        ("head.fc[!2]", vec![PATHS[6]]),
        ("{head.fc1,scale}", vec![PATHS[0], PATHS[6]]),
        ("head{,.fc2}.bias", vec![PATHS[8]]),
        ("**.**.**.bias", vec![PATHS[2], PATHS[8]]),
    ];
    for (pattern, expected) in covered {
        assert_eq!(
            Select::from(pattern).resolve(PATHS).unwrap(),
            expected,
            "{pattern}"
        );
    }
}

#[test]
fn a_module_is_selected_by_its_own_path_only() {
    let modules = ["", "layer3", "layer3.0", "layer3.0.conv", "layer30"];
    let select = |pattern: &str| Select::from(pattern).resolve_modules(modules).unwrap();
    assert_eq!(select("layer3.*"), ["layer3.0"]);
    assert_eq!(select("layer3.**"), ["layer3", "layer3.0", "layer3.0.conv"]);
    assert_eq!(select(""), [""]);
    assert_eq!(select("**"), modules);
    assert_eq!(select("*"), ["layer3", "layer30"]);
    assert!(Select::path("layer3").matches("layer3"));
    assert!(!Select::path("layer3").covers("layer30"));
}

#[test]
fn rules_combine_and_exclusion_wins() {
    assert_covered(["scale", "head.fc1"], &["scale", "head.fc1.weight"]);
    assert_covered(vec!["scale".to_owned()], &["scale"]);
    assert_covered(
        Select::from("head").exclude("**.bias").or("scale"),
        &["scale", "head.fc1.weight", "head.fc2.weight"],
    );
    assert_covered(Select::all().exclude(["encoder", "head"]), &["scale"]);
    assert_covered(
        Select::regex(r"fc\d\.").unwrap().and("**.bias"),
        &["head.fc2.bias"],
    );
    assert_covered(Select::regex("^head$").unwrap(), &PATHS[6..]);
    assert_covered(Select::none(), &[]);
    // A predicate about the enclosing module would let this one cover the biases too.
    assert_covered(
        Select::by(|path| !path.ends_with("bias")).and("head"),
        &["head.fc1.weight", "head.fc2.weight"],
    );
}

#[test]
fn what_selects_nothing_is_an_error_with_the_nearest_name() {
    let meant = |a, b| format!("`{a}` selects nothing; did you mean `{b}`?");
    assert_fails("encodr", &meant("encodr", "encoder"));
    assert_fails(
        "encoder.*.wieght",
        &meant("encoder.*.wieght", "encoder.*.weight"),
    );
    assert_fails("hed.fc?.bias", &meant("hed.fc?.bias", "head.fc?.bias"));
    assert_fails(
        Select::path("head.fc1.wight"),
        &meant("head.fc1.wight", "head.fc1.weight"),
    );
    // Without such a name, those that are there.
    let all = "there are `scale`, `encoder`, `head`";
    assert_fails(
        "optimizer.**",
        &format!("`optimizer.**` selects nothing; {all}"),
    );
    assert_fails(
        Select::path("neck"),
        &format!("`neck` selects nothing; {all}"),
    );
    assert_fails(
        "encoder.3.weight",
        "`encoder.3.weight` selects nothing; there are `encoder.0`, `encoder.10`",
    );
    let layers: Vec<String> = (0..10).map(|layer| format!("layers.{layer}")).collect();
    let error = Select::from("layers.x").resolve_modules(layers.iter().map(String::as_str));
    let shown: Vec<String> = layers[..8]
        .iter()
        .map(|layer| format!("`{layer}`"))
        .collect();
    assert_eq!(
        error.unwrap_err().to_string(),
        format!(
            "`layers.x` selects nothing; there are {}, and 2 more",
            shown.join(", ")
        )
    );
    // Each of several patterns counts, so that none is overlooked.
    assert_fails(["scale", "hed"], &meant("hed", "head"));
    assert_fails(
        Select::from("scale").exclude("*"),
        "`scale except *` selects nothing",
    );
    assert_fails(Select::by(|_| false), "`a predicate` selects nothing");
}

#[test]
fn what_is_no_pattern_is_an_error_that_quotes_it() {
    let bad = [
        ("a..b", "a name is empty; the dots stand between names"),
        (".a", "a name is empty; the dots stand between names"),
        (
            "a**",
            "`**` stands alone between dots, as in `encoder.**.weight`",
        ),
        ("a.[bc", "a `[` is not closed"),
        ("a.[c-b]", "the range `c-b` runs backwards"),
        ("{a,b", "a `{` is not closed"),
        ("a}", "a `}` closes nothing"),
        ("a]", "a `]` closes nothing"),
        ("a\\", "nothing follows the last `\\`"),
        (
            "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}",
            "the braces stand for more than 256 patterns",
        ),
        ("{{{{{{{{{a}}}}}}}}}", "braces are nested more than 8 deep"),
    ];
    for (pattern, problem) in bad {
        let expected = format!("pattern `{pattern}`: {problem}");
        assert_eq!(Select::glob(pattern).unwrap_err().to_string(), expected);
        assert_fails(Select::from("scale").exclude(pattern), &expected);
    }
    let error = Select::regex("a(").unwrap_err().to_string();
    assert!(error.starts_with("pattern `a(`: "), "{error}");
}

#[test]
fn no_pattern_takes_long() {
    let pattern = "*a".repeat(500) + "b";
    assert!(!Select::from(pattern.as_str()).covers(&"a".repeat(5000)));
    let deep = "**.a.".repeat(200) + "b";
    assert!(!Select::from(deep.as_str()).matches(&vec!["a"; 2000].join(".")));
}

#[test]
fn no_text_makes_a_pattern_panic() {
    let letters: Vec<char> = "ab.*?[]{},-!^\\é0".chars().collect();
    let mut state = 1_u64;
    let mut next = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % below
    };
    let mut good = 0;
    for _ in 0..20_000 {
        let pattern: String = (0..next(12))
            .map(|_| letters[next(letters.len())])
            .collect();
        let select = Select::from(pattern.as_str());
        good += usize::from(select.check().is_ok());
        // A selection of tensors includes that of modules.
        for path in ["", "a", "a.b", "b.a.0", "é.ab"] {
            assert!(
                select.covers(path) || !select.matches(path),
                "{pattern} {path}"
            );
        }
        let _ = select.resolve(["a.b", "ab"]);
    }
    assert!(good > 1000);
}
