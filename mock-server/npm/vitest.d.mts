import type { TestAPI } from "vitest";
import type { Mock, WebhookReceiver, Workspace } from "./index.js";

/** vitest's `test` with fixtures; what a test does not name is not started. */
export const test: TestAPI<{
  /** The mock that all tests of this process share. */
  svcMock: Mock;
  /** A workspace for this test alone. */
  svcWorkspace: Workspace;
  /** A receiver of the webhooks of `svcWorkspace`, which verifies them. */
  svcWebhooks: WebhookReceiver;
  /** A mock for this test alone, whose clock stands still until `advance(seconds)`. */
  svcClock: Mock;
}>;
