//! The options of `#[tool(…)]`.

use syn::parse::{Parse, ParseStream};
use syn::{Ident, LitInt, LitStr, Path, Token, ext::IdentExt};

/// The parsed options.
#[derive(Default)]
pub(crate) struct ToolOptions {
    pub(crate) name: Option<LitStr>,
    pub(crate) timeout_secs: Option<LitInt>,
    pub(crate) alone: bool,
    pub(crate) krate: Option<Path>,
}

impl Parse for ToolOptions {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut options = Self::default();
        while !input.is_empty() {
            // `crate` is a keyword, and an option here.
            let option = input.call(Ident::parse_any)?;
            match option.to_string().as_str() {
                "alone" => options.alone = true,
                "name" => options.name = Some(value(input)?),
                "timeout_secs" => options.timeout_secs = Some(value(input)?),
                "crate" => {
                    input.parse::<Token![=]>()?;
                    options.krate = Some(input.call(Path::parse_mod_style)?);
                }
                other => {
                    let text = format!(
                        "unknown option `{other}`; the options are `name`, `timeout_secs`, `alone` and `crate`"
                    );
                    return Err(syn::Error::new(option.span(), text));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(options)
    }
}

fn value<T: Parse>(input: ParseStream<'_>) -> syn::Result<T> {
    input.parse::<Token![=]>()?;
    input.parse()
}
