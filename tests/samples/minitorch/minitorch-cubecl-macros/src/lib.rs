//! The `#[cube]` attribute: marks a function as device code and gives it a launcher.

use proc_macro::{TokenStream, TokenTree};

/// Keep the function and add `NAME::launch_unchecked` beside it.
///
/// The launcher hands the kernel's name and its arguments to the compute client,
/// which compiles the body for its target.
#[proc_macro_attribute]
pub fn cube(_arguments: TokenStream, item: TokenStream) -> TokenStream {
    let Some(name) = function_name(item.clone()) else {
        return "compile_error!(\"#[cube] goes on a function\");".parse().expect("a literal");
    };
    let launcher = format!(
        "pub mod {name} {{
            use crate::runtime::{{ComputeClient, CubeCount, CubeDim, KernelArg, RuntimeError}};
            pub fn launch_unchecked(
                client: &ComputeClient, count: CubeCount, dim: CubeDim, args: &[KernelArg],
            ) -> Result<(), RuntimeError> {{
                client.submit({name:?}, count, dim, args)
            }}
        }}"
    );
    let mut out = item;
    out.extend(launcher.parse::<TokenStream>().expect("valid Rust"));
    out
}

fn function_name(item: TokenStream) -> Option<String> {
    let mut tokens = item.into_iter();
    while let Some(token) = tokens.next() {
        if matches!(&token, TokenTree::Ident(word) if word.to_string() == "fn") {
            return tokens.next().map(|name| name.to_string());
        }
    }
    None
}
