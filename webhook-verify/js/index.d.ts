/** The headers of a request: `Headers`, those of Node and Express, a plain object, or pairs. */
export type HeadersInput =
  | { get(name: string): string | null | undefined }
  | Iterable<readonly [string, string]>
  | { readonly [name: string]: string | readonly string[] | undefined };

/** The raw body, exactly as it was received. A string is encoded as UTF-8. */
export type BodyInput = Uint8Array | ArrayBuffer | ArrayBufferView | string;

/** A text with one secret a line, newest first, or a list of secrets, of which each byte counts. */
export type SecretsText = string | Iterable<string | Uint8Array>;

export type SecretsInput = SecretsText | Secrets | ReloadedSecrets;

export interface VerifyOptions {
  /** How many seconds the timestamp may differ from `now`: 300 by default, `null` for any number, which allows replays. */
  tolerance?: number | bigint | null;
  /** The time in Unix seconds: that of the system by default. */
  now?: number | bigint;
}

/** The signature of a genuine delivery. */
export interface Verified {
  /** When the delivery was signed, in Unix seconds. */
  timestamp: number;
  /** Which of the secrets matched: 0 for the newest. */
  secretIndex: number;
}

export type Reason =
  | "timestamp_missing"
  | "timestamp_malformed"
  | "timestamp_too_old"
  | "timestamp_in_future"
  | "signature_missing"
  | "signature_too_long"
  | "signature_too_many"
  | "signature_malformed"
  | "signature_unsupported"
  | "signature_mismatch";

/** Why a delivery was rejected. Its message is meant for the receiver's log, not for the sender. */
export class SignatureError extends Error {
  constructor(reason: Reason, status?: number, message?: string);
  /** A stable identifier, such as `signature_mismatch`. */
  readonly reason: Reason;
  /** The HTTP status to answer with: 400 for missing or malformed headers, else 401. */
  readonly status: number;
}

/** Signing secrets, prepared once for many deliveries. */
export class Secrets {
  /** Throws a `RangeError` if there are no secrets, an empty one, or more than eight. */
  constructor(secrets: SecretsText);
  /** The fingerprints of the secrets, newest first. They are safe to log. */
  readonly fingerprints: string[];
}

/**
 * Signing secrets that a function loads again when a recent delivery names a secret that is not there, as the
 * first deliveries after a rotation do. While it throws, the secrets stay as they are.
 */
export class ReloadedSecrets {
  constructor(load: () => SecretsText);
  readonly fingerprints: string[];
  /** Loads the secrets now, and returns whether they have changed. */
  reload(): boolean;
}

/** Signing secrets in a file with one a line, newest first, which is read again after a rotation. Not in browsers. */
export class SecretFile extends ReloadedSecrets {
  constructor(path: string | URL);
}

/**
 * Returns whether a delivery is genuine. Nothing that a sender controls throws.
 *
 * Throws a `TypeError` if an argument has another type, and a `RangeError` if the secrets or a number of seconds
 * are not valid.
 */
export function verify(
  headers: HeadersInput,
  body: BodyInput,
  secrets: SecretsInput,
  options?: VerifyOptions,
): boolean;

/** Verifies a delivery as `verify` does, and throws a `SignatureError` if it is not genuine. */
export function verifyOrThrow(
  headers: HeadersInput,
  body: BodyInput,
  secrets: SecretsInput,
  options?: VerifyOptions,
): Verified;
