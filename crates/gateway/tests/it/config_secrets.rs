//! No diagnostic quotes a secret: canaries in every position of a secret, as every TOML
//! type, in files with every kind of mistake, complete or truncated anywhere.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::LazyLock;

use majordomo::transport::{self, Transport};
use majordomo_gateway::GatewayState;
use majordomo_gateway::config::Config;

/// Searched for in messages: parts of the canaries that no TOML escape splits.
const CANARIES: [&str; 5] = ["ANARY", "anary", "2718281828", "DEADBEEFCAFE", "07:32:59"];
/// A realistic key, for positions where none is expected.
const TOKEN: &str = "sk-proj-CANARY0123456789abcdef";

static TRANSPORT: LazyLock<Transport> =
    LazyLock::new(|| Transport::new(transport::TransportConfig::default()));
static ENVIRONMENT: LazyLock<BTreeMap<String, String>> = LazyLock::new(|| {
    let variables = [
        ("SET", "CANARY-variable"),
        ("SET_ADDRESS", "https://me:CANARY@host/v1?key=CANARY"),
        ("GROQ_API_KEY", "CANARY-groq"),
    ];
    variables
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into()
});
static WHOLE: LazyLock<String> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/whole.toml");
    std::fs::read_to_string(path).expect("a readable file")
});

/// Every position of a secret, correct, misspelled or wrong; `@` is the value.
const PLACES: [&str; 51] = [
    "[[keys]]\nname = \"a\"\nkey = @\n",
    "[[keys]]\nname = \"a\"\nhash = @\n",
    "[[keys]]\nname = \"a\"\nkye = @\n",
    "[[keys]]\nname = \"a\"\nhahs = @\n",
    "[[keys]]\nname = \"a\"\nsecret = @\n",
    "[[keys]]\nname = \"a\"\nvalue = @\n",
    "[[keys]]\nname = \"a\"\nhash = \"sha256:00\"\nkey = @\n",
    "[keys]\nkey = @\n",
    "[keys]\nlaptop = @\n",
    "[keys.laptop]\nkey = @\n",
    "[key]\nkey = @\n",
    "[[key]]\nname = \"a\"\nkey = @\n",
    "keys = @\n",
    "keys = [ @ ]\n",
    "keys = [ { name = \"a\", key = @ } ]\n",
    "keys = [ { name = \"a\", hash = @, models = 1 } ]\n",
    "keys = { laptop = @ }\n",
    "keys.key = @\n",
    "[providers.x]\nkind = \"openai\"\napi_key = @\n",
    "[providers.x]\nkind = \"openai\"\napi_keys = [@]\n",
    "[providers.x]\nkind = \"openai\"\napi_keys = @\n",
    "[providers.x]\napi_keys = [\"${UNSET}\", @, 7]\n",
    "[providers.x]\nkind = \"openai\"\napi_kye = @\n",
    "[providers.x]\nkind = \"openai\"\napikey = @\n",
    "[providers.x]\nkind = \"opnai\"\ntoken = @\n",
    "[providers.x]\ndsn = @\n",
    "[providers.x]\ndns = @\n",
    "[providers.x]\nkind = \"openai\"\nheaders = { authorization = @ }\n",
    "[providers.x]\nkind = \"openai\"\nheaders = { x-team = @ }\n",
    "[providers.x]\nkind = \"openai\"\nheaders.authorization = @\n",
    "[providers.x]\nkind = \"openai\"\nextra = { header = { any = @ } }\n",
    "[providers.x.headers]\nauthorization = @\n",
    "[[providers.x.headers]]\nname = \"authorization\"\nvalue = @\n",
    "[providers]\nx = @\n",
    "[[providers]]\nname = \"x\"\napi_key = @\n",
    "providers.x.api_key = @\n",
    "providers = { x = { kind = \"opnai\", api_key = @ } }\n",
    "providers = @\n",
    "[provider.x]\napi_key = @\n",
    "provider = { x = { api_key = @ } }\n",
    "upstreams = { x = { anything = @ } }\n",
    "api_key = @\n",
    "[server]\npassword = @\n",
    "[server]\nauth = { user = @ }\n",
    "[server]\ntls = { cert = \"c.pem\", key = @, password = @ }\n",
    "[vision]\nauthorization = @\n",
    "[fetch]\nheaders = { cookie = @ }\n",
    "[aliases]\nfast = \"nobody/x\"\n[health]\npasswrod = @\n",
    "[[routes]]\nmodel = \"r\"\nservices = [ { spec = \"nobody/x\", api_key = @ } ]\n",
    "[aliases]\napi_key = @\nbroken = 1\n",
    "[[routes]]\nmodel = \"r\"\nservices = []\nsmart = [ { when = [ { position = \"header\", header = \"authorization\", value = @ } ] } ]\n",
];

/// A canary as every TOML type, and as invalid TOML.
const VALUES: [&str; 33] = [
    "\"CANARY-text\"",
    "'CANARY-text'",
    "\"\"\"CANARY-text\"\"\"",
    "\"\"\"\nCANARY-text\n\"\"\"",
    "'''\nCANARY-text\n'''",
    "\"\\u0043ANARY-text\"",
    "\"CANARY\\ttext\"",
    "[\"CANARY-text\"]",
    "[[\"CANARY-text\"], []]",
    "[\n  \"CANARY-text\",\n  \"other\",\n]",
    "[ { a = \"CANARY-text\" } ]",
    "{ a = \"CANARY-text\" }",
    "{ a = { b = [ \"CANARY-text\" ] } }",
    "{ CANARY-name = 1 }",
    "{ \"CANARY name\" = true }",
    "2718281828459045",
    "2718281828.459045",
    "0xDEADBEEFCAFE",
    "1979-05-27T07:32:59Z",
    "\"${SET}\"",
    "\"x${SET}\"",
    "\"${CANARY-name}\"",
    "\"${canary_name}\"",
    "\"${CANARY-name\"",
    "\"https://me:CANARY@host/v1?key=CANARY#CANARY\"",
    "\"foreman://CANARY@host?CANARY=1\"",
    "\"sha256:CANARY\"",
    "\"CANARY-text",
    "'CANARY-text",
    "CANARY-text",
    "[\"CANARY-text\"",
    "{ a = \"CANARY-text\"",
    "\"\"\"CANARY-text",
];

/// All diagnostics of a file.
fn rejection(text: &str) -> String {
    let problems = match Config::parse("f.toml", text, &ENVIRONMENT) {
        Err(problems) => problems,
        Ok(config) => match GatewayState::new(&config, &ENVIRONMENT, &TRANSPORT, None) {
            Ok(_) => return String::new(),
            Err(problems) => problems,
        },
    };
    let mut reported = problems.to_string();
    for problem in problems.list() {
        reported.push_str(&problem.message);
        reported.push_str(problem.hint.as_deref().unwrap_or_default());
    }
    reported
}

/// Panics with the first line that contains a canary.
fn assert_hidden(text: &str) {
    let reported = rejection(text);
    let repeats = |line: &&str| CANARIES.iter().any(|canary| line.contains(canary));
    let shown = reported.lines().find(repeats);
    assert_eq!(shown, None, "of\n{text}\nis shown\n{reported}");
}

fn files() -> impl Iterator<Item = String> {
    let pair = |place: &str, value: &str| place.replace('@', value);
    let places = PLACES.iter();
    places.flat_map(move |place| VALUES.iter().map(move |value| pair(place, value)))
}

#[test]
fn no_value_in_place_of_a_secret_is_quoted() {
    for file in files() {
        assert_hidden(&file);
    }
}

#[test]
fn no_mistake_on_a_secrets_line_reveals_it() {
    for file in files() {
        let line = file.trim_end().rfind('\n').map_or(0, |at| at + 1);
        let (before, last) = file.split_at(line);
        let last = last.trim_end();
        for mistaken in [
            // Its line twice, on one line, with text before and after it.
            format!("{before}{last}\n{last}\n"),
            format!("{before}{last} {last}\n"),
            format!("{before}{last} x\n"),
            format!("{before}x {last}\n"),
            format!("{before}{last} # {last}\n"),
            format!("{before}{}\n", last.replacen('=', ":", 1)),
            format!("{before}{}\n", last.replacen('=', "", 1)),
            format!("{before}\"{last}\n"),
            format!("{before}{}\n", last.replacen(" = ", " = [ ", 1)),
            // A mistake elsewhere that is reported with it.
            format!("{file}[sever]\nlisten = 1\n[server\n"),
            format!("{file}[sever]\nlisten = 1\n"),
        ] {
            assert_hidden(&mistaken);
        }
    }
}

#[test]
fn no_truncated_file_reveals_its_secrets() {
    for place in PLACES {
        let start = place.find('@').expect("a place");
        for file in VALUES.map(|value| place.replace('@', value)) {
            for at in (start..file.len()).filter(|at| file.is_char_boundary(*at)) {
                assert_hidden(&file[..at]);
            }
        }
    }
}

/// Ranges of the values of `key = value`, including inline tables.
fn values(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(" = ") {
        let start = at + " = ".len();
        let rest = &text[start..];
        let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
        let end = match line.strip_prefix('"') {
            Some(inner) => inner.find('"').map(|end| end + 2),
            None => line.find([',', '}', ']']).or(Some(line.len())),
        };
        found.extend(end.map(|end| start..start + end));
    }
    found
}

#[test]
fn keys_and_urls_with_passwords_are_hidden_everywhere() {
    let canaries = [
        format!("\"{TOKEN}\""),
        format!("'{TOKEN}'"),
        format!("\"\"\"{TOKEN}\"\"\""),
        format!("[\"{TOKEN}\"]"),
        format!("{{ a = \"{TOKEN}\" }}"),
        format!("{{ {TOKEN} = 1 }}"),
        format!("\"{}\"", TOKEN.replace('-', "\\u002d")),
        format!("\"Bearer {TOKEN}\""),
        format!("\"{TOKEN}/x\""),
        format!("\"x/{TOKEN}\""),
        format!("\"{TOKEN},{TOKEN}\""),
        format!("\"${{{TOKEN}}}\""),
        format!("\"{TOKEN}"),
        TOKEN.to_owned(),
        "\"https://me:CANARY@host/v1\"".to_owned(),
        "\"https://host/v1?key=CANARY&x\"".to_owned(),
        "\"https://host/v1#CANARY\"".to_owned(),
        "\"host;password=CANARY;\"".to_owned(),
        "\"${SET_ADDRESS}\"".to_owned(),
        "\"${SET}/x,${SET}\"".to_owned(),
    ];
    let mut seen = 0;
    for place in values(&WHOLE) {
        for canary in &canaries {
            let mut text = WHOLE.clone();
            text.replace_range(place.clone(), canary);
            assert_hidden(&text);
            seen += 1;
        }
    }
    assert!(seen > 1_000, "{seen}");
}

#[test]
fn harmless_values_are_shown() {
    for (text, shown) in [
        ("[server]\nlisten = \"localhost\"\n", "`localhost`"),
        ("[aliases]\nmonkey = \"grok/llama\"\n", "\"grok/llama\""),
        ("[providers.x]\nkind = \"opnai\"\n", "`opnai`"),
        (
            "[providers.x]\nkind = \"opnai\"\napi_key = \"${UNSET_KEY}\"\n",
            "UNSET_KEY",
        ),
        (
            "[providers.x]\nkind = \"openai\"\nbase_url = \"box:80/v1\"\n",
            "`box:80/v1`",
        ),
        (
            "[[keys]]\nname = \"laptop\"\nmodels = [\"a\"]\n[[keys]]\nname = \"laptop\"\n",
            "[[keys]]",
        ),
        ("[vision]\nmax_tokens = \"many\"\n", "\"many\""),
        (
            "[server]\ntls = { cert = \"c.pem\", key = \"k.pem\", x = 1 }\n",
            "\"k.pem\"",
        ),
        ("[server]\nlisten = 127.0.0.1:4100\n", "127.0.0.1:4100"),
    ] {
        let reported = rejection(text);
        assert!(reported.contains(shown), "{shown}: {reported}");
    }
}

#[test]
fn a_secret_is_not_quoted_where_it_stands_a_second_time() {
    for text in [
        "[server]\nlisten = \"u:CANARY@127.0.0.1:1\"\n",
        "[server]\noperator_listen = \"u:CANARY@127.0.0.1:1\"\n",
        "[[keys]]\nname = \"a\"\nkey = \"CANARY-again\"\nrole = \"CANARY-again\"\n",
        "[[keys]]\nname = \"a\"\nkey = \"CANARY-again\"\n[server]\nlisten = \"CANARY-again\"\n",
    ] {
        assert_hidden(text);
    }
}
