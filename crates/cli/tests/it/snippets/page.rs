//! Fenced snippets of a Markdown page, with the comments about them.

/// A page and its shell and TOML snippets, in order.
pub(super) struct Page {
    pub(super) name: String,
    pub(super) snippets: Vec<Snippet>,
}

/// A fenced block.
pub(super) struct Snippet {
    page: String,
    /// Line of its fence, from 1.
    line: usize,
    pub(super) language: Language,
    pub(super) text: String,
    /// Why it is not executed.
    pub(super) needs: Option<String>,
    /// Whether it prints until it is stopped.
    pub(super) streams: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Shell,
    Toml,
}

impl Snippet {
    /// Page and line.
    pub(super) fn place(&self) -> String {
        format!("{}:{}", self.page, self.line)
    }
}

impl Page {
    pub(super) fn parse(name: &str, text: &str) -> Self {
        let mut snippets: Vec<Snippet> = Vec::new();
        let mut shell_needs = None;
        let mut comment = None;
        let mut lines = text.lines().enumerate();
        while let Some((at, line)) = lines.next() {
            if let Some(found) = comment_in(line) {
                match found.strip_prefix("shell snippets need ") {
                    Some(needs) => shell_needs = Some(needs.to_owned()),
                    None => comment = Some(found),
                }
                continue;
            }
            let Some(info) = line.strip_prefix("```") else {
                comment = comment.filter(|_| line.trim().is_empty());
                continue;
            };
            let body: Vec<&str> = lines
                .by_ref()
                .map(|(_, line)| line)
                .take_while(|line| *line != "```")
                .collect();
            let language = match info {
                "sh" => Language::Shell,
                "toml" => Language::Toml,
                _ => continue,
            };
            let comment = comment.take();
            let mut snippet = Snippet {
                page: name.to_owned(),
                line: at + 1,
                language,
                text: body.join("\n"),
                needs: comment
                    .and_then(|text| text.strip_prefix("snippet needs "))
                    .map(str::to_owned)
                    .or_else(|| shell_needs.clone().filter(|_| language == Language::Shell)),
                streams: comment == Some("snippet streams"),
            };
            if comment == Some("snippet continues") {
                let before = snippets.iter().rfind(|before| before.language == language);
                let before = &before.expect("a snippet to continue").text;
                snippet.text = format!("{before}\n{}", snippet.text);
            }
            snippets.push(snippet);
        }
        Self {
            name: name.to_owned(),
            snippets,
        }
    }
}

/// The text of a comment about snippets.
fn comment_in(line: &str) -> Option<&str> {
    let text = line.strip_prefix("<!-- ")?.strip_suffix(" -->")?;
    let known = [
        "snippet needs ",
        "snippet continues",
        "snippet streams",
        "shell snippets need ",
    ];
    known
        .iter()
        .any(|start| text.starts_with(start))
        .then_some(text)
}
