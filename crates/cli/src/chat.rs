//! `majordomo chat`: one prompt, or a conversation.

use std::io::{self, IsTerminal};

use majordomo::{Message, Part, Request, Role};

use crate::args::ChatArgs;
use crate::chat_turn::ChatTurn;
use crate::error::CliError;
use crate::setup::Setup;
use crate::{input, output};

pub(crate) async fn run(args: ChatArgs) -> Result<(), CliError> {
    let chain = Setup::load(args.config.config.as_deref())?
        .chain(&args.spec)
        .await?;
    let images = args.images.iter().map(|path| input::image(path));
    let images: Result<Vec<Part>, CliError> = images.map(|it| it.map(Part::Image)).collect();
    let schema = args.schema.as_deref().map(input::schema).transpose()?;
    let mut session = ChatSession {
        turn: ChatTurn {
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
        Some("-") => session.send(input::all_of_stdin()?).await,
        Some(prompt) => session.send(prompt.to_owned()).await,
        None => session.run().await,
    }
}

struct ChatSession {
    turn: ChatTurn,
    /// The conversation so far.
    request: Request,
    /// Attached to the next message.
    images: Vec<Part>,
}

impl ChatSession {
    /// Sends each line of stdin as a turn. A failure ends a script, not an interactive
    /// session.
    async fn run(&mut self) -> Result<(), CliError> {
        let interactive = io::stdin().is_terminal();
        loop {
            if interactive {
                output::prompt();
            }
            let Some(line) = input::line_of_stdin().await? else {
                if interactive {
                    output::note("");
                }
                return Ok(());
            };
            match self.send(line).await {
                Err(CliError::Message(text)) if interactive => output::error(&text),
                sent => sent?,
            }
        }
    }

    /// Sends a prompt and keeps it with the response; a failed turn leaves no trace.
    async fn send(&mut self, text: String) -> Result<(), CliError> {
        if text.trim().is_empty() {
            return Err(CliError::new("the prompt is empty"));
        }
        let mut parts = self.images.clone();
        parts.push(Part::text(text));
        let mut request = self.request.clone();
        request
            .edit()
            .messages
            .push(Message::new(Role::User, parts));
        let response = self.turn.send(request.clone()).await?;
        request.edit().messages.push(response.to_message());
        self.request = request;
        self.images.clear();
        Ok(())
    }
}
