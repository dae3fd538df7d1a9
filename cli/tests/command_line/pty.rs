//! A pseudo-terminal that runs a command, and an emulator that shows its screen as text.

use std::cell::Cell;
use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::num::NonZeroU16;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

use pty_process::blocking::Pty;
use pty_process::{Size, blocking};
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, tcgetattr};

use crate::test_env::{CommandOutput, wait_until};

/// The height of a terminal on which nothing scrolls.
pub(crate) const TALL: u16 = 200;

pub(crate) struct Terminal {
    child: Child,
    pty: Arc<Pty>,
    display: Arc<Mutex<Display>>,
    reader: Option<JoinHandle<()>>,
}

struct Display {
    emulator: vt100::Parser,
    bytes: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StyledText {
    pub(crate) style: Style,
    pub(crate) text: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) foreground: vt100::Color,
    pub(crate) background: vt100::Color,
    pub(crate) is_bold: bool,
    pub(crate) is_dim: bool,
    pub(crate) is_underlined: bool,
    pub(crate) is_inverse: bool,
}

impl Terminal {
    pub(crate) fn start(mut command: Command, rows: u16, columns: u16) -> Self {
        if !command.get_envs().any(|(name, _)| name == "TERM") {
            command.env("TERM", "xterm-256color");
        }
        let (pty, slave) = blocking::open().unwrap();
        pty.resize(Size::new(rows, columns)).unwrap();
        let child = blocking::Command::from(command).spawn(slave).unwrap();
        let pty = Arc::new(pty);
        let display = Arc::new(Mutex::new(Display {
            emulator: vt100::Parser::new(cells(rows), cells(columns), 0),
            bytes: Vec::new(),
        }));
        let (source, target) = (Arc::clone(&pty), Arc::clone(&display));
        let reader = thread::spawn(move || {
            let mut buffer = [0; 4096];
            // Reading fails as soon as no process has the terminal open.
            while let Ok(length @ 1..) = (&*source).read(&mut buffer) {
                let mut display = target.lock().unwrap();
                display.emulator.process(&buffer[..length]);
                display.bytes.extend_from_slice(&buffer[..length]);
            }
        });
        Self { child, pty, display, reader: Some(reader) }
    }

    pub(crate) fn screen(&self) -> String {
        screen_text(self.display().emulator.screen())
    }

    pub(crate) fn styled_lines(&self) -> Vec<Vec<StyledText>> {
        styled_lines(self.display().emulator.screen())
    }

    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) {
        self.wait_until_screen(text, |screen| screen.contains(text));
    }

    #[track_caller]
    pub(crate) fn wait_until_screen(&self, what: &str, condition: impl Fn(&str) -> bool) {
        wait_until(what, || {
            let screen = self.screen();
            let ended = self.reader.as_ref().is_none_or(JoinHandle::is_finished);
            let shown = condition(&screen) || ended && condition(&self.screen());
            assert!(shown || !ended, "ended without {what:?}:\n{screen}");
            shown
        });
    }

    /// Waits until a text is written at `from` bytes or later, and returns where it ends from there.
    #[track_caller]
    pub(crate) fn wait_for_output(&self, text: &str, from: usize) -> usize {
        let end = Cell::new(None);
        wait_until(text, || {
            let bytes = &self.display().bytes[from..];
            let found = bytes.windows(text.len()).position(|it| it == text.as_bytes());
            end.set(found.map(|at| at + text.len()));
            end.get().is_some()
        });
        end.get().unwrap()
    }

    /// Waits until a prompt reads a line that the terminal does not show. Input before that is
    /// discarded.
    #[track_caller]
    pub(crate) fn wait_for_hidden_input(&self) {
        wait_until("hidden input", || {
            let modes = tcgetattr(&*self.pty).unwrap().local_modes;
            !modes.contains(LocalModes::ECHO) && modes.contains(LocalModes::ICANON)
        });
    }

    /// Types a text. `\x03` is Ctrl-C.
    pub(crate) fn type_text(&self, text: &str) {
        (&*self.pty).write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn resize(&self, rows: u16, columns: u16) {
        let mut display = self.display();
        display.emulator.set_size(cells(rows), cells(columns));
        self.pty.resize(Size::new(rows, columns)).unwrap();
    }

    pub(crate) fn terminate(&self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
    }

    /// Returns whether lines are edited and shown by the terminal, as a shell expects it.
    pub(crate) fn is_restored(&self) -> bool {
        let modes = tcgetattr(&*self.pty).unwrap().local_modes;
        let display = self.display();
        let screen = display.emulator.screen();
        modes.contains(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG)
            && !screen.alternate_screen()
            && !screen.hide_cursor()
    }

    pub(crate) fn end(&mut self) -> CommandOutput {
        let code = self.child.wait().unwrap().code();
        if let Some(reader) = self.reader.take() {
            reader.join().unwrap();
        }
        let bytes = self.display().bytes.clone();
        CommandOutput { code, out: String::from_utf8(bytes).unwrap(), err: String::new() }
    }

    fn display(&self) -> MutexGuard<'_, Display> {
        self.display.lock().unwrap()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns styled lines as text, in which `{green}` begins a style and `{}` ends it.
pub(crate) fn markup(lines: &[Vec<StyledText>]) -> String {
    let mut text = String::new();
    for line in lines {
        for run in line {
            let names = run.style.names();
            let _ = match names.is_empty() {
                true => write!(text, "{}", run.text),
                false => write!(text, "{{{names}}}{}{{}}", run.text),
            };
        }
        text.push('\n');
    }
    text
}

impl Style {
    fn of(cell: &vt100::Cell) -> Self {
        Self {
            foreground: cell.fgcolor(),
            background: cell.bgcolor(),
            is_bold: cell.bold(),
            is_dim: cell.dim(),
            is_underlined: cell.underline(),
            is_inverse: cell.inverse(),
        }
    }

    fn names(&self) -> String {
        let mut names = Vec::new();
        for (is_set, name) in [
            (self.is_bold, "bold"),
            (self.is_dim, "dim"),
            (self.is_underlined, "underlined"),
            (self.is_inverse, "inverse"),
        ] {
            if is_set {
                names.push(name.to_owned());
            }
        }
        if let Some(name) = color_name(self.foreground) {
            names.push(name);
        }
        if let Some(name) = color_name(self.background) {
            names.push(format!("on {name}"));
        }
        names.join(" ")
    }
}

fn color_name(color: vt100::Color) -> Option<String> {
    let names = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
    match color {
        vt100::Color::Default => None,
        vt100::Color::Idx(index) => Some(match names.get(usize::from(index)) {
            Some(name) => (*name).to_owned(),
            None => format!("color {index}"),
        }),
        vt100::Color::Rgb(red, green, blue) => Some(format!("#{red:02x}{green:02x}{blue:02x}")),
    }
}

fn screen_text(screen: &vt100::Screen) -> String {
    let (_, columns) = screen.size();
    let lines: Vec<String> = screen.rows(0, columns.get()).collect();
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    format!("{}\n", lines.join("\n").trim_end())
}

fn styled_lines(screen: &vt100::Screen) -> Vec<Vec<StyledText>> {
    let (rows, columns) = screen.size();
    let mut lines: Vec<Vec<StyledText>> =
        (0..rows.get()).map(|row| styled_line(screen, row, columns.get())).collect();
    while lines.last().is_some_and(Vec::is_empty) {
        lines.pop();
    }
    lines
}

fn styled_line(screen: &vt100::Screen, row: u16, columns: u16) -> Vec<StyledText> {
    let mut line: Vec<StyledText> = Vec::new();
    for column in 0..columns {
        let cell = screen.cell(row, column).unwrap();
        if cell.is_wide_continuation() {
            continue;
        }
        let style = Style::of(cell);
        let text = match cell.contents() {
            "" => " ",
            text => text,
        };
        match line.last_mut() {
            Some(run) if run.style == style => run.text.push_str(text),
            _ => line.push(StyledText { style, text: text.to_owned() }),
        }
    }
    if let Some(run) = line.last_mut().filter(|run| run.style == Style::default()) {
        run.text.truncate(run.text.trim_end().len());
        if run.text.is_empty() {
            line.pop();
        }
    }
    line
}

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).unwrap()
}
