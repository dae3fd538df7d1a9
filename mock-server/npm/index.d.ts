/** Any JSON object. */
export type Json = Record<string, any>;

/** The control API refused a request. */
export class ControlError extends Error {
  readonly status: number;
  readonly code: string | undefined;
  readonly body: any;
}

export interface StartOptions {
  /** `manual` is a clock that stands still until `advance` moves it. Default: `real`. */
  clock?: "real" | "manual";
  /** How many times as fast as the wall clock the real clock runs. Default: 50. */
  speed?: number;
  /** Further options of the program, such as `["--plan", "pro"]` (`npx svc-mock-server --help`). */
  options?: string[];
}

export interface WorkspaceOptions {
  id?: string;
  plan?: "free" | "pro" | "startup" | "scale" | "enterprise";
  balanceUsd?: string | number;
  team?: boolean;
}

/** Starts a mock on free ports, which ends with this process at the latest. */
export function startMock(options?: StartOptions): Promise<Mock>;
/** Returns the mock that an environment names, such as that of `svc mock exec`. */
export function attachMock(env?: Record<string, string | undefined>): Mock;
/** Returns the mock that all tests of this process share: that of `SVC_CONTROL_URL`, or one that is started. */
export function sharedMock(): Promise<Mock>;
/** Ends the shared mock, if one was started. */
export function stopSharedMock(): Promise<void>;
/** Returns a test that gets a workspace of its own on the shared mock; it works with every test runner. */
export function withWorkspace(
  test: (context: { mock: Mock; workspace: Workspace }) => unknown,
  options?: WorkspaceOptions,
): () => Promise<void>;
/** Returns the path of `svc-mock-server`. */
export function findProgram(): string;

/** A running mock. */
export interface Mock {
  /** The environment of a client: `SVC_BASE_URL`, `SVC_OPEN_API_KEY` and so on. */
  readonly env: Record<string, string>;
  /** Sends a request to the control API and returns its decoded response. */
  control(method: string, path: string, body?: unknown, query?: Json): Promise<any>;
  /** Creates a workspace, with keys, money, faults, webhooks and a journal of its own. */
  workspace(options?: WorkspaceOptions): Promise<Workspace>;
  /** Moves the manual clock, and runs all that falls due. */
  advance(seconds: number): Promise<void>;
  /** Ends the mock if `startMock` started it. */
  stop(): Promise<void>;
}

export interface FaultFields {
  operation?: string;
  surface?: "open" | "developer" | "mcp" | "media";
  code?: string;
  times?: number;
  probability?: number;
  /** A text in the body of the request. */
  match?: string;
  retry_after_seconds?: number;
  delay_ms?: number;
}

export interface Filters {
  operation?: string;
  status?: number | string;
  since?: number;
  limit?: number;
  key?: string;
  /** Waits until there are so many; rejects after `timeout` seconds (default: 30). */
  count?: number;
  timeout?: number;
}

export interface Expected {
  /** 1 unless given. */
  count?: number | { at_least?: number; at_most?: number };
  operation?: string;
  method?: string;
  path?: string;
  status?: number;
  key?: string;
  /** A subset of the request's JSON. */
  body?: Json;
}

/** A workspace of the mock. */
export class Workspace {
  private constructor();
  readonly mock: Mock;
  readonly id: string;
  readonly openApiKey: string;
  readonly developerApiKey: string;
  readonly webhookSecret: string;
  /** The environment of a client of this workspace. */
  readonly env: Record<string, string>;
  readonly baseUrl: string;
  readonly developerBaseUrl: string;
  /** Makes the next matching requests of this workspace fail: `status_503`, `drop_after`, `garbage`, `error` … */
  fault(kind: string, fields?: FaultFields): Promise<Json[]>;
  /** Returns the requests of this workspace, oldest first; with a `count`, waits for so many. */
  requests(filters?: Filters): Promise<Json[]>;
  jobs(filters?: Filters): Promise<Json[]>;
  deliveries(filters?: Filters): Promise<Json[]>;
  /** Returns the ledger's entries, or those of one kind: `capture` is a charge. */
  ledger(kind?: string): Promise<Json[]>;
  /** Returns the available balance, such as `"99.9950"`. */
  balanceUsd(): Promise<string>;
  /** Rejects with an `AssertionError` unless there were `count` requests like the expected one. */
  verify(expected: Expected): Promise<void>;
  /** Starts a receiver of this workspace's webhooks to one origin. Default: `https://hooks.test`. */
  webhooks(origin?: string): Promise<WebhookReceiver>;
  /** Removes the faults and receivers of this workspace. */
  close(): Promise<void>;
}

/** A delivery that was received. */
export interface Event {
  event: string;
  body: Json;
  path: string;
  headers: Record<string, string | string[] | undefined>;
  /** The status that the receiver answered with. */
  answered: number;
}

/** A server on this machine that receives, verifies and keeps the webhooks of one workspace. */
export class WebhookReceiver {
  private constructor();
  /** The `webhook_url` to submit with. */
  readonly url: string;
  /** The secrets that are accepted. After a rotation, put the new one first. */
  secrets: string[];
  /** The deliveries that were answered with 204, oldest first. */
  readonly events: Event[];
  /** Those that were not: their signature is wrong, or `answer` said so. */
  readonly refused: Event[];
  /** Answers the next deliveries with these statuses, such as `answer(500, 503)`, to see the retries. */
  answer(...statuses: number[]): void;
  /** Returns the first `count` events (default: 1), or those of a kind; rejects after `timeout` seconds (default: 30). */
  wait(event?: string, options?: { count?: number; timeout?: number }): Promise<Event[]>;
  close(): Promise<void>;
}
