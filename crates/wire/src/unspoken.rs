//! Stands in for a protocol that has a name but no codec: every read is an
//! error that says so, every write is empty and lists everything as lost.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{Dialect, Error, ErrorKind, Event, ModelInfo, Request, Response, Result};

use crate::{
    Codec, ErrorReply, FailedAnswer, Incoming, Loss, Outgoing, Protocol, ReadError, Reply,
    StreamReader, StreamWriter, Written,
};

pub(crate) struct Unspoken(pub(crate) Protocol);

impl Unspoken {
    fn text(&self) -> String {
        format!("{} is not spoken", self.0.dialect())
    }

    fn error(&self) -> Error {
        Error::new(ErrorKind::Unsupported, self.text())
    }

    fn losses(&self) -> Vec<Loss> {
        vec![Loss {
            field: "everything".into(),
            why: self.text(),
        }]
    }

    fn nothing(&self) -> Written {
        Written {
            body: Bytes::new(),
            losses: self.losses(),
        }
    }
}

impl Codec for Unspoken {
    fn dialect(&self) -> Dialect {
        self.0.dialect()
    }

    fn read_request(&self, _: Bytes) -> Result<Incoming, ReadError> {
        Err(ReadError::new("", self.text()))
    }

    fn write_request(&self, _: &Request, _: &Outgoing<'_>) -> Written {
        self.nothing()
    }

    fn read_response(&self, _: Bytes, _: usize) -> Result<Response> {
        Err(self.error())
    }

    fn write_response(&self, _: &Response, _: &Reply) -> Written {
        self.nothing()
    }

    fn stream_reader(&self) -> Box<dyn StreamReader> {
        Box::new(Self(self.0))
    }

    fn stream_writer(&self, _: &Reply) -> Box<dyn StreamWriter> {
        Box::new(Self(self.0))
    }

    fn read_error(&self, failed: &FailedAnswer<'_>) -> Error {
        crate::failure::read(failed)
    }

    fn write_error(&self, error: &Error) -> ErrorReply {
        ErrorReply {
            status: crate::failure::status_for_client(error),
            headers: Vec::new(),
            body: Bytes::new(),
        }
    }

    fn read_models(&self, _: &[u8]) -> Result<Vec<ModelInfo>> {
        Err(self.error())
    }

    fn write_models(&self, _: &[ModelInfo], _: u64) -> Bytes {
        Bytes::new()
    }
}

impl StreamReader for Unspoken {
    fn push(&mut self, _: &[u8], _: &mut Vec<Event>) -> Result<()> {
        Err(self.error())
    }

    fn tap(&mut self, _: &[u8], _: &mut Vec<Event>) -> Result<()> {
        Err(self.error())
    }

    fn finish(&mut self, _: &mut Vec<Event>) -> Result<()> {
        Err(self.error())
    }
}

impl StreamWriter for Unspoken {
    fn write(&mut self, _: &Event, _: &mut BytesMut) {}

    fn fail(&mut self, _: &Error, _: &mut BytesMut) {}

    fn losses(&self) -> Vec<Loss> {
        Unspoken::losses(self)
    }
}
