//! The attribute `#[tool]` of `majordomo-agent`; use it from there.

mod expand;
mod options;

use proc_macro::TokenStream;
use syn::{ItemFn, parse_macro_input};

/// Turns a documented async function into a tool.
///
/// The function's name and documentation become the tool's; each parameter
/// becomes an argument, with its own documentation. Parameters may carry `serde`
/// and `schemars` attributes. Afterwards the function takes no parameters and
/// gives a `Function` to put into a `Toolbox`.
///
/// It may return a `Result`, whose error text the model sees, or a plain value.
///
/// Options: `name = "…"`, `timeout_secs = 30`, `alone`, and `crate = path` where
/// `majordomo::agent` is known under another path.
///
/// ```
/// use majordomo::agent::{Toolbox, tool};
///
/// /// Finds a user by mail address.
/// #[tool(timeout_secs = 5)]
/// async fn find_user(
///     /// The whole address.
///     mail: String,
///     /// How many to give at most.
///     #[serde(default)]
///     limit: Option<u32>,
/// ) -> Result<Vec<String>, std::io::Error> {
///     Ok(vec![format!("the owner of {mail}, one of {limit:?}")])
/// }
///
/// let toolbox = Toolbox::new([find_user()]).unwrap();
/// ```
#[proc_macro_attribute]
pub fn tool(options: TokenStream, item: TokenStream) -> TokenStream {
    let options = parse_macro_input!(options as options::Options);
    let function = parse_macro_input!(item as ItemFn);
    expand::expand(options, function)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
