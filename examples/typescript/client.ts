/**
 * A small client of the open surface, with `fetch` only.
 *
 * It shows what a client in any language has to do: one idempotency key for all attempts of a submit,
 * polls when the service says, and errors by their code.
 */
import { setTimeout as sleep } from "node:timers/promises";

export interface Job {
  id: string;
  status: string;
  error?: { code: string; message: string };
}

export interface Artifact {
  id: string;
  url: string;
  content_type: string;
}

/** The service refused a request, or a job failed. */
export class ServiceError extends Error {
  constructor(
    readonly code: string,
    message: string,
    readonly status?: number,
    readonly retryAfterSeconds = 1,
  ) {
    super(`${code}: ${message}`);
  }
}

/** There was no response: the request may have been carried out. */
class NoResponse extends Error {}

interface Status {
  status: string;
  terminal: boolean;
  next_poll_after_seconds: number;
}

export class Client {
  constructor(
    private readonly baseUrl: string,
    private readonly apiKey: string,
    private readonly attempts = 4,
  ) {}

  /** Submits an image. All attempts carry one key, so that it is paid for once. */
  async generateImage(prompt: string, model = "image-i"): Promise<Job> {
    const receipt = await this.request<{ job: Job }>("POST", "/v1/image-router/generate", { model, prompt });
    return receipt.job;
  }

  /** Polls until the job has ended, and returns its artifacts. */
  async wait(jobId: string, timeoutSeconds = 120): Promise<Artifact[]> {
    const deadline = performance.now() + timeoutSeconds * 1000;
    let status = await this.request<Status>("GET", `/v1/jobs/${jobId}/status`);
    while (!status.terminal) {
      const pause = Math.max(status.next_poll_after_seconds, 0.05) * 1000;
      if (performance.now() + pause > deadline) {
        throw new Error(`job ${jobId} has not ended; it can still be waited for`);
      }
      await sleep(pause);
      status = await this.request<Status>("GET", `/v1/jobs/${jobId}/status`);
    }
    if (status.status !== "completed") {
      const { error } = await this.request<Job>("GET", `/v1/jobs/${jobId}`);
      throw new ServiceError(error?.code ?? status.status, `job ${jobId} did not complete`);
    }
    return (await this.request<{ artifacts: Artifact[] }>("GET", `/v1/jobs/${jobId}/result`)).artifacts;
  }

  private async request<T>(method: "GET" | "POST", path: string, body?: object): Promise<T> {
    const headers: Record<string, string> = { "x-api-key": this.apiKey, "content-type": "application/json" };
    if (method === "POST") headers["idempotency-key"] = crypto.randomUUID();
    const init = { method, headers, body: body && JSON.stringify(body), redirect: "error" as const };
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.send<T>(path, init);
      } catch (error) {
        if (attempt === this.attempts) throw error;
        if (error instanceof NoResponse) await sleep(100 * 2 ** attempt);
        else if (error instanceof ServiceError && [429, 502, 503].includes(error.status ?? 0))
          await sleep(error.retryAfterSeconds * 1000);
        else throw error;
      }
    }
  }

  private async send<T>(path: string, init: RequestInit): Promise<T> {
    const noResponse = (cause: unknown) => {
      throw new NoResponse("no response", { cause });
    };
    const signal = AbortSignal.timeout(30_000);
    const response = await fetch(this.baseUrl + path, { ...init, signal }).catch(noResponse);
    const text = await response.text().catch(noResponse);
    let body;
    try {
      body = JSON.parse(text);
    } catch {
      body = {}; // For example the HTML page of a proxy.
    }
    if (response.ok && "data" in body) return body.data;
    const { code = "unknown", message = `status ${response.status} without a usable body` } = body.error ?? {};
    const retryAfter = Number(response.headers.get("retry-after") ?? 1);
    throw new ServiceError(code, message, response.status, retryAfter);
  }
}
