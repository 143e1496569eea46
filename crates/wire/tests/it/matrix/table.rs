//! Renders the matrix as a Markdown page.

use std::fmt::Write;

use majordomo_wire::Protocol;

use super::corpus;
use super::cross::{self, Crossing};

const HEAD: &str = "\
<!-- Made by `cargo test -p majordomo-wire --test matrix`; do not edit. -->

# What every dialect can say

Every conversation below is written in each dialect and read again. An empty
cell means that nothing was lost; otherwise it names what the writer lists as
lost, which is also what a request's attempt_log tells. Everything else arrives as
it was expected. These are not losses, but other ways to say the same:

- instructions stand where the dialect wants them, and what one side says in a
  row is one turn;
- texts in a row may be joined;
- ids of calls become what the target accepts, the same for call and result;
- a limit is added where the dialect must have one;
- in Chat Completions, where tools answer with text only, their pictures follow
  in the same turn, each with a line that names its call.
";

/// The whole page.
pub(crate) fn print() -> String {
    let mut page = HEAD.to_owned();
    let conversations = corpus::conversations();
    let responses = corpus::responses();
    section(&mut page, "Requests", &conversations, cross::request);
    section(&mut page, "Answers", &responses, cross::response);
    section(&mut page, "Streamed answers", &responses, cross::stream);
    page.push_str(
        "\n## Any client, any model\n\n\
         A client of the row's dialect at a provider of the column's: how many requests \
         / answers / streamed answers arrive without any loss.\n\n",
    );
    header(&mut page, "client");
    for client in Protocol::ALL {
        let _ = write!(page, "| {} |", name(client));
        for provider in Protocol::ALL {
            let pair = Crossing { client, provider };
            let requests = whole(&conversations, &pair, cross::request);
            let whole_responses = whole(&responses, &pair, cross::response);
            let streams = whole(&responses, &pair, cross::stream);
            let _ = write!(page, " {requests} / {whole_responses} / {streams} |");
        }
        page.push('\n');
    }
    let _ = write!(
        page,
        "\nOf {} requests and {} answers.\n",
        conversations.len(),
        responses.len()
    );
    page
}

type CrossFn<T> = fn(&T, &Crossing) -> Result<Vec<String>, String>;

fn section<T>(page: &mut String, title: &str, cases: &[(&'static str, T)], cross: CrossFn<T>) {
    let _ = write!(page, "\n## {title}\n\n");
    header(page, "");
    for (case, expected) in cases {
        let _ = write!(page, "| {case} |");
        for protocol in Protocol::ALL {
            // A dialect paired with itself shows only the losses of the first
            // write.
            let pair = Crossing {
                client: protocol,
                provider: protocol,
            };
            match cross(expected, &pair) {
                Ok(lost) if lost.is_empty() => page.push_str(" |"),
                Ok(lost) => {
                    let _ = write!(page, " {} |", lost.join(", "));
                }
                Err(_) => page.push_str(" broken |"),
            }
        }
        page.push('\n');
    }
}

fn whole<T>(cases: &[(&'static str, T)], pair: &Crossing, cross: CrossFn<T>) -> usize {
    let kept = |expected: &T| cross(expected, pair).is_ok_and(|lost| lost.is_empty());
    cases.iter().filter(|(_, expected)| kept(expected)).count()
}

fn header(page: &mut String, corner: &str) {
    let _ = write!(page, "| {corner} |");
    for protocol in Protocol::ALL {
        let _ = write!(page, " {} |", name(protocol));
    }
    page.push_str("\n|---|");
    page.push_str(&"---|".repeat(Protocol::ALL.len()));
    page.push('\n');
}

fn name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Chat => "Chat Completions",
        Protocol::Responses => "Responses",
        Protocol::Messages => "Messages",
        Protocol::Gemini => "Gemini",
        Protocol::Ollama => "Ollama",
    }
}
