//! The entry point of kernels that combine the elements of lines. Nothing in it is a loop over elements, so that the compiler
//! keeps these in registers.

use crate::elem::Elem;
use crate::lines::{Join, LineCode, Pass, Share};
use crate::recorder::MAX_GROUPS;

impl Join {
    /// The expression that combines two others.
    fn of(self, x: &str, y: &str) -> String {
        match self {
            Self::Sum => format!("({x} + {y})"),
            Self::Greatest => format!("greater({x}, {y})"),
        }
    }

    /// The value that changes nothing.
    fn start(self) -> &'static str {
        match self {
            Self::Sum => "0.0",
            Self::Greatest => "-inf()",
        }
    }

    /// The expression that combines the values of an invocation, one after another.
    fn chain(self, values: &[String]) -> String {
        let joined = values.iter().cloned().reduce(|x, y| self.of(&x, &y));
        joined.unwrap_or_else(|| self.start().to_owned())
    }

    /// The expression that combines those of several invocations in pairs, which rounds less than one after another.
    fn pairs(self, values: &[String]) -> String {
        match values {
            [] => self.start().to_owned(),
            [value] => value.clone(),
            _ => {
                let (low, high) = values.split_at(values.len().div_ceil(2));
                self.of(&self.pairs(low), &self.pairs(high))
            }
        }
    }
}

/// An element that an invocation keeps: the number among its words, and among the elements of that word.
#[derive(Clone, Copy)]
struct Kept {
    word: usize,
    part: usize,
}

impl Kept {
    /// The name of a value that is kept of it.
    fn name(self, value: &str) -> String {
        format!("{value}_{}_{}", self.word, self.part)
    }
}

/// A kernel being written.
struct Writer<'a> {
    code: &'a LineCode,
    share: Share,
    out: Elem,
}

/// The source after the declarations; the numbers of lines are bound from number `binding` on.
pub(crate) fn source(code: &LineCode, share: Share, out: Elem, binding: usize) -> String {
    Writer { code, share, out }.source(binding)
}

impl Writer<'_> {
    fn source(&self, binding: usize) -> String {
        let Share {
            invocations, lines, ..
        } = self.share;
        let all = invocations * lines;
        let mut source = self.code.functions.clone();
        for i in 0..self.code.numbers.len() {
            source.push_str(&format!(
                "@group(0) @binding({}) var<storage, read_write> number_{i}: array<f32>;\n",
                binding + i
            ));
        }
        source.push_str(&format!(
            "
var<workgroup> of_invocations: array<f32, {all}>;
var<workgroup> of_some: array<f32, {all}>;

@compute @workgroup_size({all})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) local: u32) {{
    let given = (group.y * {MAX_GROUPS}u + group.x) * {lines}u + local / {invocations}u;
    // Beyond the last line, invocations compute that line too, and write nothing.
    let is_line = given < $0;
    let o = min(given, $0 - 1u);
    let own = local % {invocations}u;
    let first_own = local - own;
{}",
            self.code.before
        ));
        source.push_str(&self.reads());
        for pass in &self.code.passes {
            source.push_str(&self.pass(pass));
        }
        source.push_str(&self.writes());
        source.push_str("}\n");
        source
    }

    /// The elements that an invocation keeps.
    fn all_kept(&self) -> impl Iterator<Item = Kept> {
        let parts = self.out.per_word();
        (0..self.share.each).flat_map(move |word| (0..parts).map(move |part| Kept { word, part }))
    }

    /// Statements that give names to what the code may read of an element.
    fn names(&self, kept: Kept) -> String {
        let names = ["x", "y"].into_iter().take(self.code.kept.len());
        let values: String = names
            .map(|name| format!(" let {name} = {};", kept.name(name)))
            .collect();
        format!("{}{values}", self.index(kept))
    }

    /// The statement that gives `j` its value.
    fn index(&self, kept: Kept) -> String {
        let (per_word, part) = (self.out.per_word(), kept.part);
        format!("let j = word_{} * {per_word}u + {part}u;", kept.word)
    }

    fn reads(&self) -> String {
        let mut code = String::new();
        for word in 0..self.share.each {
            let at = format!("own + {}u", word * self.share.invocations);
            match self.share.is_whole {
                true => code.push_str(&format!("    let word_{word} = {at};\n")),
                // The last word is read in place of those beyond it.
                false => code.push_str(&format!(
                    "    let is_{word} = {at} < $1;\n    let word_{word} = min({at}, $1 - 1u);\n"
                )),
            }
        }
        for kept in self.all_kept() {
            let names = ["x", "y"].map(|name| kept.name(name));
            let index = self.index(kept);
            for (name, value) in names.iter().zip(&self.code.kept) {
                code.push_str(&format!(
                    "    var {name}: f32;\n    {{ {index} {name} = {value}; }}\n"
                ));
            }
        }
        code
    }

    /// Combines the values of each line: those of an invocation, then those of several invocations, then these.
    fn pass(&self, pass: &Pass) -> String {
        let Pass { name, join, .. } = *pass;
        let invocations = self.share.invocations;
        let mut code = String::new();
        let mut values = Vec::new();
        for kept in self.all_kept() {
            let value = match self.share.is_whole {
                true => pass.value.to_owned(),
                false => format!("select({}, {}, is_{})", join.start(), pass.value, kept.word),
            };
            let own = kept.name(name);
            code.push_str(&format!(
                "    var {own}: f32;\n    {{ {} {own} = {value}; }}\n",
                self.names(kept)
            ));
            values.push(own);
        }
        let some = 1 << (invocations.ilog2() / 2);
        let of_invocations: Vec<String> = (0..invocations / some)
            .map(|i| format!("of_invocations[local + {}u]", i * some))
            .collect();
        let of_some: Vec<String> = (0..some)
            .map(|i| format!("of_some[first_own + {i}u]"))
            .collect();
        // What the next pass writes was read before the second barrier, or is written after its first.
        code.push_str(&format!(
            "    of_invocations[local] = {};
    workgroupBarrier();
    if own < {some}u {{ of_some[local] = {}; }}
    workgroupBarrier();
    let {name} = {};
{}",
            join.chain(&values),
            join.pairs(&of_invocations),
            join.pairs(&of_some),
            pass.after
        ));
        if let Some(value) = pass.kept {
            for kept in self.all_kept() {
                code.push_str(&format!(
                    "    {{ {} {} = {value}; }}\n",
                    self.names(kept),
                    kept.name("x")
                ));
            }
        }
        code
    }

    fn writes(&self) -> String {
        let per_word = self.out.per_word();
        let encoded = self.out.encoded(&format!("({})", self.code.value));
        let mut code = "    if is_line {\n".to_owned();
        let result = 0..self.share.each;
        for word in result.filter(|_| !self.code.value.is_empty()) {
            let is_inside = match self.share.is_whole {
                true => String::new(),
                false => format!("if is_{word} "),
            };
            code.push_str(&format!(
                "        {is_inside}{{\n            var bits = 0u;\n"
            ));
            for part in 0..per_word {
                let names = self.names(Kept { word, part });
                let shift = part * 32 / per_word;
                code.push_str(&format!(
                    "            {{ {names} bits |= {encoded} << {shift}u; }}\n"
                ));
            }
            code.push_str(&format!(
                "            out_memory[o * $1 + word_{word}] = bits;\n        }}\n"
            ));
        }
        if !self.code.numbers.is_empty() {
            code.push_str("        if own == 0u {\n");
            for (i, number) in self.code.numbers.iter().enumerate() {
                code.push_str(&format!("            number_{i}[o] = {number};\n"));
            }
            code.push_str("        }\n");
        }
        code + "    }\n"
    }
}
