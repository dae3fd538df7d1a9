//! The proxies that the environment names.

/// The variables that reqwest reads for https, the more specific first.
const VARIABLES: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];

/// Checks the proxy that reqwest would take from the environment. If its URL is not valid, reqwest
/// connects without a proxy, which is not what was asked for.
///
/// # Errors
///
/// Returns an error that names the variable. It does not show the value, which may have a password.
pub(super) fn check_environment(variable: impl Fn(&str) -> Option<String>) -> Result<(), String> {
    let set = VARIABLES
        .into_iter()
        .find_map(|name| Some((name, variable(name).filter(|value| !value.is_empty())?)));
    match set {
        Some((name, value)) if reqwest::Proxy::all(value.as_str()).is_err() => Err(format!(
            "invalid proxy URL in {name}: expected a URL such as http://proxy.example:3128"
        )),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(variables: &[(&str, &str)]) -> Result<(), String> {
        check_environment(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn an_invalid_proxy_is_named_without_its_password() {
        for value in ["http://[", "http://user:canary@[::", "://"] {
            let error = check(&[("HTTPS_PROXY", value)]).unwrap_err();
            assert!(
                error.contains("HTTPS_PROXY") && !error.contains("canary"),
                "{error}"
            );
        }
        let shadowed = [
            ("HTTPS_PROXY", "http://127.0.0.1:1"),
            ("ALL_PROXY", "http://["),
        ];
        assert_eq!(check(&shadowed), Ok(()));
        for value in ["", "http://127.0.0.1:3128", "proxy.example:3128"] {
            assert_eq!(check(&[("all_proxy", value)]), Ok(()), "{value}");
        }
    }
}
