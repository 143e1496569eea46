//! The `#[tool]` attribute of `majordomo-agent`, which re-exports it.

mod expand;
mod options;

use proc_macro::TokenStream;
use syn::{ItemFn, parse_macro_input};

/// Turns a documented async function into a tool.
///
/// The function's name and documentation become the tool's; each parameter becomes an
/// argument. Parameters may have documentation, `serde` and `schemars` attributes. The
/// attribute replaces the function with one that takes no parameters and returns a
/// `Function` for a `Toolbox`.
///
/// The function may return a plain value or a `Result`, whose error is shown to the
/// model.
///
/// Options: `name = "…"`, `timeout_secs = 30`, `alone`, and `crate = path` if
/// `majordomo::agent` has another path.
///
/// ```
/// use majordomo::agent::{Toolbox, tool};
///
/// /// Finds a user by mail address.
/// #[tool(timeout_secs = 5)]
/// async fn find_user(
///     /// The full address.
///     mail: String,
///     /// Maximum number of results.
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
    let options = parse_macro_input!(options as options::ToolOptions);
    let function = parse_macro_input!(item as ItemFn);
    expand::expand(options, function)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
