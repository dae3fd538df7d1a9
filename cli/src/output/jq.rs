//! `--jq EXPR`: a filter of the output, compiled before anything is sent.

use serde::Serialize;

use crate::error::Failure;

/// A compiled jq filter.
pub(crate) struct Filter(engine::Compiled);

impl Filter {
    pub(crate) fn compile(expression: &str) -> Result<Self, Failure> {
        let compiled = engine::compile(expression)
            .map_err(|why| Failure::usage(format!("invalid --jq filter `{expression}`: {why}")))?;
        Ok(Self(compiled))
    }

    /// Applies the filter. Returns one line per output; strings are not quoted.
    pub(crate) fn apply(&self, value: &impl Serialize) -> Result<Vec<String>, Failure> {
        let json = serde_json::to_vec(value)
            .map_err(|error| Failure::other(format!("cannot write the output as JSON: {error}")))?;
        engine::run(&self.0, &json).map_err(|why| Failure::other(format!("--jq: {why}")))
    }
}

impl std::fmt::Debug for Filter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Filter")
    }
}

#[cfg(feature = "jq")]
mod engine {
    use jaq_core::load::{Arena, File, Loader};
    use jaq_core::{Compiler, Ctx, Vars, data, unwrap_valr};
    use jaq_json::{Val, read};

    pub(super) type Compiled = jaq_core::Filter<data::JustLut<Val>>;

    /// The functions that would end this process, with an exit code of their own.
    const ENDING_FUNCTIONS: [&str; 2] = ["halt", "halt_error"];

    pub(super) fn compile(expression: &str) -> Result<Compiled, String> {
        let defs = jaq_core::defs()
            .chain(jaq_std::defs())
            .chain(jaq_json::defs())
            .filter(|def| !ENDING_FUNCTIONS.contains(&def.name));
        let funs = jaq_core::funs()
            .chain(jaq_std::funs())
            .chain(jaq_json::funs())
            .filter(|(name, ..)| !ENDING_FUNCTIONS.contains(name));
        let arena = Arena::default();
        let program = File { code: expression, path: () };
        let modules =
            Loader::new(defs).load(&arena, program).map_err(|_| "syntax error".to_owned())?;
        Compiler::default().with_funs(funs).compile(modules).map_err(|errors| {
            let unknown =
                errors.iter().flat_map(|(_, errors)| errors).map(|(name, _)| (*name).to_owned());
            format!("{} is not defined", unknown.collect::<Vec<_>>().join(", "))
        })
    }

    pub(super) fn run(filter: &Compiled, json: &[u8]) -> Result<Vec<String>, String> {
        let input = read::parse_single(json).map_err(|error| error.to_string())?;
        let context = Ctx::<data::JustLut<Val>>::new(&filter.lut, Vars::new([]));
        filter
            .id
            .run((context, input))
            .map(unwrap_valr)
            .map(|output| match output {
                Ok(Val::TStr(text)) => Ok(String::from_utf8_lossy(&text).into_owned()),
                Ok(value) => Ok(value.to_string()),
                Err(error) => Err(error.to_string()),
            })
            .collect()
    }
}

#[cfg(not(feature = "jq"))]
mod engine {
    pub(super) enum Compiled {}

    pub(super) fn compile(_: &str) -> Result<Compiled, String> {
        Err("this build does not support jq".to_owned())
    }

    pub(super) fn run(filter: &Compiled, _: &[u8]) -> Result<Vec<String>, String> {
        match *filter {}
    }
}

#[cfg(test)]
#[cfg(feature = "jq")]
mod tests {
    use super::*;
    use crate::error::Exit;

    #[test]
    fn an_invalid_filter_is_a_usage_error_and_a_failing_one_is_not() {
        for bad in [".[", "nosuchfilter", "|", "halt", "halt_error", "halt_error(3)"] {
            assert_eq!(Filter::compile(bad).unwrap_err().exit(), Exit::Usage, "{bad}");
        }
        let fails = Filter::compile(".a.b").unwrap().apply(&[1]);
        assert_eq!(fails.unwrap_err().exit(), Exit::Failure);
    }
}
