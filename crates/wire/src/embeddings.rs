//! Embeddings in three dialects: texts in, vectors out.
//!
//! May use `failure`, `json` and `protocol`.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{EmbeddingRequest, EmbeddingResponse, Error, ErrorKind, Result, Usage};

use crate::failure::ErrorBody;
use crate::json::{self, Cursor, JsonKind, ReadError, ReadResult, object};

/// The form in which a provider takes texts to embed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbeddingProtocol {
    /// `POST /embeddings`.
    OpenAi,
    /// `POST /api/embed`.
    Ollama,
    /// `POST …:batchEmbedContents`.
    Gemini,
}

impl EmbeddingProtocol {
    /// Writes a request for some texts of `request`.
    ///
    /// ```
    /// use majordomo_llm::EmbeddingRequest;
    /// use majordomo_wire::EmbeddingProtocol;
    ///
    /// let request = EmbeddingRequest::new(["a", "b"]).dimensions(8);
    /// let body = EmbeddingProtocol::OpenAi.write_request(&request.texts, &request, "small");
    /// assert_eq!(body, r#"{"model":"small","input":["a","b"],"dimensions":8}"#);
    /// ```
    pub fn write_request(self, texts: &[String], request: &EmbeddingRequest, model: &str) -> Bytes {
        let mut out = BytesMut::new();
        object(&mut out, |o| match self {
            Self::OpenAi | Self::Ollama => {
                o.string("model", model);
                o.array("input", |array| {
                    texts.iter().for_each(|text| array.string(text));
                });
                if let Some(dimensions) = request.dimensions {
                    o.number("dimensions", dimensions);
                }
                // By default, it embeds only the start of a text that is too long.
                if self == Self::Ollama {
                    o.bool("truncate", false);
                }
            }
            Self::Gemini => o.array("requests", |array| {
                for text in texts {
                    array.object(|o| {
                        o.string("model", &format!("models/{model}"));
                        o.object("content", |o| {
                            o.array("parts", |array| array.object(|o| o.string("text", text)));
                        });
                        if let Some(dimensions) = request.dimensions {
                            o.number("outputDimensionality", dimensions);
                        }
                    });
                }
            }),
        });
        out.freeze()
    }

    /// Reads a response.
    ///
    /// # Errors
    ///
    /// Fails if the body is malformed or is an error.
    pub fn read_response(self, body: &[u8]) -> Result<EmbeddingResponse> {
        let mut read = EmbeddingFields::default();
        json::read(body, |cursor| {
            cursor.loose_object(|key, cursor| read.field(self, key, cursor))
        })
        .map_err(ReadError::in_response)?;
        if let Some(error) = read.error {
            return Err(ErrorBody::inside(error).into_error(None));
        }
        let Some(mut vectors) = read.vectors else {
            let text = "the provider's response has no embeddings";
            return Err(Error::new(ErrorKind::BadResponse, text));
        };
        vectors.sort_by_key(|(index, _)| *index);
        let in_order = vectors.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if !in_order {
            let text = "two embeddings of the provider's response have the same index";
            return Err(Error::new(ErrorKind::BadResponse, text));
        }
        let vectors = vectors.into_iter().map(|(_, vector)| vector).collect();
        Ok(EmbeddingResponse::new(vectors).with_usage(Usage::new(read.input, 0)))
    }
}

#[derive(Default)]
struct EmbeddingFields<'a> {
    /// With their index.
    vectors: Option<Vec<(u64, Vec<f32>)>>,
    input: u64,
    error: Option<&'a str>,
}

impl<'a> EmbeddingFields<'a> {
    fn field(
        &mut self,
        protocol: EmbeddingProtocol,
        key: &str,
        cursor: &mut Cursor<'a>,
    ) -> ReadResult<()> {
        let list = match protocol {
            EmbeddingProtocol::OpenAi => "data",
            EmbeddingProtocol::Ollama | EmbeddingProtocol::Gemini => "embeddings",
        };
        match (key, cursor.peek()?) {
            (key, JsonKind::Array) if key == list => {
                let mut vectors = Vec::new();
                cursor.array(|cursor| {
                    let place = vectors.len() as u64;
                    vectors.push(entry(protocol, place, cursor)?);
                    Ok(())
                })?;
                self.vectors = Some(vectors);
            }
            ("prompt_eval_count", _) => self.input = cursor.count()?.unwrap_or(0),
            ("usage" | "usageMetadata", JsonKind::Object) => {
                cursor.loose_object(|key, cursor| {
                    match &**key {
                        "prompt_tokens" | "promptTokenCount" => {
                            self.input = cursor.count()?.unwrap_or(0);
                        }
                        _ => {
                            cursor.raw()?;
                        }
                    }
                    Ok(())
                })?
            }
            ("error", JsonKind::Object | JsonKind::String) => self.error = Some(cursor.raw()?),
            _ => {
                cursor.raw()?;
            }
        }
        Ok(())
    }
}

/// One embedding with its index, which defaults to its position.
fn entry(
    protocol: EmbeddingProtocol,
    place: u64,
    cursor: &mut Cursor<'_>,
) -> ReadResult<(u64, Vec<f32>)> {
    let name = match protocol {
        EmbeddingProtocol::Ollama => return Ok((place, vector(cursor)?)),
        EmbeddingProtocol::OpenAi => "embedding",
        EmbeddingProtocol::Gemini => "values",
    };
    let (mut index, mut values) = (place, Vec::new());
    cursor.loose_object(|key, cursor| {
        match &**key {
            "index" => index = cursor.count()?.unwrap_or(place),
            key if key == name => values = vector(cursor)?,
            _ => {
                cursor.raw()?;
            }
        }
        Ok(())
    })?;
    Ok((index, values))
}

fn vector(cursor: &mut Cursor<'_>) -> ReadResult<Vec<f32>> {
    let mut values = Vec::new();
    cursor.array(|cursor| {
        // Models compute in 32 bits or fewer.
        values.push(cursor.float()? as f32);
        Ok(())
    })?;
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_protocol_asks_for_texts_in_order() {
        let request = EmbeddingRequest::new(["a\"", "b"]).dimensions(2);
        let written = |protocol: EmbeddingProtocol| {
            let body = protocol.write_request(&request.texts, &request, "m");
            String::from_utf8(body.to_vec()).unwrap()
        };
        assert_eq!(
            written(EmbeddingProtocol::Ollama),
            r#"{"model":"m","input":["a\"","b"],"dimensions":2,"truncate":false}"#
        );
        let one = |text| {
            format!(
                r#"{{"model":"models/m","content":{{"parts":[{{"text":"{text}"}}]}},"outputDimensionality":2}}"#
            )
        };
        let expected = format!(r#"{{"requests":[{},{}]}}"#, one(r#"a\""#), one("b"));
        assert_eq!(written(EmbeddingProtocol::Gemini), expected);
    }

    #[test]
    fn each_protocol_reads_its_vectors_in_the_order_of_the_texts() {
        let rows = [
            (
                EmbeddingProtocol::OpenAi,
                r#"{"data":[{"index":1,"embedding":[3,4]},{"index":0,"embedding":[1,2.5]}],
                    "usage":{"prompt_tokens":7}}"#,
                7,
            ),
            (
                EmbeddingProtocol::OpenAi,
                r#"{"data":[{"embedding":[1,2.5]},{"embedding":[3,4]}]}"#,
                0,
            ),
            (
                EmbeddingProtocol::Ollama,
                r#"{"embeddings":[[1,2.5],[3,4]],"prompt_eval_count":5}"#,
                5,
            ),
            (
                EmbeddingProtocol::Gemini,
                r#"{"embeddings":[{"values":[1,2.5]},{"values":[3,4]}]}"#,
                0,
            ),
        ];
        for (protocol, body, input) in rows {
            let read = protocol.read_response(body.as_bytes()).unwrap();
            assert_eq!(read.vectors, [[1.0, 2.5], [3.0, 4.0]], "{body}");
            assert_eq!(read.usage.input, input, "{body}");
        }
    }

    #[test]
    fn a_body_without_vectors_is_an_error() {
        for (body, text) in [
            ("{}", "no embeddings"),
            ("[]", "expected an object"),
            (r#"{"error":"too long"}"#, "too long"),
            (r#"{"data":[{"embedding":["x"]}]}"#, "embedding"),
            (
                r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#,
                "same index",
            ),
        ] {
            let error = EmbeddingProtocol::OpenAi.read_response(body.as_bytes());
            let error = error.unwrap_err();
            assert!(error.to_string().contains(text), "{body}: {error}");
        }
    }
}
