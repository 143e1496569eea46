//! A streamed body as events.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use majordomo_llm::{Event, Result};
use majordomo_wire::StreamReader;

use super::answer::Answer;

pub(super) struct Events {
    answer: Answer,
    reader: Box<dyn StreamReader>,
    ready: VecDeque<Event>,
    /// What ends the stream once `ready` is empty.
    last: Option<Result<Event>>,
    over: bool,
    scratch: Vec<Event>,
}

impl Events {
    pub(super) fn new(answer: Answer, reader: Box<dyn StreamReader>) -> Self {
        Self {
            answer,
            reader,
            ready: VecDeque::new(),
            last: None,
            over: false,
            scratch: Vec::new(),
        }
    }

    /// Takes what the reader made of some bytes, or of their end.
    fn take(&mut self, result: Result<()>) {
        for event in std::mem::take(&mut self.scratch) {
            self.answer.seen(&event);
            match event {
                Event::Finish(_) => self.last = Some(Ok(event)),
                event => self.ready.push_back(event),
            }
        }
        if let Err(error) = result {
            self.last = Some(Err(self.answer.fail(error)));
        }
    }

    fn body_ended(&mut self) {
        self.answer.close();
        let result = self.reader.finish(&mut self.scratch);
        self.take(result);
        if self.last.is_none() {
            self.last = Some(Err(self.answer.truncated()));
        }
    }
}

impl Stream for Events {
    type Item = Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            if let Some(event) = this.ready.pop_front() {
                return Poll::Ready(Some(Ok(event)));
            }
            if this.last.is_some() {
                ready!(this.answer.poll_end(cx));
                this.over = true;
                return Poll::Ready(this.last.take());
            }
            if this.over {
                return Poll::Ready(None);
            }
            match ready!(this.answer.poll_bytes(cx)) {
                Some(Ok(bytes)) => {
                    let result = this.reader.push(&bytes, &mut this.scratch);
                    this.take(result);
                }
                Some(Err(error)) => this.last = Some(Err(this.answer.fail(error))),
                None => this.body_ended(),
            }
        }
    }
}
