//! A conversation in no dialect: what a row of the table repeats.

use std::sync::OnceLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    System,
    User,
    Model,
    Tool,
}

/// A piece of a message.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    Text,
    /// A picture of this number.
    Image(usize),
    /// The address of a picture of this number.
    Address(usize),
    File,
    /// Thought, with a mark of this number.
    Thought(usize),
    Call(Call),
    Result(Call, Vec<Piece>),
    /// A block of a kind that nobody knows.
    Unknown(usize),
}

/// A tool's call, by which its result names it.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) tool: String,
}

impl Call {
    pub(crate) fn new(id: impl Into<String>, n: usize) -> Self {
        Self {
            id: id.into(),
            tool: format!("tool{}", n % 50),
        }
    }
}

/// A message.
#[derive(Clone, Debug)]
pub(crate) struct Said {
    pub(crate) who: Who,
    pub(crate) pieces: Vec<Piece>,
    /// Names of fields that nobody knows.
    pub(crate) fields: Vec<String>,
}

impl Said {
    pub(crate) fn new(who: Who, pieces: Vec<Piece>) -> Self {
        Self {
            who,
            pieces,
            fields: Vec::new(),
        }
    }

    pub(crate) fn text(who: Who) -> Self {
        Self::new(who, vec![Piece::Text])
    }
}

/// A request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    pub(crate) said: Vec<Said>,
    /// Texts of the instructions.
    pub(crate) system: usize,
    /// The schemas of its tools.
    pub(crate) tools: Vec<String>,
    /// Tools that the provider runs.
    pub(crate) hosted: usize,
    pub(crate) stops: usize,
    /// Fields that nobody knows.
    pub(crate) fields: usize,
    /// The schema of the answer.
    pub(crate) schema: Option<String>,
    /// Headers that are passed on.
    pub(crate) headers: usize,
}

impl Shape {
    pub(crate) fn of(said: Vec<Said>) -> Self {
        Self {
            said,
            ..Self::default()
        }
    }

    /// A question, and nothing else.
    pub(crate) fn question() -> Self {
        Self::of(vec![Said::text(Who::User)])
    }
}

/// A schema with so many properties on each of some levels, in the form that
/// Google's clients write.
pub(crate) fn schema(properties: usize, levels: usize) -> String {
    let each = properties / levels;
    let mut text = r#"{"type":"STRING"}"#.to_owned();
    for _ in 0..levels {
        let named = (0..each).map(|n| format!(r#""p{n}":{{"type":"STRING","nullable":true}},"#));
        let named: String = named.collect();
        text =
            format!(r#"{{"type":"OBJECT","nullable":true,"properties":{{{named}"next":{text}}}}}"#);
    }
    text
}

/// A picture of one pixel, of this number's colour, as base64.
pub(crate) fn picture(n: usize) -> String {
    let [.., red, green, blue] = n.to_be_bytes();
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, 1, 1);
    encoder.set_color(png::ColorType::Rgb);
    let written = encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(&[red, green, blue]));
    written.expect("a picture can be written");
    STANDARD.encode(file)
}

/// Pictures are made once.
pub(crate) fn pictures() -> &'static [String] {
    static PICTURES: OnceLock<Vec<String>> = OnceLock::new();
    PICTURES.get_or_init(|| (0..2_000).map(picture).collect())
}
