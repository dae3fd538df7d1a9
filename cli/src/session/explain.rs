//! Hints that depend on the configuration.

use svc_sdk::contract::ErrorCode;
use url::Url;

use super::Session;
use super::transports::EMPTY_SANDBOX;
use crate::args::SurfaceChoice;
use crate::config::{ConfiguredKey, KeyOrigin, Origin};
use crate::error::{Failure, SetupProblem, SuggestedCommand, Suggestion};

const MOCK_PORT: u16 = 4010;

impl Session {
    /// Adds what the configuration has to do with a failure, and its flags to the commands.
    pub(crate) fn explain(&self, failure: Failure) -> Failure {
        let is_missing_job = failure.code() == Some(ErrorCode::JobNotFound.as_str());
        match failure.setup_problem() {
            Some(SetupProblem::KeyRejected) => self.explain_rejected_key(failure),
            Some(SetupProblem::Unreachable) => self.explain_connection(failure),
            Some(SetupProblem::WebPage) => {
                let surface = self.used_url.borrow().as_ref().map(|(surface, _)| *surface);
                let surface = surface.unwrap_or(SurfaceChoice::Open);
                let check = "check the URL, and whether a proxy or a login page is in between: ";
                let doctor = self.resume_command(surface, &["doctor"]);
                failure.hint(Suggestion::from(check).command(doctor))
            }
            None if self.is_sandbox() && is_missing_resource(&failure) => {
                failure.without_hints().hint(EMPTY_SANDBOX)
            }
            None => match self.used_url.borrow().as_ref() {
                Some((surface, _)) if is_missing_job => {
                    let words = ["job", "list"];
                    let command = match self.surface(None) {
                        Ok(default) if default == *surface => self.resume_command(*surface, &words),
                        _ => self.resume_command_on(*surface, &words),
                    };
                    failure.hint(Suggestion::from("list the jobs with: ").command(command))
                }
                _ => failure,
            },
        }
    }

    /// Returns the command that starts a mock server with a URL that is configured, if that is one of this machine.
    pub(crate) fn configured_mock(&self) -> Option<SuggestedCommand> {
        let mut surfaces = SurfaceChoice::ALL.into_iter();
        surfaces.find_map(|surface| mock_command(surface, &self.base_url(surface).ok()?))
    }

    fn explain_rejected_key(&self, failure: Failure) -> Failure {
        let used_keys = self.used_keys.borrow();
        let failure = used_keys.iter().fold(failure, |failure, (_, used)| {
            failure.with_api_key(used.redacted(), used.origin.to_string())
        });
        if used_keys.is_empty() {
            return failure
                .hint(Suggestion::from("store a valid API key: ").svc(["auth", "login"]));
        }
        used_keys.iter().fold(failure, |failure, (surface, used)| {
            let failure = failure.with_some(self.confusion(*surface, used), Failure::hint);
            match &used.origin {
                KeyOrigin::Variable(name) => failure
                    .hint(format!("correct or unset {name}, which overrides a stored key"))
                    .hint(
                        Suggestion::from("or see which keys are configured: ")
                            .svc(["auth", "status"]),
                    ),
                KeyOrigin::Stored { .. } | KeyOrigin::Input(_) => {
                    let login = self.resume_command_on(*surface, &["auth", "login"]);
                    let name = surface.as_str();
                    let store = format!("store a valid API key of the {name} surface: ");
                    failure.hint(Suggestion::from(store).command(login))
                }
                KeyOrigin::Sandbox => failure,
            }
        })
    }

    /// Returns what shows that the surfaces were mistaken for each other, if anything does.
    fn confusion(&self, surface: SurfaceChoice, used: &ConfiguredKey) -> Option<Suggestion> {
        let other = surface.other();
        let key = self.configured_key(other).ok().flatten();
        if key.is_some_and(|key| key.key.expose() == used.key.expose()) {
            let other = other.as_str();
            let why = format!(
                "the same key is configured for the {other} surface: each surface has keys of its own"
            );
            return Some(why.into());
        }
        let settings = self.settings().ok()?;
        let url = settings.url_of(surface)?;
        (settings.url_of(other)?.value == url.value).then(|| {
            let url = &url.value;
            let why =
                format!("the URL {url} is configured for both surfaces, but each has its own: ");
            Suggestion::from(why).svc(["config", "show", "--origin"])
        })
    }

    /// Says where the URL of a service that cannot be reached comes from.
    fn explain_connection(&self, failure: Failure) -> Failure {
        let used_url = self.used_url.borrow();
        let Some((surface, url)) = used_url.as_ref() else {
            return failure.hint("check the network");
        };
        let start = "if a mock of the service should be running there, start it: ";
        let mock = mock_command(*surface, url);
        let mock = mock.map(|command| Suggestion::from(start).command(command));
        let proxy = proxy_of(url).map(|(name, proxy)| {
            format!("check the proxy {proxy} of {name}, which is used unless NO_PROXY has the host")
        });
        let failure = failure.with_some(mock, Failure::hint).with_some(proxy, Failure::hint);
        let settings = self.settings().ok();
        let origin = settings.and_then(|settings| settings.origin_of_url(url));
        match origin {
            Some(Origin::Flag(name)) => {
                failure.hint(format!("check the network, and the URL that {name} gives"))
            }
            _ => failure.hint(
                Suggestion::from("check the network, and where the URL comes from: ")
                    .svc(["config", "show", "--origin"]),
            ),
        }
    }
}

/// Returns the variable that names a proxy for a URL, and the host and port of that.
fn proxy_of(url: &str) -> Option<(&'static str, String)> {
    let variables = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"].into_iter();
    let mut set = variables.filter_map(|name| Some((name, std::env::var(name).ok()?)));
    let (name, proxy) = set.find(|(_, value)| !value.is_empty())?;
    let proxy = match proxy.contains("://") {
        true => Url::parse(&proxy),
        false => Url::parse(&format!("http://{proxy}")),
    };
    let proxy = proxy.ok()?;
    let port = proxy.port_or_known_default()?;
    url.starts_with("https://").then(|| Some((name, format!("{}:{port}", proxy.host_str()?))))?
}

fn is_missing_resource(failure: &Failure) -> bool {
    let codes = [
        ErrorCode::JobNotFound,
        ErrorCode::FormatRunNotFound,
        ErrorCode::FormatRunQueueNotFound,
        ErrorCode::ActionRunNotFound,
        ErrorCode::AgentRunNotFound,
        ErrorCode::TopUpNotFound,
    ];
    let code = failure.code();
    codes.iter().any(|known| code == Some(known.as_str()))
}

/// Returns the command that starts a mock server with that URL, if it is one of this machine.
fn mock_command(surface: SurfaceChoice, url: &str) -> Option<SuggestedCommand> {
    let url = Url::parse(url).ok()?;
    let is_loopback = matches!(url.host_str()?, "127.0.0.1" | "localhost" | "[::1]");
    if url.scheme() != "http" || !is_loopback {
        return None;
    }
    let port = url.port_or_known_default()?;
    let base = match surface {
        SurfaceChoice::Open => port,
        SurfaceChoice::Developer => port.checked_sub(1)?,
    };
    let base = (base != MOCK_PORT).then(|| ["--port-base".to_owned(), base.to_string()]);
    let serve = ["mock", "serve"].map(str::to_owned).into_iter();
    Some(SuggestedCommand::new(serve.chain(base.into_iter().flatten())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mock_is_started_on_the_port_of_the_url() {
        use SurfaceChoice::{Developer, Open};

        let command =
            |surface, url| mock_command(surface, url).map_or(String::new(), |it| it.to_string());
        assert_eq!(command(Open, "http://127.0.0.1:4010"), "svc mock serve");
        assert_eq!(command(Developer, "http://localhost:4011/"), "svc mock serve");
        assert_eq!(command(Developer, "http://[::1]:5001"), "svc mock serve --port-base 5000");
        assert_eq!(command(Open, "https://api.example"), "");
        assert_eq!(command(Open, "https://127.0.0.1:4010"), "");
    }
}
