//! `--jq EXPR`: a filter of the output, compiled before anything is sent.

use crate::error::{ClientCode, Exit, Failure, Result};

/// The maximum number of characters of an error, which may quote the data.
const MAX_ERROR_CHARS: usize = 200;

pub(crate) struct Filter {
    expression: String,
    compiled: engine::Compiled,
}

impl Filter {
    pub(crate) fn compile(expression: &str) -> Result<Self> {
        let compiled = engine::compile(expression)
            .map_err(|why| Failure::usage(format!("invalid --jq filter `{expression}`: {why}")))?;
        Ok(Self { expression: expression.to_owned(), compiled })
    }

    /// Returns one line per output; strings are not quoted.
    pub(crate) fn apply(&self, json: &[String]) -> Result<Vec<String>> {
        engine::run(&self.compiled, json).map_err(|why| {
            let is_list = why.starts_with("cannot index [");
            let why = match why.char_indices().nth(MAX_ERROR_CHARS) {
                Some((end, _)) => format!("{}…", why.get(..end).unwrap_or_default()),
                None => why,
            };
            let failure = Failure::new(Exit::Failure, format!("--jq `{}`: {why}", self.expression))
                .with_client_code(ClientCode::FILTER_FAILED);
            match is_list {
                true => failure.hint("it is a list: its items are `.[]`, such as --jq '.[].id'"),
                false => failure,
            }
        })
    }
}

impl std::fmt::Debug for Filter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Filter")
    }
}

#[cfg(feature = "jq")]
mod engine {
    use std::cell::Cell;
    use std::collections::{BTreeMap, BTreeSet};
    use std::thread;

    use jaq_core::load::lex::{Lexer, StrPart, Tok, Token};
    use jaq_core::load::parse::Def;
    use jaq_core::load::{self, Arena, File, Loader};
    use jaq_core::{Compiler, Ctx, Cv, DataT, Error, Exn, RunPtr, Vars, data, native, unwrap_valr};
    use jaq_json::{Map, Num, Val, read};
    use jaq_std::input::{HasInputs, Inputs, RcIter};

    pub(super) type Compiled = jaq_core::Filter<Values>;

    /// The functions that would end this process, with an exit code of their own.
    const ENDING_FUNCTIONS: [&str; 2] = ["halt", "halt_error"];
    /// The function that ends recursion without end. Each function of the filter begins with it.
    const CHECK: &str = "__check_recursion";
    /// The stack of the thread that runs the filter.
    const STACK_BYTES: usize = 256 << 20;
    const MAX_STACK_BYTES: usize = 200 << 20;
    const MAX_CALLS: u64 = if cfg!(test) { 100_000 } else { 500_000 };
    const MAX_OUTPUT_BYTES: usize = 512 << 20;
    /// The function of the library that makes numbers, and its name in the one that checks it.
    const RANGE: [&str; 2] = ["range", "__range"];
    const CHECKED_RANGE: &str =
        "def range(from; to; by): __range(from; to; by) | __check_recursion;";

    thread_local! {
        /// The address at which the stack of the filter begins, and the number of calls.
        static BEGIN: Cell<usize> = const { Cell::new(0) };
        static CALLS: Cell<u64> = const { Cell::new(0) };
    }

    pub(super) struct Values;

    impl DataT for Values {
        type V<'a> = Val;
        type Data<'a> = Data<'a>;
    }

    #[derive(Clone)]
    pub(super) struct Data<'a> {
        lut: &'a jaq_core::Lut<Values>,
        inputs: Inputs<'a, Val>,
    }

    impl<'a> data::HasLut<'a, Values> for Data<'a> {
        fn lut(&self) -> &'a jaq_core::Lut<Values> {
            self.lut
        }
    }

    impl<'a> HasInputs<'a, Val> for Data<'a> {
        fn inputs(&self) -> Inputs<'a, Val> {
            self.inputs
        }
    }

    pub(super) fn compile(expression: &str) -> Result<Compiled, String> {
        let defs = parse_defs(CHECKED_RANGE)
            .into_iter()
            .chain(jaq_core::defs())
            .chain(jaq_std::defs())
            .chain(jaq_json::defs())
            .chain(parse_defs(include_str!("functions.jq")))
            .filter(|def| !ENDING_FUNCTIONS.contains(&def.name));
        let defs: Vec<_> = defs.collect();
        let check: native::Filter<RunPtr<Values>> =
            (CHECK, native::v(0), |cv| Box::new(std::iter::once(check_recursion(cv))));
        let funs = jaq_core::funs()
            .chain(jaq_std::funs())
            .chain(
                jaq_std::input::funs::<Values>().into_vec().into_iter().map(native::run::<Values>),
            )
            .chain(jaq_json::funs())
            .filter(|(name, ..)| !ENDING_FUNCTIONS.contains(name))
            .map(|(name, args, run)| (if name == RANGE[0] { RANGE[1] } else { name }, args, run))
            .chain([native::run::<Values>(check)]);
        let funs: Vec<_> = funs.collect();
        let names = defs.iter().map(|def| (def.name, def.args.len()));
        let names = names.chain(funs.iter().map(|(name, args, _)| (*name, args.len())));
        let names: BTreeSet<_> = names
            .filter(|(name, _)| !name.starts_with('_'))
            .map(|(name, count)| format!("{name}/{count}"))
            .chain(["builtins/0".to_owned()])
            .collect();
        let names = names.into_iter().collect::<Vec<_>>().join(" ");
        // A list of them would need too much stack to be compiled.
        let builtins = format!("def builtins: \"{names}\" / \" \";");
        let mut defs: Vec<Def<&str>> = defs;
        defs.extend(parse_defs(&builtins));
        let arena = Arena::default();
        let code = with_checks(expression)?;
        let program = File { code: code.as_str(), path: () };
        let modules =
            Loader::new(defs).load(&arena, program).map_err(|_| "syntax error".to_owned())?;
        let compiler = Compiler::default().with_funs(funs).with_global_vars(["$ENV", "$__loc__"]);
        compiler.compile(modules).map_err(|errors| {
            let unknown =
                errors.iter().flat_map(|(_, errors)| errors).map(|(name, _)| (*name).to_owned());
            format!("{} is not defined", unknown.collect::<Vec<_>>().join(", "))
        })
    }

    fn parse_defs(code: &str) -> Vec<Def<&str>> {
        load::parse(code, |parser| parser.defs()).unwrap_or_default()
    }

    fn with_checks(expression: &str) -> Result<String, String> {
        let tokens = Lexer::new(expression).lex().map_err(|_| "syntax error".to_owned())?;
        let mut ends = Vec::new();
        find_bodies(expression, &tokens, &mut ends);
        ends.sort_unstable();
        let mut code = String::new();
        let mut begin = 0;
        for end in ends {
            code.push_str(expression.get(begin..end).unwrap_or_default());
            code.push_str(CHECK);
            code.push('|');
            begin = end;
        }
        code.push_str(expression.get(begin..).unwrap_or_default());
        Ok(code)
    }

    /// Collects where the bodies of functions begin: after the colon of `def name(…):`.
    fn find_bodies(whole: &str, tokens: &[Token<&str>], ends: &mut Vec<usize>) {
        let mut in_head = false;
        for Token(text, kind) in tokens {
            match kind {
                Tok::Word if *text == "def" => in_head = true,
                Tok::Sym if in_head && *text == ":" => {
                    in_head = false;
                    ends.push(load::span(whole, text).end);
                }
                Tok::Block(inner) => find_bodies(whole, inner, ends),
                Tok::Str(parts) => parts.iter().for_each(|part| {
                    if let StrPart::Term(Token(_, Tok::Block(inner))) = part {
                        find_bodies(whole, inner, ends);
                    }
                }),
                _ => {}
            }
        }
    }

    fn check_recursion<'a>(cv: Cv<'a, Values>) -> Result<Val, Exn<'a, Val>> {
        let calls = CALLS.get() + 1;
        CALLS.set(calls);
        // A stack grows from its beginning to lower addresses.
        if BEGIN.get().saturating_sub(address()) > MAX_STACK_BYTES || calls > MAX_CALLS {
            return Err(Exn::from(Error::str(format_args!(
                "a function does not end within {MAX_CALLS} steps"
            ))));
        }
        Ok(cv.1)
    }

    /// Returns an address in the current part of the stack.
    #[inline(never)]
    fn address() -> usize {
        let here = 0_u8;
        std::ptr::from_ref(&here).addr()
    }

    fn print(value: &Val) -> String {
        let text = value.to_string();
        match text.contains("NaN") || text.contains("Infinity") {
            true => with_finite_numbers(value).to_string(),
            false => text,
        }
    }

    /// Replaces NaN and infinite numbers, which JSON does not have, by what jq prints for them.
    fn with_finite_numbers(value: &Val) -> Val {
        match value {
            Val::Num(Num::Float(number)) if number.is_nan() => Val::Null,
            Val::Num(Num::Float(number)) if number.is_infinite() => {
                let sign = if *number < 0.0 { "-" } else { "" };
                Val::Num(Num::Dec(format!("{sign}1.7976931348623157e+308").into()))
            }
            Val::Arr(items) => items.iter().map(with_finite_numbers).collect(),
            Val::Obj(fields) => {
                let fields = fields.iter().map(|(key, it)| (key.clone(), with_finite_numbers(it)));
                Val::Obj(fields.collect::<Map<_, _>>().into())
            }
            other => other.clone(),
        }
    }

    pub(super) fn run(filter: &Compiled, json: &[String]) -> Result<Vec<String>, String> {
        thread::scope(|scope| {
            let thread = thread::Builder::new().stack_size(STACK_BYTES);
            let thread = thread.spawn_scoped(scope, || {
                BEGIN.set(address());
                run_here(filter, json)
            });
            let result = thread.map_err(|error| error.to_string())?.join();
            result.unwrap_or_else(|_| Err("the filter failed".to_owned()))
        })
    }

    fn run_here(filter: &Compiled, json: &[String]) -> Result<Vec<String>, String> {
        let parse = |json: &[u8]| read::parse_single(json).map_err(|error| error.to_string());
        let inputs = RcIter::new(json.iter().map(|json| parse(json.as_bytes())));
        let inputs: Inputs<'_, Val> = &inputs;
        let variables: BTreeMap<_, _> = std::env::vars_os()
            .map(|(name, value)| [name, value].map(|it| it.to_string_lossy().into_owned()))
            .map(|[name, value]| (name, value))
            .collect();
        let variables = serde_json::to_vec(&variables).map_err(|error| error.to_string())?;
        let variables = parse(&variables)?;
        let location = parse(br#"{"file":"<top-level>","line":1}"#)?;
        let (mut lines, mut bytes) = (Vec::new(), 0);
        for input in inputs {
            let context = Ctx::<Values>::new(
                Data { lut: &filter.lut, inputs },
                Vars::new([variables.clone(), location.clone()]),
            );
            for output in filter.id.run((context, input?)).map(unwrap_valr) {
                let line = match output {
                    Ok(Val::TStr(text)) => String::from_utf8_lossy(&text).into_owned(),
                    Ok(value) => print(&value),
                    Err(error) => return Err(error.to_string()),
                };
                bytes += line.len();
                if bytes > MAX_OUTPUT_BYTES {
                    return Err(format!("the output is larger than {MAX_OUTPUT_BYTES} bytes"));
                }
                lines.push(line);
            }
        }
        Ok(lines)
    }
}

#[cfg(not(feature = "jq"))]
mod engine {
    pub(super) enum Compiled {}

    pub(super) fn compile(_: &str) -> Result<Compiled, String> {
        Err("this build does not support jq".to_owned())
    }

    pub(super) fn run(filter: &Compiled, _: &[String]) -> Result<Vec<String>, String> {
        match *filter {}
    }
}

#[cfg(test)]
#[cfg(feature = "jq")]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_filter_is_a_usage_error_and_a_failing_one_is_not() {
        for bad in [".[", "nosuchfilter", "|", "halt", "halt_error", "halt_error(3)"] {
            assert_eq!(Filter::compile(bad).unwrap_err().exit(), Exit::Usage, "{bad}");
        }
        let fails = Filter::compile(".a.b")
            .unwrap()
            .apply(&[format!("[{}]", ["1"; 500].join(","))])
            .unwrap_err();
        assert_eq!(fails.exit(), Exit::Failure);
        let json = fails.to_json();
        assert_eq!(json["error"]["code"], "filter_failed");
        assert!(json["error"]["message"].as_str().unwrap().chars().count() < 250, "{json}");
        for endless in [
            "def f: 1 + f; f",
            "def f: [f]; f",
            "def f: f | f; f",
            "def f: f; f",
            "\"\\(def f: 1+f; f)\"",
            "repeat(.)",
            "[repeat(.)]",
            "recurse(.)",
            "last(recurse([.]))",
            "until(false; .)",
            "[while(true; . + 1)]",
            "[range(infinite)]",
            "reduce range(0; infinite) as $i (0; . + 1)",
        ] {
            let failure = Filter::compile(endless).unwrap().apply(&["1".to_owned()]).unwrap_err();
            assert!(failure.headline().contains("does not end"), "{endless}: {failure:?}");
        }
        let deep = "def f: if . == 0 then 0 else 1 + (. - 1 | f) end; f";
        assert_eq!(Filter::compile(deep).unwrap().apply(&["5000".to_owned()]).unwrap(), ["5000"]);
    }
}
