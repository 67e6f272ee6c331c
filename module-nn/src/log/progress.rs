use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Progress bars of epochs, on standard error if it is a terminal; otherwise nothing is shown.
///
/// A bar shows the name of the epoch, the batches done and in total, batches per second, the remaining time, and the latest
/// values given to [`show`](Self::show).
///
/// # Example
///
/// ```
/// use module_nn::data::DataLoaderConfig;
/// use module_nn::log::Progress;
/// use module_nn::prelude::*;
///
/// let loader = DataLoaderConfig::new().batch_size(4).build((0..10).collect::<Vec<i64>>())?;
/// let progress = Progress::new();
/// for batch in progress.epoch("epoch 1", &loader) {
///     let loss = batch?.sum(..)?.item::<i64>()? as f64;
///     progress.show(&[("loss", loss)]);
/// }
/// progress.println("epoch 1 is over");
/// // Without output, as in tests.
/// let hidden = Progress::with_draw_target(indicatif::ProgressDrawTarget::hidden());
/// assert_eq!(hidden.epoch("epoch 2", &loader).count(), 3);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Progress {
    bar: ProgressBar,
}

/// The batches of an epoch, counted by a bar; made by [`Progress::epoch`].
#[derive(Debug)]
pub struct ProgressEpoch<I> {
    bar: ProgressBar,
    batches: I,
}

const TEMPLATE: &str = "{prefix} {wide_bar} {pos}/{len} {per_sec} {eta} left {msg}";

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

impl Progress {
    /// Shows the bars on standard error.
    pub fn new() -> Self {
        Self::with_draw_target(ProgressDrawTarget::stderr())
    }

    /// Shows the bars on another terminal.
    pub fn with_draw_target(target: ProgressDrawTarget) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), target);
        // A test checks that the template is valid; if it were not, the bar would use the default one.
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style);
        }
        Self { bar }
    }

    /// The batches of a loader, or of anything with a known length. The bar begins at 0, and is removed with the loop.
    pub fn epoch<B>(&self, name: &str, batches: B) -> ProgressEpoch<B::IntoIter>
    where
        B: IntoIterator<IntoIter: ExactSizeIterator>,
    {
        let batches = batches.into_iter();
        self.bar.reset();
        self.bar.set_length(batches.len() as u64);
        self.bar.set_prefix(name.to_owned());
        self.bar.set_message("");
        ProgressEpoch {
            bar: self.bar.clone(),
            batches,
        }
    }

    /// Shows named values beside the bar.
    pub fn show(&self, values: &[(&str, f64)]) {
        let shown = values
            .iter()
            .map(|(name, value)| format!("{name} {value:.4}"));
        self.bar
            .set_message(shown.collect::<Vec<String>>().join("  "));
    }

    /// Prints a line above the bar; if no bar is shown, to standard output.
    pub fn println(&self, line: impl AsRef<str>) {
        match self.bar.is_hidden() {
            true => println!("{}", line.as_ref()),
            false => self.bar.println(line),
        }
    }
}

impl<I: ExactSizeIterator> Iterator for ProgressEpoch<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        // A batch counts as done when the next one is requested.
        let given = self.batches.next();
        let done = self.bar.length().unwrap_or_default();
        let left = self.batches.len() as u64 + u64::from(given.is_some());
        self.bar.set_position(done.saturating_sub(left));
        if given.is_none() {
            self.bar.finish_and_clear();
        }
        given
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.batches.size_hint()
    }
}

impl<I: ExactSizeIterator> ExactSizeIterator for ProgressEpoch<I> {}

/// Leaving a loop early removes its bar too.
impl<I> Drop for ProgressEpoch<I> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use indicatif::{ProgressDrawTarget, TermLike};

    use super::Progress;

    /// Keeps everything that was written.
    #[derive(Clone, Debug, Default)]
    struct Screen(Arc<Mutex<String>>);

    impl Screen {
        fn take(&self) -> String {
            std::mem::take(&mut *self.0.lock().unwrap())
        }
    }

    impl TermLike for Screen {
        fn width(&self) -> u16 {
            100
        }

        fn move_cursor_up(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_down(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_right(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn move_cursor_left(&self, _: usize) -> io::Result<()> {
            Ok(())
        }

        fn write_line(&self, text: &str) -> io::Result<()> {
            self.write_str(text)
        }

        fn write_str(&self, text: &str) -> io::Result<()> {
            self.0.lock().unwrap().push_str(text);
            Ok(())
        }

        fn clear_line(&self) -> io::Result<()> {
            self.write_str("<clear>")
        }

        fn flush(&self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_bar_counts_batches_and_shows_values() {
        let screen = Screen::default();
        let target = ProgressDrawTarget::term_like_with_hz(Box::new(screen.clone()), 255);
        let progress = Progress::with_draw_target(target);
        for round in ["epoch 1", "epoch 2"] {
            let mut seen = Vec::new();
            for number in progress.epoch(round, 0..3) {
                seen.push(number);
                progress.show(&[("loss", 0.5), ("accuracy", 0.25)]);
                progress.bar.force_draw();
                let shown = screen.take();
                assert!(shown.contains(round), "{shown}");
                assert!(shown.contains(&format!(" {number}/3 ")), "{shown}");
                assert!(shown.contains("loss 0.5000  accuracy 0.2500"), "{shown}");
                assert!(shown.contains("/s") && shown.contains(" left "), "{shown}");
            }
            assert_eq!(seen, [0, 1, 2]);
            assert!(progress.bar.is_finished());
        }
        progress.println("a line");
        assert!(screen.take().contains("a line"));
        // A resumed epoch has the remaining batches; one that is left early is over.
        let mut rest = progress.epoch("epoch 3", [1, 2]);
        assert_eq!((rest.len(), rest.next()), (2, Some(1)));
        assert!(!progress.bar.is_finished());
        drop(rest);
        assert!(progress.bar.is_finished());
    }

    #[test]
    fn without_a_terminal_nothing_is_shown() {
        let progress = Progress::with_draw_target(ProgressDrawTarget::hidden());
        assert!(progress.bar.is_hidden());
        assert_eq!(progress.epoch("epoch 1", [1, 2]).sum::<i32>(), 3);
    }
}
