//! The plan of a simulation: who does what, and how often the network fails.
//!
//! A plan is generated from a seed and is plain data. Each step has a seed of its own, so that
//! removing a step does not change what the others do, and a failing plan can be shrunk.

use std::fmt;

use svc_sdk::contract::Plan as Tier;

use super::fault::Fault;
use super::rng::Rng;

/// The most clients of a plan. Each has a slot of its own in virtual time.
const MAX_CLIENTS: u64 = 4;
/// Half of the time for which an idempotency key is recognized, and a little more.
pub(super) const LONG_PAUSE_MS: u64 = 13 * 3_600_000;

#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) tier: Tier,
    pub(super) balance_usd: u32,
    pub(super) read_multiple: u32,
    /// How many times as fast as virtual time the service's clock passes.
    pub(super) speed: f64,
    pub(super) faults: FaultRates,
    pub(super) tools: Tools,
    /// The limit of what each client may spend by submits, if it has one.
    pub(super) spend_limit_usd: Option<u32>,
    pub(super) clients: Vec<ClientPlan>,
    pub(super) steps: Vec<Step>,
}

/// Whether the clients call tools of the MCP endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tools {
    /// They do not, so that each is alone on its key.
    Unused,
    /// The tools accept `idempotency_key`. Those that make runs recognize a repeated call by it.
    WithKeys,
    /// The tools do not recognize a repeated call.
    WithoutKeys,
}

/// A client, with two API keys of its own.
#[derive(Clone, Debug)]
pub(super) struct ClientPlan {
    pub(super) workspace: String,
    /// Whether it uses the keys of the first client.
    pub(super) has_shared_key: bool,
    pub(super) call_timeout_ms: u64,
    pub(super) attempt_timeout_ms: u64,
    pub(super) max_retries: u32,
}

/// How likely each fault of [`Fault::ALL`] is, in thousandths of the requests.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FaultRates(pub(super) [u64; Fault::ALL.len()]);

/// Who takes a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Actor {
    /// The client of that index.
    Client(usize),
    /// The environment: the service's operator and the payer of top-ups.
    Environment,
}

/// One thing that an actor does.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Its number in the generated plan, which shrinking does not change.
    pub(super) number: usize,
    pub(super) actor: Actor,
    pub(super) pause_ms: u64,
    pub(super) action: Action,
    pub(super) seed: u64,
    /// When its process crashes, counted from its beginning, and when each process that recovers from that does.
    pub(super) crashes_after_ms: Vec<u64>,
    /// How long a client is down after a crash.
    pub(super) down_ms: u64,
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Submit,
    SubmitMany(u64),
    /// Submits one thing in two processes at once.
    SubmitTwice,
    Batch(u64),
    /// Reads something by a request without types.
    Read,
    List,
    /// Reads a known resource by its handle.
    Inspect,
    /// Calls a `POST` that submits nothing.
    Post,
    Wait,
    CallTool,
    Cancel,
    Download,
    /// Reads many times at once.
    Burst(u64),
    /// Reads the received webhooks.
    Webhooks,
    RotateSecret,
    /// Recovers what gone processes have left behind, and submits what is not accepted.
    Resolve,
    /// Exports the state into a new mock.
    Restore,
    /// Refuses connections for a while, then exports the state into a new mock.
    Outage(u64),
    /// Pays the pending top-ups, or lets them expire.
    SettleTopUps,
}

impl Plan {
    /// Returns the plan of a seed, with `steps` steps for each client.
    pub(super) fn generate(seed: u64, steps: usize) -> Self {
        let mut rng = Rng::derive(seed, 1);
        let count = rng.between(1, MAX_CLIENTS) as usize;
        let mut clients: Vec<ClientPlan> = Vec::new();
        for _ in 0..count {
            let client = ClientPlan::generate(clients.first(), &mut rng);
            clients.push(client);
        }
        let tier = rng.pick(&[Tier::Free, Tier::Free, Tier::Pro, Tier::Scale]).clone();
        let mut plan = Self {
            seed,
            tier,
            balance_usd: *rng.pick(&[3, 25, 500, 500]),
            read_multiple: *rng.pick(&[1, 1, 4, 40]),
            speed: *rng.pick(&[1.0, 1.0, 1.0, 5.0]),
            faults: FaultRates::generate(&mut rng),
            tools: *rng.pick(&[Tools::Unused, Tools::Unused, Tools::WithKeys, Tools::WithoutKeys]),
            spend_limit_usd: *rng.pick(&[None, None, Some(1), Some(4), Some(40)]),
            clients,
            steps: Vec::new(),
        };
        // In some plans, idempotency keys expire.
        let long_pauses = *rng.pick(&[0, 0, 0, 300]);
        for client in 0..count {
            for _ in 0..steps {
                let is_long = rng.per_mille(long_pauses);
                let pause_ms = if is_long { LONG_PAUSE_MS } else { rng.below(4_000) };
                plan.push(Actor::Client(client), pause_ms, &mut rng);
            }
        }
        for _ in 0..steps.div_ceil(4) {
            let pause_ms = rng.between(1_000, 90_000);
            plan.push(Actor::Environment, pause_ms, &mut rng);
        }
        plan
    }

    fn push(&mut self, actor: Actor, pause_ms: u64, rng: &mut Rng) {
        let action = match actor {
            Actor::Client(_) => client_action(rng),
            Actor::Environment => environment_action(rng),
        };
        let (mut crashes_after_ms, mut down_ms) = (Vec::new(), 0);
        if matches!(actor, Actor::Client(_)) && rng.per_mille(80) {
            let first = *rng.pick(&[50, 300, 1_000, 5_000, 30_000]) * rng.between(1, 10) / 10;
            down_ms = rng.between(100, 20_000);
            let in_recovery = 0..rng.below(5).saturating_sub(2);
            crashes_after_ms.push(first);
            crashes_after_ms.extend(in_recovery.map(|_| rng.between(1, 3_000)));
        }
        let (number, seed) = (self.steps.len(), rng.next());
        self.steps.push(Step { number, actor, pause_ms, action, seed, crashes_after_ms, down_ms });
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, tier, balance_usd, read_multiple, speed, tools, clients, .. } = self;
        let limit = self.spend_limit_usd;
        write!(
            f,
            "seed {seed}: plan {tier}, {balance_usd} USD, {read_multiple} reads per write, {speed} times as fast, tools {tools:?}, spend limit {limit:?}, {clients:?}"
        )
    }
}

impl ClientPlan {
    fn generate(first: Option<&Self>, rng: &mut Rng) -> Self {
        let own = *rng.pick(&["ws_demo", "ws_demo", "ws_own"]);
        let shared = first.filter(|_| rng.per_mille(200));
        Self {
            workspace: shared.map_or(own, |first| &first.workspace).to_owned(),
            has_shared_key: shared.is_some(),
            call_timeout_ms: *rng.pick(&[5_000, 30_000, 150_000]),
            attempt_timeout_ms: *rng.pick(&[2_000, 10_000, 60_000]),
            max_retries: *rng.pick(&[0, 2, 4, 4]) as u32,
        }
    }
}

impl FaultRates {
    fn generate(rng: &mut Rng) -> Self {
        // A network that never fails, one that fails now and then, and a very bad one.
        let most = *rng.pick(&[0, 30, 30, 120]);
        if most == 0 {
            return Self::default();
        }
        Self(Fault::ALL.map(|fault| match fault {
            // Lost replies are what may be paid for twice: some networks lose two in five.
            Fault::LostReply => {
                let most = *rng.pick(&[most, most, 200, 300, 400, 400]);
                rng.between(most / 2, most)
            }
            Fault::Redirect | Fault::WrongKey => rng.below(most) / 4,
            _ => rng.below(most),
        }))
    }
}

fn client_action(rng: &mut Rng) -> Action {
    match rng.weighted(&[300, 60, 120, 30, 80, 60, 100, 40, 40, 16, 40, 20, 60, 90, 30, 150]) {
        0 => Action::Submit,
        1 => Action::SubmitMany(rng.between(2, 6)),
        2 => Action::Read,
        3 => Action::List,
        4 => Action::Inspect,
        5 => Action::Post,
        6 => Action::Wait,
        7 => Action::Cancel,
        8 => Action::Download,
        9 => Action::Burst(rng.between(100, 200)),
        10 => Action::Webhooks,
        11 => Action::RotateSecret,
        12 => Action::Resolve,
        13 => Action::SubmitTwice,
        14 => Action::Batch(rng.between(2, 8)),
        _ => Action::CallTool,
    }
}

fn environment_action(rng: &mut Rng) -> Action {
    match rng.weighted(&[4, 2, 3]) {
        0 => Action::Restore,
        1 => Action::Outage(rng.between(500, 30_000)),
        _ => Action::SettleTopUps,
    }
}
