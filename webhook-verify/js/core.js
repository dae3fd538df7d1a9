// The verifier on a compiled WebAssembly module: what all platforms share.

const TIMESTAMP = "x-svc-webhook-timestamp";
const SIGNATURE = "x-svc-webhook-signature";
const FINGERPRINT = "x-svc-webhook-secret-fingerprint";

// In the order of the numbers in src/lib.rs. Headers that are malformed are answered with 400, others with 401.
const REASONS = [
  ["timestamp_missing", 400, "missing timestamp: expected the header x-svc-webhook-timestamp"],
  ["timestamp_malformed", 400, "malformed timestamp: expected Unix seconds in decimal digits"],
  ["timestamp_too_old", 401, "timestamp too old: check the clock of this machine, or request a redelivery"],
  ["timestamp_in_future", 401, "timestamp in the future: check the clock of this machine"],
  ["signature_missing", 400, "missing signature: expected the header x-svc-webhook-signature"],
  ["signature_too_long", 400, "signature header too long: expected at most 4096 bytes"],
  ["signature_too_many", 400, "too many entries in the signature header: expected at most 32"],
  ["signature_malformed", 400, "malformed signature: expected svc-v1= and 64 hex digits"],
  ["signature_unsupported", 401, "unsupported signature scheme: expected svc-v1"],
  ["signature_mismatch", 401, "signature mismatch: compare the fingerprints of the secrets, and check that the body is unmodified"],
];
const SECRET_ERRORS = [
  "empty signing secret: check the variable or file that it is read from",
  "no signing secret given: expected at least one",
  "too many signing secrets: expected at most 8",
];
const MISMATCH = -REASONS.length;

// Longer headers are not valid, of which so much is enough to say why.
const MAX_TIMESTAMP = 64;
const MAX_SIGNATURE = 8192;

const encoder = new TextEncoder();

/** Why a delivery was rejected. */
export class SignatureError extends Error {
  constructor(reason, status, message) {
    super(message ?? reason);
    this.name = "SignatureError";
    this.reason = reason;
    this.status = status ?? 401;
  }
}

/** An instance of the module, which has one set of secrets. */
class Instance {
  #exports;
  #input;
  #tolerance;

  constructor(module) {
    this.#exports = new WebAssembly.Instance(module).exports;
    const { memory, input, input_size } = this.#exports;
    this.#input = new Uint8Array(memory.buffer, input(), input_size());
  }

  /** Sets the secrets: a text with one a line, or a list. */
  setSecrets(secrets) {
    this.#tolerance = undefined;
    this.#exports.clear_secrets();
    if (typeof secrets === "string") {
      const bytes = encoder.encode(secrets);
      this.#checkSecret(this.#exports.set_secret_lines(this.#write(bytes)));
      return;
    }
    if (typeof secrets?.[Symbol.iterator] !== "function" || secrets instanceof Uint8Array) {
      throw new TypeError(`secrets must be a string with one a line, or a list of secrets, not ${kindOf(secrets)}`);
    }
    let count = 0;
    for (const secret of secrets) {
      const bytes = typeof secret === "string" ? encoder.encode(secret) : secret;
      if (!(bytes instanceof Uint8Array)) {
        throw new TypeError(`a secret must be a string or a Uint8Array, not ${kindOf(secret)}`);
      }
      this.#checkSecret(this.#exports.add_secret(this.#write(bytes)));
      count += 1;
    }
    this.#checkSecret(count === 0 ? 2 : 0);
  }

  get fingerprints() {
    const fingerprints = [];
    for (;;) {
      const length = this.#exports.fingerprint(fingerprints.length);
      if (length === 0) return fingerprints;
      fingerprints.push(String.fromCharCode(...this.#input.subarray(0, length)));
    }
  }

  lacks(fingerprint) {
    const length = this.#writeLatin1(fingerprint.slice(0, MAX_TIMESTAMP + 1), 0);
    return this.#exports.is_unknown_fingerprint(length) !== 0;
  }

  /** Returns the index of the secret that matched, or the negative number of a reason. */
  verify(timestamp, signature, body, tolerance, now) {
    if (tolerance !== this.#tolerance) {
      const [high, low] = tolerance === null ? [0, 0] : halves(tolerance, "tolerance");
      this.#exports.set_tolerance(tolerance !== null, high, low);
      this.#tolerance = tolerance;
    }
    const [high, low] = halves(now, "now");
    const timestampLength = this.#writeLatin1(timestamp, 0, MAX_TIMESTAMP);
    const signatureLength = this.#writeLatin1(signature, timestampLength, MAX_SIGNATURE);
    const begin = timestampLength + signatureLength;
    if (begin + body.length <= this.#input.length) {
      this.#input.set(body, begin);
      return this.#exports.verify(timestampLength, signatureLength, body.length, high, low);
    }
    const begun = this.#exports.begin(timestampLength, signatureLength);
    if (begun !== 0) return begun;
    for (let from = 0; from < body.length; from += this.#input.length) {
      this.#exports.update(this.#write(body.subarray(from, from + this.#input.length)));
    }
    return this.#exports.finish(high, low);
  }

  /** When the last genuine delivery was signed. */
  get timestamp() {
    return (this.#exports.timestamp_high() >>> 0) * 2 ** 32 + (this.#exports.timestamp_low() >>> 0);
  }

  #write(bytes) {
    if (bytes.length > this.#input.length) throw new RangeError("a secret is too long");
    this.#input.set(bytes);
    return bytes.length;
  }

  /** Writes a header, whose characters stand for bytes. */
  #writeLatin1(text, at, max = text.length) {
    const length = Math.min(text.length, max);
    for (let index = 0; index < length; index += 1) {
      const code = text.charCodeAt(index);
      this.#input[at + index] = code < 256 ? code : 63;
    }
    return length;
  }

  #checkSecret(number) {
    if (number === 0) return;
    this.#exports.clear_secrets();
    throw new RangeError(SECRET_ERRORS[number - 1]);
  }
}

/** Returns the functions and classes of the package on a module. */
export function create(module) {
  // For secrets that are not prepared.
  const shared = new Instance(module);

  class Secrets {
    #instance = new Instance(module);

    constructor(secrets) {
      this.#instance.setSecrets(secrets);
    }

    get fingerprints() {
      return this.#instance.fingerprints;
    }

    static instanceOf(secrets) {
      return secrets.#instance;
    }
  }
  const { instanceOf } = Secrets;
  delete Secrets.instanceOf;

  /** Secrets that a function loads again when a recent delivery names one that is not there. */
  class ReloadedSecrets {
    #load;
    #secrets;

    constructor(load) {
      this.#load = load;
      this.#secrets = new Secrets(load());
    }

    get fingerprints() {
      return this.#secrets.fingerprints;
    }

    reload() {
      const before = this.fingerprints.join();
      const secrets = new Secrets(this.#load());
      const hasChanged = secrets.fingerprints.join() !== before;
      if (hasChanged) this.#secrets = secrets;
      return hasChanged;
    }

    static current(secrets) {
      return secrets.#secrets;
    }
  }
  const { current } = ReloadedSecrets;
  delete ReloadedSecrets.current;

  function check(headers, body, secrets, { tolerance = 300, now = Date.now() / 1000 } = {}) {
    const [timestamp, signature] = [header(headers, TIMESTAMP), header(headers, SIGNATURE)];
    const bytes = bytesOf(body);
    const run = (instance) => [instance.verify(timestamp, signature, bytes, tolerance, now), instance];
    if (secrets instanceof Secrets) return run(instanceOf(secrets));
    if (!(secrets instanceof ReloadedSecrets)) {
      shared.setSecrets(secrets);
      return run(shared);
    }
    const instance = instanceOf(current(secrets));
    const result = run(instance);
    // Another reason means that the delivery is not recent, or none of the service: it cannot cause a reload.
    const isRecent = result[0] >= 0 || result[0] === MISMATCH;
    if (isRecent && instance.lacks(header(headers, FINGERPRINT)) && reloads(secrets)) {
      return run(instanceOf(current(secrets)));
    }
    return result;
  }

  function verify(headers, body, secrets, options) {
    return check(headers, body, secrets, options)[0] >= 0;
  }

  function verifyOrThrow(headers, body, secrets, options) {
    const [result, instance] = check(headers, body, secrets, options);
    if (result < 0) throw new SignatureError(...REASONS[-result - 1]);
    return { timestamp: instance.timestamp, secretIndex: result };
  }

  return { verify, verifyOrThrow, Secrets, ReloadedSecrets, SignatureError };
}

/** Loads the secrets again. While they cannot be loaded, they stay as they are. */
function reloads(secrets) {
  try {
    return secrets.reload();
  } catch {
    return false;
  }
}

/** Returns the lines of a header, joined by commas: empty if it is missing. */
function header(headers, name) {
  if (typeof headers?.get === "function") return text(headers.get(name), name);
  if (typeof headers !== "object" || headers === null) {
    throw new TypeError(`headers must be an object, Headers or pairs, not ${kindOf(headers)}`);
  }
  if (typeof headers[Symbol.iterator] === "function") {
    const lines = [];
    for (const [known, value] of headers) {
      if (String(known).toLowerCase() === name) lines.push(text(value, name));
    }
    return lines.join(",");
  }
  if (Object.hasOwn(headers, name)) return text(headers[name], name);
  const lines = Object.keys(headers).filter((known) => known.toLowerCase() === name);
  return lines.map((known) => text(headers[known], name)).join(",");
}

function text(value, name) {
  if (typeof value === "string") return value;
  if (value === undefined || value === null) return "";
  if (Array.isArray(value)) return value.map((line) => text(line, name)).join(",");
  throw new TypeError(`the header ${name} must be a string, not ${kindOf(value)}`);
}

function bytesOf(body) {
  if (body instanceof Uint8Array) return body;
  if (typeof body === "string") return encoder.encode(body);
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  if (ArrayBuffer.isView(body)) return new Uint8Array(body.buffer, body.byteOffset, body.byteLength);
  throw new TypeError(`body must be the raw body, which the signature covers, as bytes or a string, not ${kindOf(body)}`);
}

/** Returns the upper and lower 32 bits of a number of seconds. */
function halves(seconds, name) {
  if (typeof seconds === "bigint" && seconds >= 0n && seconds < 2n ** 64n) {
    return [Number(seconds >> 32n), Number(seconds & 0xffffffffn)];
  }
  if (typeof seconds !== "number" && typeof seconds !== "bigint") {
    throw new TypeError(`${name} must be a number of seconds, not ${kindOf(seconds)}`);
  }
  if (!(seconds >= 0 && seconds < 2 ** 64)) {
    throw new RangeError(`invalid ${name}: expected seconds from 0 to 2**64 - 1`);
  }
  const whole = Math.floor(Number(seconds));
  return [Math.floor(whole / 2 ** 32), whole % 2 ** 32];
}

function kindOf(value) {
  if (value === null) return "null";
  return typeof value === "object" ? (value.constructor?.name ?? "an object") : typeof value;
}
