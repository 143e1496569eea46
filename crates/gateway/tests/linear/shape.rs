//! A dialect-neutral conversation, with the elements that a row of the table repeats.

use std::sync::OnceLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Role of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    System,
    User,
    Model,
    Tool,
}

/// A part of a message.
#[derive(Clone, Debug)]
pub(crate) enum Piece {
    Text,
    /// The image of this number.
    Image(usize),
    /// The URL of the image of this number.
    Address(usize),
    File,
    /// Reasoning, with a signature of this number.
    Thought(usize),
    Call(Call),
    Result(Call, Vec<Piece>),
    /// A block of an unknown type.
    Unknown(usize),
}

/// A tool call; its result refers to the id.
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
pub(crate) struct ShapeTurn {
    pub(crate) who: Who,
    pub(crate) pieces: Vec<Piece>,
    /// Names of unknown fields.
    pub(crate) fields: Vec<String>,
}

impl ShapeTurn {
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
    pub(crate) turns: Vec<ShapeTurn>,
    /// Instruction texts.
    pub(crate) system: usize,
    /// Schemas of the tools.
    pub(crate) tools: Vec<String>,
    /// Provider-side tools.
    pub(crate) hosted: usize,
    pub(crate) stops: usize,
    /// Unknown fields.
    pub(crate) fields: usize,
    /// Schema of the response.
    pub(crate) schema: Option<String>,
    /// Forwarded headers.
    pub(crate) headers: usize,
}

impl Shape {
    pub(crate) fn of(turns: Vec<ShapeTurn>) -> Self {
        Self {
            turns,
            ..Self::default()
        }
    }

    /// A plain user message.
    pub(crate) fn question() -> Self {
        Self::of(vec![ShapeTurn::text(Who::User)])
    }
}

/// A schema with this many properties on each of some levels, as Google's clients
/// encode it.
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

/// An image of one pixel in the `number`th colour, as base64.
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

/// Images are generated once.
pub(crate) fn pictures() -> &'static [String] {
    static PICTURES: OnceLock<Vec<String>> = OnceLock::new();
    PICTURES.get_or_init(|| (0..2_000).map(picture).collect())
}
