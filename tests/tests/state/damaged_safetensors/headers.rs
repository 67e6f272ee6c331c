//! False headers.

use super::*;

#[test]
fn impossible_lengths_of_the_header_are_refused() {
    let scratch = Scratch::directory("damaged-safetensors-length");
    let header = br#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  "#;
    let lengths = [
        0,
        1,
        2,
        7,
        8,
        55,
        57,
        58,
        63,
        64,
        65,
        1000,
        99_999_999,
        100_000_000,
        100_000_001,
        1 << 31,
        1 << 32,
        (1 << 32) + 56,
        1 << 62,
        1 << 63,
        u64::MAX - 8,
        u64::MAX,
    ];
    let files = lengths.map(|length: u64| [&length.to_le_bytes(), &header[..], &[1; 8]].concat());
    refused(&scratch, files);
}

#[test]
fn crafted_headers_are_refused() {
    let scratch = Scratch::directory("damaged-safetensors-crafted");
    let mut headers: Vec<String> = Vec::new();
    // Values that are not an object of tensors.
    for text in [
        "",
        " ",
        "null",
        "true",
        "0",
        "\"a\"",
        "[]",
        "[1]",
        "{",
        "}",
        "{]",
        "{}}",
        "{} {}",
        "{},",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1}",
        "{\"a\":null}",
        "{\"a\":[]}",
        "{\"a\":{}}",
        "{a:{}}",
        "{'a':{}}",
        "{\"a\":\"F32\"}",
        "{\"\\ud800\":{}}",
        "{\"a\\u00zz\":{}}",
        "{\"a\u{0}\":{}}",
        "\u{feff}{}",
        "{/**/}",
        "{\"a\":{\"dtype\":\"F32\"}}",
    ] {
        headers.push(text.to_owned());
    }
    let info = |dtype: &str, shape: &str, offsets: &str| {
        format!(r#"{{"dtype":{dtype},"shape":{shape},"data_offsets":{offsets}}}"#)
    };
    let fine = info("\"F32\"", "[2]", "[0,8]");
    // One error each, where `fine` is correct.
    for dtype in [
        "\"F33\"",
        "\"f32\"",
        "\"\"",
        "\"F32 \"",
        "null",
        "1",
        "[\"F32\"]",
        "\"F64\"",
        "\"F16\"",
        "\"U8\"",
        "\"BOOL\"",
        "\"F8_E4M3\"",
        "\"F8_E5M2\"",
        "\"I16\"",
        "\"I8\"",
        "\"U16\"",
        "\"U64\"",
        "\"C64\"",
        "\"F4\"",
        "\"float32\"",
    ] {
        headers.push(format!(r#"{{"a":{}}}"#, info(dtype, "[2]", "[0,8]")));
    }
    // With the width of `fine`, but a different shape.
    headers.push(format!(r#"{{"a":{}}}"#, info("\"U32\"", "[3]", "[0,8]")));
    headers.push(format!(r#"{{"a":{}}}"#, info("\"C64\"", "[1,2]", "[0,8]")));
    for shape in [
        "null",
        "2",
        "\"2\"",
        "{}",
        "[]",
        "[0]",
        "[1]",
        "[3]",
        "[2,2]",
        "[-2]",
        "[2.0]",
        "[2.5]",
        "[2e0]",
        "[\"2\"]",
        "[null]",
        "[[2]]",
        "[2,]",
        "[,2]",
        "[02]",
        "[18446744073709551616]",
        "[18446744073709551615]",
        "[18446744073709551615,2]",
        "[4294967296,4294967296]",
        "[9223372036854775808,2]",
        "[4611686018427387905]",
        "[2305843009213693954]",
        "[9223372036854775807,0]",
        "[1e400]",
        "[99999999999999999999999999999999]",
        "[0,18446744073709551615,18446744073709551615]",
    ] {
        headers.push(format!(r#"{{"a":{}}}"#, info("\"F32\"", shape, "[0,8]")));
    }
    for offsets in [
        "null",
        "8",
        "[]",
        "[0]",
        "[8]",
        "[0,8,8]",
        "[8,0]",
        "[-8,0]",
        "[0,-8]",
        "[0,7]",
        "[0,9]",
        "[1,9]",
        "[8,16]",
        "[0,16]",
        "[0.0,8.0]",
        "[\"0\",\"8\"]",
        "{}",
        "[0,18446744073709551615]",
        "[18446744073709551608,0]",
        "[18446744073709551615,18446744073709551615]",
        "[18446744073709551608,18446744073709551616]",
        "[0,1e400]",
        "[null,8]",
    ] {
        headers.push(format!(r#"{{"a":{}}}"#, info("\"F32\"", "[2]", offsets)));
    }
    // Keys that stand twice, also as an escape, also with equal descriptions.
    headers.push(format!(r#"{{"a":{fine},"a":{fine}}}"#));
    headers.push(format!(r#"{{"a":{fine},"\u0061":{fine}}}"#));
    let empty = info("\"F32\"", "[0]", "[0,0]");
    headers.push(format!(r#"{{"a":{empty},"a":{fine}}}"#));
    headers.push(format!(
        r#"{{"a":{fine},"a":{}}}"#,
        info("\"F32\"", "[0]", "[8,8]")
    ));
    let metadata = r#""__metadata__":{"format":"pt"}"#;
    headers.push(format!(r#"{{{metadata},"a":{fine},{metadata}}}"#));
    headers.push(format!(r#"{{"__metadata__":null,"a":{fine},{metadata}}}"#));
    headers.push(format!(
        r#"{{"__metadata__":{{"x":"y","x":"y"}},"a":{fine}}}"#
    ));
    for field in [
        r#""dtype":"F32""#,
        r#""shape":[2]"#,
        r#""data_offsets":[0,8]"#,
    ] {
        headers.push(format!(
            r#"{{"a":{}}}"#,
            fine.replace(field, &format!("{field},{field}"))
        ));
        headers.push(format!(
            r#"{{"a":{}}}"#,
            fine.replace(field, r#""other":1"#)
        ));
    }
    // Metadata that is not an object of strings.
    for wrong in [
        "[]",
        "1",
        "\"x\"",
        r#"{"x":1}"#,
        r#"{"x":null}"#,
        r#"{"x":{}}"#,
        r#"{"x":["y"]}"#,
        "true",
    ] {
        headers.push(format!(r#"{{"__metadata__":{wrong},"a":{fine}}}"#));
    }
    // Two tensors that overlap, leave a gap, or take the same bytes.
    for (first, second) in [
        ("[0,4]", "[0,4]"),
        ("[0,4]", "[2,6]"),
        ("[0,4]", "[5,9]"),
        ("[4,8]", "[0,4]x"),
        ("[4,8]", "[8,12]"),
        ("[0,4]", "[8,12]"),
        ("[0,8]", "[4,8]"),
        ("[0,4]", "[3,7]"),
        ("[4,8]", "[4,8]"),
        ("[0,4]", "[4,12]"),
    ] {
        let (first, second) = (
            info("\"F32\"", "[1]", first),
            info("\"F32\"", "[1]", second),
        );
        headers.push(format!(r#"{{"a":{first},"b":{second}}}"#));
    }
    // Deeper than any stack, where values are read and where they are skipped.
    for depth in [200, 100_000] {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        headers.push(format!(r#"{{"a":{open}{close}}}"#));
        headers.push(format!(
            r#"{{"a":{}}}"#,
            info("\"F32\"", &format!("{open}2{close}"), "[0,8]")
        ));
        headers.push(format!(r#"{{"a":{}}}"#, info("\"F32\"", "[2]", &open)));
        headers.push(format!(r#"{{"__metadata__":{open}{close},"a":{fine}}}"#));
        headers.push(r#"{"a":"#.repeat(depth));
        headers.push(format!("{}{}", r#"{"a":"#.repeat(depth), "}".repeat(depth)));
        headers.push(format!(r#"{{"a":{{"x":{open},{}"#, &fine[1..]));
    }
    // Long numbers, names and shapes.
    let digits = "9".repeat(100_000);
    headers.push(format!(
        r#"{{"a":{}}}"#,
        info("\"F32\"", &format!("[{digits}]"), "[0,8]")
    ));
    headers.push(format!(
        r#"{{"a":{}}}"#,
        info("\"F32\"", "[2]", &format!("[0,{digits}]"))
    ));
    headers.push(format!(
        r#"{{"a":{}}}"#,
        info("\"F32\"", "[2]", &format!("[0,0.{digits}e{digits}]"))
    ));
    headers.push(format!(
        r#"{{"a":{}}}"#,
        info(&format!("\"{digits}\""), "[2]", "[0,8]")
    ));
    headers.push(format!(
        r#"{{"a":{}}}"#,
        info("\"F32\"", &format!("[{}2]", "2,".repeat(50_000)), "[0,8]")
    ));
    // Ties alone.
    headers.push(r#"{"__metadata__":{"format":"pt","a":"b"}}"#.to_owned());
    headers.push(r#"{"__metadata__":{"a":"a"}}"#.to_owned());

    let files = headers.iter().map(|header| with_header(header, 8));
    let number = refused(&scratch, files);
    assert!(number > 130, "{number}");

    // Text that is not UTF-8, in a key, in a value, and where nothing reads it.
    let text = format!(
        r#"{{"a?":{{"x":"?",{},"__metadata__":{{"x?":"?"}}}}"#,
        &fine[1..]
    );
    let places = text.bytes().enumerate().filter(|(_, byte)| *byte == b'?');
    let files = places.flat_map(|(place, _)| {
        [0x80, 0xC0, 0xE0, 0xED, 0xF8, 0xFF].map(|byte| {
            let mut header = text.clone().into_bytes();
            header[place] = byte;
            with_header(header, 8)
        })
    });
    assert_eq!(refused(&scratch, files), 24);
}
