//! Generates the code of a tool.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Attribute, Expr, ExprLit, FnArg, Ident, ItemFn, Lit, Meta, Pat, PatType, Path, ReturnType,
    Type, parse_quote,
};

use crate::options::ToolOptions;

pub(crate) fn expand(options: ToolOptions, mut function: ItemFn) -> syn::Result<TokenStream> {
    check_signature(&function)?;
    let krate: Path = options
        .krate
        .unwrap_or_else(|| parse_quote!(::majordomo::agent));
    let description = documentation(&function.attrs);
    if description.is_empty() {
        let text = "a tool needs a doc comment, which describes it to the model";
        return Err(syn::Error::new_spanned(&function.sig.ident, text));
    }

    let arguments = take_arguments(&mut function)?;
    let names: Vec<&Ident> = arguments.iter().map(|argument| &argument.name).collect();
    let fields = arguments
        .iter()
        .map(|Argument { attrs, name, ty }| quote!(#(#attrs)* #name: #ty));
    let ident = function.sig.ident.clone();
    let name = options
        .name
        .map_or_else(|| ident.to_string(), |name| name.value());
    let awaited = if returns_result(&function.sig.output) {
        quote!(#ident(#(#names),*).await)
    } else {
        quote!(::core::result::Result::<_, ::core::convert::Infallible>::Ok(#ident(#(#names),*).await))
    };
    let timeout = options
        .timeout_secs
        .map(|seconds| quote!(.timeout(::core::time::Duration::from_secs(#seconds))));
    let alone = options.alone.then(|| quote!(.alone()));

    let attrs = std::mem::take(&mut function.attrs);
    let visibility = std::mem::replace(&mut function.vis, syn::Visibility::Inherited);
    let serde = quote!(#krate::__private::serde).to_string();
    let schemars = quote!(#krate::__private::schemars).to_string();
    Ok(quote! {
        #(#attrs)*
        #visibility fn #ident() -> #krate::Function {
            #[derive(#krate::__private::serde::Deserialize, #krate::__private::schemars::JsonSchema)]
            #[serde(crate = #serde)]
            #[schemars(crate = #schemars)]
            struct Arguments { #(#fields),* }

            #function

            #krate::Function::new(#name, #description, |arguments: Arguments| async move {
                let Arguments { #(#names),* } = arguments;
                #awaited
            })
            #timeout
            #alone
        }
    })
}

fn check_signature(function: &ItemFn) -> syn::Result<()> {
    let signature = &function.sig;
    if signature.asyncness.is_none() {
        let text = "a tool must be an async function";
        return Err(syn::Error::new_spanned(signature.fn_token, text));
    }
    if !signature.generics.params.is_empty() {
        let text = "a tool cannot be generic, because its schema is fixed";
        return Err(syn::Error::new_spanned(&signature.generics, text));
    }
    Ok(())
}

/// A parameter, which becomes a field of the argument struct.
struct Argument {
    attrs: Vec<Attribute>,
    name: Ident,
    ty: Type,
}

/// Takes the parameters and their attributes, and leaves bare parameters behind.
fn take_arguments(function: &mut ItemFn) -> syn::Result<Vec<Argument>> {
    function.sig.inputs.iter_mut().map(take_argument).collect()
}

fn take_argument(parameter: &mut FnArg) -> syn::Result<Argument> {
    let FnArg::Typed(PatType { attrs, pat, ty, .. }) = parameter else {
        let text =
            "a tool must be a free function; to capture state, pass a closure to `Function::new`";
        return Err(syn::Error::new_spanned(parameter, text));
    };
    let Pat::Ident(name) = &**pat else {
        let text = "a tool's parameter needs a name, because the model sends arguments by name";
        return Err(syn::Error::new_spanned(pat, text));
    };
    if matches!(&**ty, Type::Reference(_)) {
        let text = "a tool owns its arguments: use an owned type such as `String`";
        return Err(syn::Error::new_spanned(ty, text));
    }
    Ok(Argument {
        attrs: std::mem::take(attrs),
        name: name.ident.clone(),
        ty: (**ty).clone(),
    })
}

/// Joins the lines of the doc comment.
fn documentation(attrs: &[Attribute]) -> String {
    let lines: Vec<String> = attrs.iter().filter_map(doc_line).collect();
    lines.join("\n").trim().to_owned()
}

fn doc_line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else {
        return None;
    };
    let Expr::Lit(ExprLit {
        lit: Lit::Str(text),
        ..
    }) = &pair.value
    else {
        return None;
    };
    pair.path
        .is_ident("doc")
        .then(|| text.value().trim().to_owned())
}

/// Matches by name, because macros see no types.
fn returns_result(output: &ReturnType) -> bool {
    let ReturnType::Type(_, ty) = output else {
        return false;
    };
    let Type::Path(path) = &**ty else {
        return false;
    };
    path.path
        .segments
        .last()
        .is_some_and(|segment| segment.ident == "Result")
}
