//! One run of the program: its printer, its configuration, and a client once it is needed.

use std::cell::OnceCell;

use svc_sdk::{Client, RetryPolicy, Secret, Surface, contract};

use crate::args::{Global, SurfaceChoice};
use crate::config::{Environment, KeyLocation, KeyStore, Origin, Settings, origin_of, state_dir};
use crate::error::{Exit, Failure};
use crate::interrupt::Interrupts;
use crate::journal::{Journal, key_fingerprint};
use crate::output::{Printer, PrinterOptions};
use crate::sandbox::Sandbox;
use crate::text::{sanitize, shell_quote};
use crate::types::{Outcome, ResourceId};

/// One run of the program.
#[derive(Debug)]
pub(crate) struct Session {
    /// Writes both streams.
    pub(crate) printer: Printer,
    /// The flags that every command has.
    pub(crate) global: Global,
    /// Hears Ctrl-C.
    pub(crate) interrupts: Interrupts,
    environment: Environment,
    settings: OnceCell<Settings>,
    sandbox: OnceCell<Sandbox>,
}

/// A client, and what the journal has to know of it.
#[derive(Debug)]
pub(crate) struct Access<S> {
    /// The client.
    pub(crate) client: Client<S>,
    /// The host that it talks to.
    pub(crate) base_url: String,
    /// Which API key pays; empty without one.
    pub(crate) key_fingerprint: String,
}

/// A client of the MCP endpoint, not connected yet, and what the journal has to know of it.
#[cfg(feature = "mcp")]
#[derive(Debug)]
pub(crate) struct McpAccess {
    /// Connects to the endpoint.
    pub(crate) builder: svc_sdk::mcp::ClientBuilder,
    /// The endpoint.
    pub(crate) url: String,
    /// Which API key pays.
    pub(crate) key_fingerprint: String,
}

impl Session {
    /// Begins a run.
    pub(crate) fn new(global: Global) -> Result<Self, Failure> {
        let printer = Printer::new(&PrinterOptions {
            format: global.output,
            jq: global.jq.as_deref(),
            quiet: global.quiet,
            color: global.color,
        })?;
        let environment = if global.sandbox {
            Environment::default()
        } else {
            Environment::from_process()
        };
        Ok(Self {
            printer,
            global,
            interrupts: Interrupts::default(),
            environment,
            settings: OnceCell::new(),
            sandbox: OnceCell::new(),
        })
    }

    /// The configuration. The sandbox has none.
    pub(crate) fn settings(&self) -> Result<&Settings, Failure> {
        if let Some(settings) = self.settings.get() {
            return Ok(settings);
        }
        let settings = Settings::resolve(&self.global, &self.environment)?;
        Ok(self.settings.get_or_init(|| settings))
    }

    /// The variables of this run.
    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    /// Whether this run talks to a mock inside the process.
    pub(crate) fn is_sandbox(&self) -> bool {
        self.global.sandbox
    }

    /// Which host a command goes to: the one asked for, else open, unless only the other one is
    /// configured. A key that is missing moves no spending to the other host.
    pub(crate) fn surface(
        &self,
        requested: Option<SurfaceChoice>,
    ) -> Result<SurfaceChoice, Failure> {
        match requested {
            Some(surface) => Ok(surface),
            None if self.is_sandbox() => Ok(SurfaceChoice::Open),
            None => {
                let settings = self.settings()?;
                let is_set = |surface| settings.url_of(surface).is_some();
                let only_developer =
                    is_set(SurfaceChoice::Developer) && !is_set(SurfaceChoice::Open);
                Ok(match only_developer {
                    true => SurfaceChoice::Developer,
                    false => SurfaceChoice::Open,
                })
            }
        }
    }

    /// A client with a key.
    pub(crate) fn access<S: Surface>(&self) -> Result<Access<S>, Failure> {
        let surface = surface_choice::<S>();
        let base_url = self.base_url(surface)?;
        let key = self.key(surface, &base_url)?.ok_or_else(|| {
            let name = surface.as_str();
            Failure::new(
                Exit::NotAllowed,
                format!("no API key of the {name} surface is configured"),
            )
            .hint(format!("store one: svc auth login --surface {name}"))
            .hint(format!("or set {}", key_variable(surface)))
        })?;
        self.access_with(base_url, Some(&key))
    }

    /// A client with a key if there is one, for what needs none.
    pub(crate) fn access_without_key<S: Surface>(&self) -> Result<Access<S>, Failure> {
        let base_url = self.base_url(surface_choice::<S>())?;
        let key = self.key(surface_choice::<S>(), &base_url)?;
        self.access_with(base_url, key.as_ref())
    }

    /// A client with that key.
    pub(crate) fn access_with<S: Surface>(
        &self,
        base_url: String,
        key: Option<&Secret>,
    ) -> Result<Access<S>, Failure> {
        let mut builder = Client::<S>::builder()
            .base_url(base_url.clone())
            .user_agent(concat!("svc-cli/", env!("CARGO_PKG_VERSION")));
        if let Some(key) = key {
            self.printer.redact(key);
            builder = builder.api_key(key.clone());
        }
        if let Some(retries) = self.global.retries {
            builder = builder.retry(RetryPolicy::default().max_retries(retries));
        }
        if self.is_sandbox() {
            builder = builder.transport(self.sandbox().transport());
        }
        let key_fingerprint = key.map(key_fingerprint).unwrap_or_default();
        Ok(Access {
            client: builder.build()?,
            base_url,
            key_fingerprint,
        })
    }

    /// The MCP endpoint's client, not connected yet. It takes a developer key.
    #[cfg(feature = "mcp")]
    pub(crate) fn mcp(&self, flag: Option<&str>) -> Result<McpAccess, Failure> {
        let (url, key) = if self.is_sandbox() {
            let key = Sandbox::key(SurfaceChoice::Developer)?;
            (self.sandbox().mcp_url(), key)
        } else {
            let configured = || Ok::<_, Failure>(self.settings()?.get("mcp_url").cloned());
            let url = match flag {
                Some(url) => url.to_owned(),
                None => configured()?.map(|url| url.value).ok_or_else(|| {
                    Failure::usage("no MCP URL is configured")
                        .hint("set SVC_MCP_URL or the profile's mcp_url, or pass --mcp-url URL")
                })?,
            };
            let key = self.key(SurfaceChoice::Developer, &url)?.ok_or_else(|| {
                let why = "no API key of the developer surface is configured";
                Failure::new(Exit::NotAllowed, why)
                    .hint(format!("set {}", key_variable(SurfaceChoice::Developer)))
            })?;
            (url, key)
        };
        self.printer.redact(&key);
        let key_fingerprint = key_fingerprint(&key);
        let mut builder = svc_sdk::mcp::Client::builder()
            .url(url.clone())
            .api_key(key);
        if let Some(retries) = self.global.retries {
            builder = builder.retry(RetryPolicy::default().max_retries(retries));
        }
        if self.is_sandbox() {
            builder = builder.transport(self.sandbox().transport());
        }
        Ok(McpAccess {
            builder,
            url,
            key_fingerprint,
        })
    }

    /// The owner in the paths of the compatibility aliases.
    pub(crate) fn first_party_owner(&self, flag: Option<&str>) -> Result<String, Failure> {
        if let Some(owner) = flag {
            return Ok(owner.to_owned());
        }
        if self.is_sandbox() {
            return Ok(Sandbox::FIRST_PARTY_OWNER.to_owned());
        }
        match self.settings()?.get("first_party_owner") {
            Some(owner) => Ok(owner.value.clone()),
            None => Err(Failure::usage("no first-party owner is configured").hint(
                "pass --owner OWNER, or set SVC_FIRST_PARTY_OWNER or the profile's first_party_owner",
            )),
        }
    }

    /// The journal of this machine; the sandbox has none.
    pub(crate) fn journal(&self) -> Result<Option<Journal>, Failure> {
        if self.is_sandbox() {
            return Ok(None);
        }
        Ok(Some(Journal::at(&state_dir(&self.environment)?)))
    }

    /// Closes the journal's open intent of a resource, where its end is known.
    ///
    /// Whoever saw how it ended needs no later run of the command that tells it again.
    pub(crate) fn close_intent(&self, base_url: &str, id: &ResourceId, outcome: Option<Outcome>) {
        if let Some(outcome) = outcome
            && let Ok(Some(journal)) = self.journal()
        {
            journal.close_matching(base_url, id, outcome);
        }
    }

    /// Sends a request that changes something, unless Ctrl-C comes before its answer.
    ///
    /// # Errors
    ///
    /// Returns an error if the request fails, or, as ambiguous, if it is interrupted.
    pub(crate) async fn send<T, E: Into<Failure>>(
        &self,
        request: impl IntoFuture<Output = Result<T, E>>,
    ) -> Result<T, Failure> {
        tokio::select! {
            biased;
            sent = request.into_future() => sent.map_err(Into::into),
            () = self.interrupts.first() => Err(Failure::interrupted_in_flight()),
        }
    }

    /// The command that takes something up again, on a surface that it has to name.
    pub(crate) fn resume_command_on(&self, surface: SurfaceChoice, words: &[&str]) -> String {
        let words: Vec<&str> = words
            .iter()
            .copied()
            .chain(["--surface", surface.as_str()])
            .collect();
        self.resume_command(surface, &words)
    }

    /// The command that takes something up again, with the flags that this run was given.
    pub(crate) fn resume_command(&self, surface: SurfaceChoice, words: &[&str]) -> String {
        let url = match surface {
            SurfaceChoice::Open => ("--base-url", &self.global.base_url),
            SurfaceChoice::Developer => ("--developer-base-url", &self.global.developer_base_url),
        };
        let mut command = vec!["svc".to_owned()];
        command.extend(words.iter().map(|word| shell_quote(word).into_owned()));
        for (name, value) in [("--profile", &self.global.profile), url] {
            if let Some(value) = value {
                command.extend([name.to_owned(), shell_quote(value).into_owned()]);
            }
        }
        // Identifiers are the service's text, and this is for a terminal.
        sanitize(&command.join(" "))
    }

    fn base_url(&self, surface: SurfaceChoice) -> Result<String, Failure> {
        if self.is_sandbox() {
            return Ok(self.sandbox().base_url(surface));
        }
        Ok(self.settings()?.require_url(surface)?.value.clone())
    }

    fn key(&self, surface: SurfaceChoice, base_url: &str) -> Result<Option<Secret>, Failure> {
        if self.is_sandbox() {
            return Sandbox::key(surface).map(Some);
        }
        let variable = key_variable(surface);
        if let Some(key) = self.environment.get(variable) {
            return Secret::new(key)
                .map(Some)
                .map_err(|error| Failure::new(Exit::NotAllowed, format!("{variable}: {error}")));
        }
        let settings = self.settings()?;
        let store = KeyStore::next_to(settings.file.path());
        let profile = &settings.profile.value;
        let Some(stored) = store.find(profile, surface)? else {
            return Ok(None);
        };
        let origin = origin_of(base_url)?;
        if stored.origin != origin {
            let name = surface.as_str();
            return Err(Failure::new(
                Exit::NotAllowed,
                format!(
                    "the stored key belongs to {}, and is not sent to {origin}",
                    stored.origin
                ),
            )
            .hint(format!(
                "store a key of that host: svc auth login --surface {name} --base-url {base_url}"
            ))
            .hint(format!("or set {variable}")));
        }
        if let Some(permission_warning) = store.permission_warning() {
            self.printer.warn(&permission_warning);
        }
        store.read(profile, surface)
    }

    /// Where a surface's key comes from, where there is one.
    pub(crate) fn key_origin(&self, surface: SurfaceChoice) -> Result<Option<String>, Failure> {
        let variable = key_variable(surface);
        if self.environment.get(variable).is_some() {
            return Ok(Some(Origin::Variable(variable).to_string()));
        }
        let settings = self.settings()?;
        let store = KeyStore::next_to(settings.file.path());
        let stored = store.find(&settings.profile.value, surface)?;
        Ok(stored.map(|stored| match stored.location {
            KeyLocation::Keyring => format!("keyring, for {}", stored.origin),
            KeyLocation::File => format!("file {}, for {}", store.path().display(), stored.origin),
        }))
    }

    fn sandbox(&self) -> &Sandbox {
        self.sandbox.get_or_init(|| {
            self.printer.note("sandbox: a mock of the service inside this process; nothing is real and nothing costs");
            Sandbox::start()
        })
    }
}

/// The variable that holds a surface's key.
const fn key_variable(surface: SurfaceChoice) -> &'static str {
    match surface {
        SurfaceChoice::Open => "SVC_OPEN_API_KEY",
        SurfaceChoice::Developer => "SVC_DEVELOPER_API_KEY",
    }
}

/// The surface that a client is of.
pub(crate) fn surface_choice<S: Surface>() -> SurfaceChoice {
    match S::SURFACE {
        contract::Surface::Developer => SurfaceChoice::Developer,
        _ => SurfaceChoice::Open,
    }
}
