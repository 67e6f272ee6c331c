//! Patterns for dotted paths.

use indexmap::IndexSet;

use crate::error::suggest;

/// How many patterns the braces of one pattern may expand to.
const ALTERNATIVES: usize = 256;
/// How deep braces may be nested.
const DEPTH: usize = 8;

/// A parsed pattern: the expansions of its braces, each a list of steps.
#[derive(Clone, Debug)]
pub(super) struct Glob {
    text: String,
    alternatives: Vec<Vec<Step>>,
}

#[derive(Clone, Debug)]
enum Step {
    /// `**`: any number of steps.
    Deep,
    One(Vec<GlobToken>),
}

#[derive(Clone, Debug, PartialEq)]
enum GlobToken {
    Letter(char),
    /// `?`
    Any,
    /// `*`
    Run,
    /// `**`
    Deep,
    /// `[a-z_]`, or with `!` everything else.
    Class(bool, Vec<(char, char)>),
    Dot,
}

impl Glob {
    pub(super) fn new(text: &str) -> Result<Self, String> {
        let mut parser = Parser {
            rest: text.chars().collect::<Vec<_>>().into_iter().peekable(),
        };
        let sequences = parser.sequences(0)?;
        let alternatives = sequences.iter().map(|tokens| steps(tokens));
        Ok(Self {
            text: text.to_owned(),
            alternatives: alternatives.collect::<Result<_, _>>()?,
        })
    }

    /// A pattern without wildcards.
    pub(super) fn of_path(path: &str) -> Self {
        let step = |name: &&str| Step::One(name.chars().map(GlobToken::Letter).collect());
        Self {
            text: path.to_owned(),
            alternatives: vec![split(path).iter().map(step).collect()],
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn matches(&self, path: &str) -> bool {
        let path = split(path);
        self.alternatives.iter().any(|steps| fits(steps, &path))
    }

    /// Whether it matches the path or the path of a module that contains it.
    pub(super) fn covers(&self, path: &str) -> bool {
        let path = split(path);
        let prefixes = || {
            (0..=path.len())
                .rev()
                .filter_map(|length| path.get(..length))
        };
        let covers = |steps: &Vec<Step>| prefixes().any(|prefix| fits(steps, prefix));
        self.alternatives.iter().any(covers)
    }

    /// The pattern that this one, which matches nothing, is probably a typo of: the first step without a match is replaced
    /// by a similar name at its position.
    pub(super) fn suggest(&self, paths: &[&str]) -> Option<String> {
        let meant = |(steps, wrong, there): (&Vec<Step>, usize, Vec<&str>)| {
            let Step::One(tokens) = steps.get(wrong)? else {
                return None;
            };
            let name = suggest(&write(tokens)?, there)?;
            let text = |(i, step): (usize, &Step)| match i == wrong {
                true => Some(name.clone()),
                false => step.text(),
            };
            let texts: Option<Vec<String>> = steps.iter().enumerate().map(text).collect();
            Some(texts?.join("."))
        };
        self.mistakes(paths).find_map(meant)
    }

    /// The patterns up to the first step that nothing matches, with each name that is there instead.
    pub(super) fn names(&self, paths: &[&str]) -> Vec<String> {
        let mistake = self.mistakes(paths).next();
        let names = mistake.and_then(|(steps, wrong, there)| {
            let before: Option<Vec<String>> = steps.iter().take(wrong).map(Step::text).collect();
            let before = before?.join(".");
            let name = |name: &str| match before.as_str() {
                "" => name.to_owned(),
                before => format!("{before}.{name}"),
            };
            let names: IndexSet<String> = there.into_iter().map(name).collect();
            Some(names.into_iter().collect())
        });
        names.unwrap_or_default()
    }

    /// The first step of each alternative that nothing matches, by its index, and the names in its place.
    fn mistakes<'a>(
        &'a self,
        paths: &[&'a str],
    ) -> impl Iterator<Item = (&'a Vec<Step>, usize, Vec<&'a str>)> {
        let paths: Vec<Vec<&str>> = paths.iter().map(|path| split(path)).collect();
        self.alternatives.iter().filter_map(move |steps| {
            let reaches = |length: usize| {
                let start = steps.get(..length).unwrap_or_default();
                paths
                    .iter()
                    .filter(move |path| path.get(..length).is_some_and(|path| fits(start, path)))
            };
            let wrong = (0..steps.len()).find(|&i| reaches(i + 1).next().is_none())?;
            let there = reaches(wrong).filter_map(|path| path.get(wrong).copied());
            Some((steps, wrong, there.collect()))
        })
    }
}

impl Step {
    /// As it was written, if it has no classes of letters.
    fn text(&self) -> Option<String> {
        match self {
            Self::Deep => Some("**".to_owned()),
            Self::One(tokens) => write(tokens),
        }
    }
}

/// The steps of a path; the path of the outermost module has none.
fn split(path: &str) -> Vec<&str> {
    path.split('.').filter(|_| !path.is_empty()).collect()
}

fn fits(steps: &[Step], path: &[&str]) -> bool {
    let one = |step: &Step, name: &&str| match step {
        Step::Deep => true,
        Step::One(tokens) => {
            let letters: Vec<char> = name.chars().collect();
            let is_run = |token: &GlobToken| *token == GlobToken::Run;
            match_wildcards(tokens, &letters, is_run, |token, &letter| {
                token.fits(letter)
            })
        }
    };
    match_wildcards(steps, path, |step| matches!(step, Step::Deep), one)
}

/// Whether a pattern matches a whole text, where a run stands for any number of letters.
///
/// Only the last run ever has to be extended by another letter, so the time is at most the product of the two lengths for
/// any pattern.
fn match_wildcards<P, T>(
    pattern: &[P],
    text: &[T],
    is_run: impl Fn(&P) -> bool,
    fits: impl Fn(&P, &T) -> bool,
) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut retry = None;
    while let Some(letter) = text.get(t) {
        match pattern.get(p) {
            Some(token) if is_run(token) => {
                p += 1;
                retry = Some((p, t));
            }
            Some(token) if fits(token, letter) => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((after, from)) = retry else {
                    return false;
                };
                p = after;
                t = from + 1;
                retry = Some((p, t));
            }
        }
    }
    pattern.get(p..).unwrap_or_default().iter().all(is_run)
}

impl GlobToken {
    fn fits(&self, letter: char) -> bool {
        match self {
            Self::Letter(own) => *own == letter,
            Self::Any => true,
            Self::Class(negated, ranges) => {
                let inside = ranges.iter().any(|&(a, b)| (a..=b).contains(&letter));
                inside != *negated
            }
            Self::Run | Self::Deep | Self::Dot => false,
        }
    }
}

/// The text of a step without classes.
fn write(tokens: &[GlobToken]) -> Option<String> {
    let letter = |token: &GlobToken| match token {
        GlobToken::Letter(letter) => Some(*letter),
        GlobToken::Any => Some('?'),
        GlobToken::Run => Some('*'),
        GlobToken::Deep | GlobToken::Class(..) | GlobToken::Dot => None,
    };
    tokens.iter().map(letter).collect()
}

/// Splits at dots.
fn steps(tokens: &[GlobToken]) -> Result<Vec<Step>, String> {
    if tokens.is_empty() {
        return Ok(Vec::new());
    }
    let step = |tokens: &[GlobToken]| match tokens {
        [] => Err("a name is empty; the dots stand between names".to_owned()),
        [GlobToken::Deep] => Ok(Step::Deep),
        _ if tokens.contains(&GlobToken::Deep) => {
            Err("`**` stands alone between dots, as in `encoder.**.weight`".to_owned())
        }
        _ => Ok(Step::One(tokens.to_vec())),
    };
    tokens
        .split(|token| *token == GlobToken::Dot)
        .map(step)
        .collect()
}

struct Parser {
    rest: std::iter::Peekable<std::vec::IntoIter<char>>,
}

impl Parser {
    /// The expansions of the pattern, up to its end or that of the enclosing braces.
    fn sequences(&mut self, depth: usize) -> Result<Vec<Vec<GlobToken>>, String> {
        let mut sequences = vec![Vec::new()];
        while let Some(letter) = self.rest.next_if(|c| depth == 0 || !matches!(c, ',' | '}')) {
            let token = match letter {
                '{' => {
                    let group = self.group(depth + 1)?;
                    if sequences.len().saturating_mul(group.len()) > ALTERNATIVES {
                        return Err(format!(
                            "the braces stand for more than {ALTERNATIVES} patterns"
                        ));
                    }
                    let joined = sequences
                        .iter()
                        .flat_map(|start| group.iter().map(|end| [&start[..], &end[..]].concat()));
                    sequences = joined.collect();
                    continue;
                }
                '}' => return Err("a `}` closes nothing".to_owned()),
                ']' => return Err("a `]` closes nothing".to_owned()),
                '[' => self.class()?,
                '*' if self.rest.next_if_eq(&'*').is_some() => GlobToken::Deep,
                '*' => GlobToken::Run,
                '?' => GlobToken::Any,
                '.' => GlobToken::Dot,
                '\\' => GlobToken::Letter(self.rest.next().ok_or("nothing follows the last `\\`")?),
                letter => GlobToken::Letter(letter),
            };
            sequences.iter_mut().for_each(|s| s.push(token.clone()));
        }
        Ok(sequences)
    }

    /// `a,b}` after its opening brace.
    fn group(&mut self, depth: usize) -> Result<Vec<Vec<GlobToken>>, String> {
        if depth > DEPTH {
            return Err(format!("braces are nested more than {DEPTH} deep"));
        }
        let mut group = Vec::new();
        loop {
            group.append(&mut self.sequences(depth)?);
            if group.len() > ALTERNATIVES {
                return Err(format!(
                    "the braces stand for more than {ALTERNATIVES} patterns"
                ));
            }
            match self.rest.next() {
                Some(',') => {}
                Some(_) => return Ok(group),
                None => return Err("a `{` is not closed".to_owned()),
            }
        }
    }

    /// `a-z]` after its opening bracket; a leading `]` is a letter.
    fn class(&mut self) -> Result<GlobToken, String> {
        let open = || "a `[` is not closed".to_owned();
        let negated = self.rest.next_if(|c| matches!(c, '!' | '^')).is_some();
        let mut ranges = Vec::new();
        loop {
            let first = self.rest.next().ok_or_else(open)?;
            if first == ']' && !ranges.is_empty() {
                return Ok(GlobToken::Class(negated, ranges));
            }
            if self.rest.next_if_eq(&'-').is_none() {
                ranges.push((first, first));
                continue;
            }
            match self.rest.next().ok_or_else(open)? {
                ']' => {
                    ranges.extend([(first, first), ('-', '-')]);
                    return Ok(GlobToken::Class(negated, ranges));
                }
                last if last < first => {
                    return Err(format!("the range `{first}-{last}` runs backwards"));
                }
                last => ranges.push((first, last)),
            }
        }
    }
}
