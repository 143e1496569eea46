//! `majordomo chat`: one question, or a conversation.

use std::io::{self, IsTerminal};

use majordomo::{Message, Part, Registry, Request, Role};

use crate::args::Chat;
use crate::failure::Failure;
use crate::turn::Turn;
use crate::{input, paint};

pub(crate) async fn run(args: Chat) -> Result<(), Failure> {
    let chain = Registry::from_env().parse(&args.spec)?;
    let images = args.images.iter().map(|path| input::image(path));
    let images: Result<Vec<Part>, Failure> = images.map(|it| it.map(Part::Image)).collect();
    let schema = args.schema.as_deref().map(input::schema).transpose()?;
    let mut conversation = Conversation {
        turn: Turn {
            chain,
            schema,
            json: args.json,
        },
        request: match args.system {
            Some(text) => Request::default().system(text),
            None => Request::default(),
        },
        images: images?,
    };
    match args.prompt.as_deref() {
        Some("-") => conversation.say(input::whole()?).await,
        Some(prompt) => conversation.say(prompt.to_owned()).await,
        None => conversation.hold().await,
    }
}

struct Conversation {
    turn: Turn,
    /// Everything that was said so far.
    request: Request,
    /// What the next message brings along.
    images: Vec<Part>,
}

impl Conversation {
    /// Each line of stdin is a turn. A person who types may try again after a
    /// failure; a script is stopped by it.
    async fn hold(&mut self) -> Result<(), Failure> {
        let typed = io::stdin().is_terminal();
        loop {
            if typed {
                paint::invite();
            }
            let Some(line) = input::line().await? else {
                if typed {
                    paint::note("");
                }
                return Ok(());
            };
            match self.say(line).await {
                Err(Failure::Told(text)) if typed => paint::error(&text),
                said => said?,
            }
        }
    }

    /// Asks, and remembers question and answer; a failed turn leaves no trace.
    async fn say(&mut self, text: String) -> Result<(), Failure> {
        if text.trim().is_empty() {
            return Err(Failure::new("the prompt is empty; say what to ask"));
        }
        let mut parts = self.images.clone();
        parts.push(Part::text(text));
        let mut request = self.request.clone();
        request
            .edit()
            .messages
            .push(Message::new(Role::User, parts));
        let answer = self.turn.ask(request.clone()).await?;
        request.edit().messages.push(answer.to_message());
        self.request = request;
        self.images.clear();
        Ok(())
    }
}
