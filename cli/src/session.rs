//! The session of a command: the printer, the configuration and the clients.

mod explain;
mod keys;
mod transports;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

#[cfg(feature = "mcp")]
use svc_sdk::Developer;
use svc_sdk::transport::Transport;
use svc_sdk::{ApiKey, Client, ClientBuilder, ClientSurface, RetryPolicy};

use crate::args::{Global, JournalArgs, SurfaceChoice};
use crate::config::{ConfiguredKey, Environment, Settings, config_file, state_dir};
use crate::error::{ClientCode, Exit, Failure, Result, SuggestedCommand, Suggestion};
use crate::interrupt::Interrupts;
use crate::journal::{self, Entry, Submissions, key_fingerprint};
use crate::output::{LOG_VARIABLE, LogFilter, Printer, PrinterOptions};
use crate::resource::{Outcome, ResourceId};
use crate::session::transports::{ConnectRetry, Sandbox, SlowRequestNote};

pub(crate) use crate::session::transports::EMPTY_SANDBOX;

const USER_AGENT: &str = concat!("svc-cli/", env!("CARGO_PKG_VERSION"));

#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) printer: Printer,
    pub(crate) global: Global,
    pub(crate) interrupts: Interrupts,
    environment: Environment,
    settings: OnceCell<Settings>,
    sandbox: OnceCell<Sandbox>,
    used_keys: RefCell<Vec<(SurfaceChoice, ConfiguredKey)>>,
    /// The surface and the URL of the newest client.
    used_url: RefCell<Option<(SurfaceChoice, String)>>,
    answered: RefCell<HashMap<String, Arc<AtomicBool>>>,
    /// Whether the command runs on the open surface because no option says which.
    is_default_surface: Cell<bool>,
    /// Whether the command waits for a service that is not there.
    waits_for_service: Cell<bool>,
}

#[derive(Debug)]
pub(crate) struct Access<S> {
    pub(crate) client: Client<S>,
    pub(crate) base_url: String,
    /// The fingerprint of the API key, or empty without one.
    pub(crate) key_fingerprint: String,
    pub(crate) keeps_labels: bool,
}

impl Session {
    pub(crate) fn new(global: Global) -> Result<Self> {
        let session = Self::without_logging(global)?;
        let process = Environment::from_process();
        let filter = LogFilter::new(session.global.verbose, process.get(LOG_VARIABLE))?;
        session.printer.start_logging(filter);
        Ok(session)
    }

    /// Creates a session that logs nothing by itself, such as that of a completion.
    pub(crate) fn without_logging(global: Global) -> Result<Self> {
        let printer = Printer::new(&PrinterOptions {
            format: global.output,
            jq: global.jq.as_deref(),
            quiet: global.quiet,
            color: global.color,
        })?;
        let environment =
            if global.sandbox { Environment::default() } else { Environment::from_process() };
        Ok(Self {
            printer,
            global,
            interrupts: Interrupts::default(),
            environment,
            settings: OnceCell::new(),
            sandbox: OnceCell::new(),
            used_keys: RefCell::default(),
            used_url: RefCell::default(),
            answered: RefCell::default(),
            is_default_surface: Cell::default(),
            waits_for_service: Cell::default(),
        })
    }

    /// Makes the command wait for a service that is not there as for one that does not answer any more.
    pub(crate) fn wait_for_service(&self) {
        self.waits_for_service.set(true);
    }

    /// Returns the settings, which are loaded on first use.
    pub(crate) fn settings(&self) -> Result<&Settings> {
        if let Some(settings) = self.settings.get() {
            return Ok(settings);
        }
        let settings = Settings::resolve(&self.global, &self.environment)?;
        Ok(self.settings.get_or_init(|| settings))
    }

    pub(crate) fn environment(&self) -> &Environment {
        &self.environment
    }

    pub(crate) fn keeps_labels(&self) -> bool {
        self.environment.get("SVC_NO_LABELS").is_none()
    }

    pub(crate) fn is_sandbox(&self) -> bool {
        self.global.sandbox
    }

    /// Takes the open surface, unless another is requested or only the other one has a URL. A missing API key
    /// does not change the surface.
    pub(crate) fn surface(&self, requested: Option<SurfaceChoice>) -> Result<SurfaceChoice> {
        if requested.is_some() || self.is_sandbox() {
            return Ok(requested.unwrap_or(SurfaceChoice::Open));
        }
        let settings = self.settings()?;
        let is_set = |surface| settings.url_of(surface).is_some();
        let only_developer = is_set(SurfaceChoice::Developer) && !is_set(SurfaceChoice::Open);
        self.is_default_surface.set(!only_developer);
        Ok(if only_developer { SurfaceChoice::Developer } else { SurfaceChoice::Open })
    }

    pub(crate) fn access<S: ClientSurface>(&self) -> Result<Access<S>> {
        self.access_by(|builder| builder)
    }

    pub(crate) fn access_by<S: ClientSurface>(
        &self,
        configure: impl FnOnce(ClientBuilder<S>) -> ClientBuilder<S>,
    ) -> Result<Access<S>> {
        let surface = surface_choice::<S>();
        let base_url = self.base_url(surface)?;
        let key = self.key(surface, &base_url)?.ok_or_else(|| {
            let (failure, other) = (missing_key(surface), surface.other());
            let is_choice = surface == SurfaceChoice::Open && self.is_default_surface.get();
            match self.base_url(other).and_then(|url| self.find_key(other, &url)) {
                Ok(Some(_)) if is_choice => failure.hint(format!(
                    "or pass --surface {}, whose URL and key are configured",
                    other.as_str()
                )),
                _ => failure,
            }
        })?;
        self.access_to(base_url, Some(&key), configure)
    }

    /// Returns a client with an API key if there is one, for operations that need none.
    pub(crate) fn access_without_key<S: ClientSurface>(&self) -> Result<Access<S>> {
        let base_url = self.base_url(surface_choice::<S>())?;
        let key = self.key(surface_choice::<S>(), &base_url)?;
        self.access_with(base_url, key.as_ref())
    }

    pub(crate) fn access_with<S: ClientSurface>(
        &self,
        base_url: String,
        key: Option<&ApiKey>,
    ) -> Result<Access<S>> {
        self.access_to(base_url, key, |builder| builder)
    }

    pub(crate) fn access_to<S: ClientSurface>(
        &self,
        base_url: String,
        key: Option<&ApiKey>,
        configure: impl FnOnce(ClientBuilder<S>) -> ClientBuilder<S>,
    ) -> Result<Access<S>> {
        *self.used_url.borrow_mut() = Some((surface_choice::<S>(), base_url.clone()));
        let mut builder = Client::<S>::builder()
            .base_url(base_url.clone())
            .allow_private_artifact_hosts(self.global.allow_private_artifact_hosts)
            .user_agent(USER_AGENT);
        if let Some(key) = key {
            self.printer.redact(key);
            builder = builder.api_key(key.clone());
        }
        if let Some(retries) = self.global.retries {
            builder = builder.retry(RetryPolicy::default().max_retries(retries));
        }
        builder = builder.transport(self.transport(&base_url));
        let key_fingerprint = key.map(key_fingerprint).unwrap_or_default();
        let (client, keeps_labels) = (configure(builder).build()?, self.keeps_labels());
        Ok(Access { client, base_url, key_fingerprint, keeps_labels })
    }

    fn transport(&self, base_url: &str) -> Arc<dyn Transport> {
        if self.is_sandbox() {
            return self.sandbox().transport();
        }
        let hyper = svc_sdk::transport::hyper();
        let transport = SlowRequestNote::around(hyper, &self.printer, base_url);
        if self.global.retries.is_some() || self.waits_for_service.get() {
            return transport;
        }
        let url = base_url.to_owned();
        let is_answered = self.answered.borrow_mut().entry(url.clone()).or_default().clone();
        Arc::new(ConnectRetry { transport, url, is_answered })
    }

    #[cfg(feature = "mcp")]
    pub(crate) fn mcp(&self, flag: Option<&str>) -> Result<Access<Developer>> {
        let (url, surface) = (self.mcp_url(flag)?, SurfaceChoice::Developer);
        let key = self.key(surface, &url)?.ok_or_else(|| missing_key(surface))?;
        self.access_with(url, Some(&key))
    }

    #[cfg(feature = "mcp")]
    pub(crate) fn mcp_url(&self, flag: Option<&str>) -> Result<String> {
        if self.is_sandbox() {
            return Ok(self.sandbox().mcp_url());
        }
        if let Some(url) = flag {
            return Ok(url.to_owned());
        }
        self.settings()?.get("mcp_url").map(|url| url.value.clone()).ok_or_else(|| {
            Failure::configuration("no MCP URL is configured")
                .hint("pass --mcp-url URL, or set SVC_MCP_URL or the profile's mcp_url")
                .hint(Suggestion::from("or set up URLs and keys with ").svc(["init"]))
        })
    }

    pub(crate) fn first_party_owner(&self, flag: Option<&str>) -> Result<String> {
        if let Some(owner) = flag {
            return Ok(owner.to_owned());
        }
        if self.is_sandbox() {
            return Ok(Sandbox::FIRST_PARTY_OWNER.to_owned());
        }
        let owner = self.settings()?.get("first_party_owner").map(|owner| owner.value.clone());
        owner.ok_or_else(|| {
            Failure::configuration("no first-party owner is configured").hint(
                "pass --owner OWNER, or set SVC_FIRST_PARTY_OWNER or the profile's first_party_owner",
            )
        })
    }

    /// Returns the folder of the journal, or `None` in the sandbox.
    pub(crate) fn state_dir(&self) -> Result<Option<PathBuf>> {
        if self.is_sandbox() { Ok(None) } else { state_dir(&self.environment).map(Some) }
    }

    /// Opens the journal of submits, or returns `None` if this one is not recorded.
    pub(crate) async fn submissions(&self, args: JournalArgs) -> Result<Option<Submissions>> {
        let state_dir = if args.no_journal { None } else { self.state_dir()? };
        match state_dir {
            Some(state_dir) => Submissions::create(&state_dir).await.map(Some),
            None => Ok(None),
        }
    }

    /// Returns what this machine has submitted, newest first.
    pub(crate) async fn submitted(&self) -> Result<Vec<Entry>> {
        match self.state_dir()? {
            Some(state_dir) => journal::entries(&state_dir).await,
            None => Ok(Vec::new()),
        }
    }

    /// Closes the intent of a resource whose outcome is known and was reported.
    pub(crate) async fn close_intent(
        &self,
        base_url: &str,
        id: &ResourceId,
        outcome: Option<Outcome>,
    ) {
        if let (Some(outcome), Ok(Some(state_dir))) = (outcome, self.state_dir()) {
            journal::close_matching(&state_dir, base_url, id, outcome).await;
        }
    }

    /// Records what a person found out of a request whose outcome is unknown: what it made, or nothing.
    pub(crate) async fn settle(&self, entry: &Entry, made: Option<&ResourceId>) -> Result {
        journal::settle(&state_dir(&self.environment)?, entry, made).await
    }

    /// Keeps the statuses that were seen, for the history.
    pub(crate) fn keep_statuses(&self) {
        let seen = self.printer.take_seen();
        if let Ok(Some(state_dir)) = self.state_dir() {
            journal::remember_statuses(&state_dir, seen);
        }
    }

    /// Returns the statuses that were seen, by the ids of their resources.
    pub(crate) fn seen_statuses(&self) -> HashMap<String, String> {
        let state_dir = self.state_dir().ok().flatten();
        state_dir.map(|state_dir| journal::seen_statuses(&state_dir)).unwrap_or_default()
    }

    pub(crate) fn report_interrupts(&self) {
        self.interrupts.report_with(self.printer.interrupt_report());
    }

    /// `nothing_done` ends the message of everything except `y` and `yes`.
    pub(crate) async fn confirm(&self, question: &str, nothing_done: &str) -> Result {
        let question = question.to_owned();
        // It is asked on another thread once Ctrl-C is handled here.
        let asked =
            async { tokio::task::spawn_blocking(move || Printer::confirm(&question)).await };
        let answer = tokio::select! {
            biased;
            _ = self.interrupts.first() => {
                return Err(self.interrupted(nothing_done));
            }
            answer = asked => answer,
        };
        match answer.map_err(io::Error::from).flatten() {
            Ok(true) => Ok(()),
            Ok(false) => Err(Failure::other(format!("not confirmed: {nothing_done}"))
                .with_client_code(ClientCode::CANCELED)),
            Err(error) => Err(Failure::other(format!("cannot prompt for confirmation: {error}"))),
        }
    }

    /// Returns the failure of a command that was interrupted before it did anything.
    pub(crate) fn interrupted(&self, nothing_done: &str) -> Failure {
        self.printer.end_prompt();
        Failure::new(Exit::Interrupted, format!("interrupted: {nothing_done}"))
    }

    /// Sends a write request, unless it is interrupted.
    pub(crate) async fn send<T, E: Into<Failure>>(
        &self,
        request: impl IntoFuture<Output = Result<T, E>>,
    ) -> Result<T> {
        tokio::select! {
            biased;
            sent = request.into_future() => sent.map_err(Into::into),
            _ = self.interrupts.first() => Err(Failure::interrupted_in_flight()),
        }
    }

    pub(crate) fn resume_command_on(
        &self,
        surface: SurfaceChoice,
        words: &[impl AsRef<str>],
    ) -> SuggestedCommand {
        let words = words.iter().map(AsRef::as_ref);
        let words: Vec<&str> = words.chain(["--surface", surface.as_str()]).collect();
        self.resume_command(surface, &words)
    }

    /// Returns a command that resumes work, with the profile and the URL of this command.
    pub(crate) fn resume_command(
        &self,
        surface: SurfaceChoice,
        words: &[impl AsRef<str>],
    ) -> SuggestedCommand {
        let url = match surface {
            SurfaceChoice::Open => &self.global.base_url,
            SurfaceChoice::Developer => &self.global.developer_base_url,
        };
        let url_flag = surface.names().url_flag;
        let flags = url.iter().flat_map(|url| [url_flag.to_owned(), url.clone()]);
        self.command(words).with_service_flags(flags.collect())
    }

    /// Returns a command with the profile of this one, and in the sandbox if this one is.
    pub(crate) fn command(&self, words: &[impl AsRef<str>]) -> SuggestedCommand {
        let command = SuggestedCommand::new(words.iter().map(AsRef::as_ref));
        command.with_flags(&self.global.kept_flags())
    }

    /// Checks that a command about the configuration is not run in the sandbox, which has none.
    pub(crate) fn check_is_configurable(&self, command: &str) -> Result {
        match self.is_sandbox() {
            false => Ok(()),
            true => Err(Failure::usage(format!(
                "`svc {command}` cannot be used with --sandbox: the sandbox needs no configuration"
            ))),
        }
    }

    pub(crate) fn base_url(&self, surface: SurfaceChoice) -> Result<String> {
        if self.is_sandbox() {
            return Ok(self.sandbox().base_url(surface));
        }
        Ok(self.settings()?.require_url(surface)?.value.clone())
    }

    fn is_first_run(&self) -> bool {
        let process = Environment::from_process();
        let has_url = |surface: SurfaceChoice| process.get(surface.names().url_variable).is_some();
        let has_url = SurfaceChoice::ALL.into_iter().any(has_url);
        let has_file = config_file(&process).is_ok_and(|path| path.exists());
        self.printer.shows_progress() && !has_url && !has_file
    }

    /// Returns the sandbox, which is started on first use.
    pub(crate) fn sandbox(&self) -> &Sandbox {
        self.sandbox.get_or_init(|| {
            self.printer.note(
                "Using the sandbox: a mock of the service in this process, which charges nothing",
            );
            if self.is_first_run() {
                let init = self.command(&["init"]);
                self.printer.note(&format!("To use the service, set it up with: {init}"));
            }
            Sandbox::start()
        })
    }
}

pub(crate) fn missing_key(surface: SurfaceChoice) -> Failure {
    let name = surface.as_str();
    let why = format!("no API key for the {name} surface is configured");
    let hint = Suggestion::from("set up URLs and keys with ").svc(["init"]);
    let hint = hint.then(", or store this key with ").svc(["auth", "login", "--surface", name]);
    let variable = format!("or set {}", surface.names().key_variable);
    Failure::new(Exit::NotAllowed, why).hint(hint).hint(variable)
}

pub(crate) fn surface_choice<S: ClientSurface>() -> SurfaceChoice {
    SurfaceChoice::of(S::SURFACE)
}
