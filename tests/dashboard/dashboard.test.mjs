// The dashboard as its users see it.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { Mock, startReceiver } from "./mock.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const HOOKS = "https://hooks.example.com";
const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

let browser;
before(async () => {
  browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ARGUMENTS });
});
after(() => browser.close());

/** Runs a test with a mock and a page of it. Errors of the page and requests elsewhere fail the test. */
function dashboard(name, options, body) {
  test(name, async () => {
    const mock = await Mock.start(...options);
    const context = await browser.newContext({
      acceptDownloads: true,
      permissions: ["clipboard-read", "clipboard-write"],
      viewport: { width: 1280, height: 800 },
    });
    const page = await context.newPage();
    page.setDefaultTimeout(10_000);
    const problems = watch(page, mock);
    try {
      await page.goto(mock.page);
      await body({ mock, page, context });
      assert.deepEqual(problems, []);
    } finally {
      await context.close();
      await mock.stop();
    }
  });
}

function watch(page, mock) {
  const problems = [];
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    // Browsers report each response with an error status.
    const isStatus = message.text().startsWith("Failed to load resource");
    if (message.type() === "error" && !isStatus) problems.push(message.text());
  });
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(mock.page) && !/^(data|blob):/.test(url)) problems.push(`fetched ${url}`);
  });
  page.on("dialog", (dialog) => dialog.accept());
  return problems;
}

const manual = ["--clock", "manual"];
const row = (page, text) => page.locator("table.rows tbody tr", { hasText: text });
const text = (page, selector) => page.locator(selector).innerText();
const live = (page) => page.locator("#live[data-state=live]").waitFor();

dashboard("an empty dashboard has a command that works", manual, async ({ mock, page }) => {
  const command = await page.locator(".first-steps pre").first().innerText();
  await live(page);
  const output = JSON.parse(execFileSync("sh", ["-c", command], { encoding: "utf8" }));
  await row(page, "image_generate").waitFor();
  assert.match(output.data.job.id, /^job_/);
  assert.equal((await mock.control("GET", "/requests")).data.length, 1);
});

dashboard("a request appears within a second, and can be sent again with curl", manual, async ({ mock, page }) => {
  await live(page);
  const sent = performance.now();
  await mock.image("Ada's \"fox\" <b>");
  await row(page, "image_generate").waitFor({ timeout: 1000 });
  assert.ok(performance.now() - sent < 1000);
  await row(page, "image_generate").click();
  await page.waitForURL("**/dashboard/requests/1");
  assert.match(await text(page, ".details"), /"prompt": "Ada's \\"fox\\" <b>"/);
  await page.getByRole("button", { name: "Copy curl command" }).click();
  await page.getByText("Copied.").waitFor();
  const command = await page.evaluate(() => navigator.clipboard.readText());
  const output = JSON.parse(execFileSync("sh", ["-c", command], { encoding: "utf8" }));
  assert.match(output.data.job.id, /^job_/);
  const [first, second] = (await mock.control("GET", "/requests")).data;
  const bodies = await Promise.all(
    [first, second].map(async ({ seq }) => (await mock.control("GET", `/requests/${seq}`)).request.body),
  );
  assert.equal(bodies[0], bodies[1]);
  // The selection is in the URL.
  await page.reload();
  await page.locator("tr.selected", { hasText: "image_generate" }).waitFor();
});

dashboard("what clients send is inert", manual, async ({ mock, page }) => {
  const script = "<script>window.attacked = true</script><img src=x onerror='window.attacked = true'>";
  const job = await mock.image(script, { metadata: { note: script } });
  await mock.send(`/v1/jobs/${encodeURIComponent(script)}`);
  await mock.advance(10);
  for (const path of ["/", "/dashboard/requests/1", "/dashboard/requests/2", `/dashboard/jobs/${job}`]) {
    await page.goto(mock.page + path);
    await live(page);
  }
  assert.match(await text(page, ".details"), /<script>/);
  assert.equal(await page.evaluate(() => window.attacked), undefined);
});

dashboard("a job is watched from its submit to its video", manual, async ({ mock, page }) => {
  const job = await mock.video("a red fox in snow");
  await page.getByRole("link", { name: "Jobs and runs" }).click();
  await row(page, job).click();
  await page.waitForURL(`**/dashboard/jobs/${job}`);
  await page.locator(".details .badge", { hasText: "queued" }).waitFor();
  assert.equal(await page.locator(".timeline li.done").count(), 1);
  await mock.advance(4);
  await page.locator(".details .badge", { hasText: "processing" }).waitFor();
  await page.locator(".timeline li.done", { hasText: "Generating" }).waitFor();
  await mock.advance(10);
  await page.locator(".timeline li.done", { hasText: "Completed" }).waitFor();
  const video = page.locator("video");
  await video.evaluate((element) => {
    element.muted = true;
    return element.play();
  });
  await page.waitForFunction(() => document.querySelector("video").readyState >= 2);
  assert.equal(Math.round(await video.evaluate((element) => element.duration)), 5);
  await page.waitForFunction(() => document.querySelector("video").currentTime > 0.2);
  // An update of the page does not interrupt it.
  await mock.image("another");
  await row(page, "image generation").waitFor();
  assert.equal(await video.evaluate((element) => element.paused), false);
  // Looking at it leaves no trace in the journal, and uses up no fault.
  assert.equal((await mock.control("GET", "/requests")).data.length, 2);
});

dashboard("a fault is injected and removed", manual, async ({ mock, page }) => {
  await page.getByRole("link", { name: "Faults" }).click();
  await page.getByRole("combobox", { name: "Kind", exact: true }).selectOption("error");
  await page.getByLabel("Operation").fill("jobs_get");
  await page.getByRole("button", { name: "Add the rule" }).click();
  await page.getByText("code: is required for the kind error").waitFor();
  await page.getByRole("combobox", { name: "Kind", exact: true }).selectOption("status_503");
  await page.getByLabel("Operation").fill("image_generate");
  await page.getByLabel("Times").fill("2");
  await page.getByRole("button", { name: "Add the rule" }).click();
  await row(page, "image_generate").waitFor();
  const refused = await mock.send("/v1/image-router/generate", { model: "image-i", prompt: "a fox" });
  assert.equal(refused.status, 503);
  await page.getByRole("link", { name: "Requests", exact: true }).click();
  await row(page, "database_busy").click();
  await page.getByRole("heading", { name: "Why it was refused" }).waitFor();
  await page.locator(".details").getByRole("button", { name: "Remove all faults" }).click();
  await page.getByText("All faults are removed.").waitFor();
  assert.equal((await mock.send("/v1/image-router/generate", { model: "image-i", prompt: "a fox" })).status, 202);
});

dashboard("a job that the balance refused is made to work", [...manual, "--balance-usd", "0.10"], async ({ mock, page }) => {
  const request = { model: "video-f", prompt: "a whale", duration: 5 };
  assert.equal((await mock.send("/v1/video-router/generate", request)).status, 402);
  await row(page, "insufficient_funds").click();
  const why = page.locator(".callout.bad");
  await why.waitFor();
  assert.match(await why.innerText(), /It needs 0\.7035 USD; ws_demo had 0\.10 USD/);
  await why.getByLabel("Amount in USD").fill("5");
  await why.getByRole("button", { name: "Top up ws_demo" }).click();
  await page.getByText("The balance is topped up.").waitFor();
  assert.equal((await mock.send("/v1/video-router/generate", request)).status, 202);
  await row(page, "202").waitFor();
});

test("a webhook is redelivered", async () => {
  const receiver = await startReceiver(500, 204);
  const mock = await Mock.start(...manual, "--webhook-route", `${HOOKS}=${receiver.url}`);
  const page = await browser.newPage();
  try {
    const job = await mock.image("a fox", { mode: "webhook", webhook_url: `${HOOKS}/svc` });
    await mock.advance(5);
    await page.goto(`${mock.page}/dashboard/webhooks`);
    await row(page, "job.completed").click();
    await page.locator(".details .badge", { hasText: "retrying" }).waitFor();
    assert.match(await text(page, ".details"), new RegExp(`"job_id": "${job}"`));
    assert.equal(await text(page, "pre[aria-label='Response body']"), "the disk is full");
    await page.getByRole("button", { name: "Redeliver" }).click();
    await page.locator(".details .badge", { hasText: "delivered" }).waitFor();
    assert.equal(receiver.received.length, 2);
    await page.locator(".details .badge", { hasText: "204" }).waitFor();
  } finally {
    await page.close();
    await mock.stop();
    receiver.stop();
  }
});

dashboard("a key that lacks a scope gets help", manual, async ({ mock, page }) => {
  const run = (key) =>
    mock.send("/v1/formats/fmt_demo/runs", { instruction: "a teaser" }, { key, host: "SVC_DEVELOPER_BASE_URL" });
  assert.equal((await run("svc_dev_noscope")).status, 403);
  await row(page, "insufficient_scope").click();
  await page.locator(".details").getByRole("button", { name: "Make a key with formats:write" }).click();
  const made = await page.getByText("The key is made: ").innerText();
  assert.equal((await run(made.split(" ").at(-1))).status, 202);
});

const tight = ["--writes-per-minute", "free=3", "--concurrent-jobs", "free=2"];
dashboard("limits are raised by changing the plan", [...manual, ...tight], async ({ mock, page }) => {
  const submit = () => mock.send("/v1/image-router/generate", { model: "image-i", prompt: "a fox" });
  const codes = [];
  for (let sent = 0; sent < 4; sent++) codes.push((await submit()).body.error?.code);
  assert.deepEqual(codes, [undefined, undefined, "concurrency_limit_reached", "rate_limited"]);
  await row(page, "concurrency_limit_reached").click();
  const details = page.locator(".details");
  await details.getByRole("heading", { name: "Why it was refused" }).waitFor();
  await row(page, "rate_limited").click();
  await details.locator(".callout", { hasText: "write rate limit exceeded" }).waitFor();
  await details.getByRole("combobox", { name: "Plan of ws_demo" }).selectOption("pro");
  await details.getByRole("button", { name: "Change the plan" }).click();
  await page.getByText("The plan of ws_demo is changed.").waitFor();
  assert.equal((await submit()).status, 202);
});

dashboard("the clock is advanced, run and paused", manual, async ({ mock, page }) => {
  const job = await mock.image("a fox");
  await page.getByRole("link", { name: /Clock/ }).click();
  await page.getByRole("button", { name: "+1 min" }).click();
  await page.getByText("The clock was advanced.").waitFor();
  assert.equal((await mock.control("GET", "/jobs")).data.find(({ id }) => id === job).status, "completed");
  await page.getByLabel("Speed").fill("20");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByText("with real time, 20 × as fast").waitFor();
  assert.equal((await mock.control("GET", "/clock")).speed, 20);
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await page.getByText("only when it is advanced").waitFor();
  assert.equal((await mock.control("GET", "/clock")).mode, "manual");
});

dashboard("the state is exported, reset and imported", manual, async ({ mock, page }) => {
  const job = await mock.image("a fox");
  await page.getByRole("link", { name: "State" }).click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("link", { name: "Save the state as a file" }).click(),
  ]);
  const file = await download.path();
  await page.getByRole("button", { name: "Reset to the start" }).click();
  await page.getByText("The mock is as at its start.").waitFor();
  assert.deepEqual((await mock.control("GET", "/jobs")).data, []);
  const folder = mkdtempSync(join(tmpdir(), "svc-dashboard-"));
  writeFileSync(join(folder, "other.json"), "{}");
  await page.getByLabel("State file").setInputFiles(join(folder, "other.json"));
  await page.getByRole("button", { name: "Import" }).click();
  await page.getByText("invalid state document").waitFor();
  await page.getByLabel("State file").setInputFiles(file);
  await page.getByRole("button", { name: "Import" }).click();
  await page.getByText("The state is imported.").waitFor();
  rmSync(folder, { recursive: true });
  const jobs = (await mock.control("GET", "/jobs")).data;
  assert.deepEqual(jobs.map(({ id }) => id), [job]);
});

dashboard("a key is made and a top-up is paid", manual, async ({ mock, page }) => {
  await page.getByRole("link", { name: "Keys and workspaces" }).click();
  await page.getByRole("combobox", { name: "Workspace", exact: true }).fill("ws_shop");
  await page.getByRole("button", { name: "Add the key" }).click();
  const key = await row(page, "ws_shop").first().locator("td span.mono").first().innerText();
  const topUp = { amount_usd_cents: 2000 };
  const created = await mock.send("/v1/open/top-ups", topUp, { key });
  const { id } = created.body.data;
  await page.getByRole("link", { name: "Money" }).click();
  await row(page, id).getByRole("button", { name: "Pay" }).click();
  await page.getByText("The top-up is settled.").waitFor();
  await page.locator("a.card", { hasText: "ws_shop" }).click();
  await page.locator("a.card[aria-current]", { hasText: "120.00" }).waitFor();
  await row(page, "top up").waitFor();
});

dashboard("everything works by keyboard", manual, async ({ mock, page }) => {
  for (const prompt of ["one", "two", "three"]) await mock.image(prompt);
  await mock.send("/v1/jobs/job_none");
  await row(page, "job_not_found").waitFor();
  await page.keyboard.press("j");
  await page.waitForURL("**/dashboard/requests/4");
  await page.keyboard.press("j");
  await page.waitForURL("**/dashboard/requests/3");
  await page.keyboard.press("k");
  await page.waitForURL("**/dashboard/requests/4");
  // The URL is ahead of the page while that is being fetched.
  await page.locator('.details button[data-copy*="/v1/jobs/job_none"]').first().waitFor();
  await page.keyboard.press("c");
  await page.getByText("Copied.").waitFor();
  await page.keyboard.press("Escape");
  await page.waitForURL("**/dashboard/requests");
  await page.keyboard.press("/");
  await page.keyboard.type("not_found");
  await page.waitForURL("**/dashboard/requests?q=not_found");
  await row(page, "image_generate").first().waitFor({ state: "detached" });
  await page.keyboard.press("Escape");
  await page.keyboard.press("2");
  await page.waitForURL("**/dashboard/jobs");
  await page.locator('#views [aria-current][href="/dashboard/jobs"]').waitFor();
  assert.equal(await page.locator("#live").getAttribute("data-state"), "live");
  await page.keyboard.press("?");
  const shortcuts = page.getByRole("dialog", { name: "Shortcuts" });
  await shortcuts.waitFor();
  await page.keyboard.press("Escape");
  await shortcuts.waitFor({ state: "hidden" });
  await page.keyboard.press("p");
  await page.locator("#live[data-state=paused]").waitFor();
  const focused = await page.evaluate(() => document.activeElement.tagName);
  assert.ok(["MAIN", "BODY"].includes(focused), focused);
  await page.keyboard.press("Tab");
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(outline, "solid");
});

test("every view is accessible and fits, light and dark, wide and narrow", async () => {
  const receiver = await startReceiver(500);
  const mock = await Mock.start(...manual, "--webhook-route", `${HOOKS}=${receiver.url}`);
  try {
    const views = await fill(mock);
    for (const colorScheme of ["light", "dark"]) {
      for (const width of [1280, 390]) {
        const context = await browser.newContext({ colorScheme, viewport: { width, height: 800 } });
        const page = await context.newPage();
        for (const [name, path] of Object.entries(views)) await checkView(page, mock, { name, path, colorScheme, width });
        await context.close();
      }
    }
    if (process.env.SCREENSHOTS) await takeScreenshots(mock, views);
  } finally {
    await mock.stop();
    receiver.stop();
  }
});

/** Fills a mock with something to see in each view, and returns the paths of the views. */
async function fill(mock) {
  const empty = { first: "/dashboard/requests?before=1" };
  const video = await mock.video("a red fox in snow, at dawn");
  const image = await mock.image("a lighthouse", { mode: "webhook", webhook_url: `${HOOKS}/svc` });
  await mock.develop("/v1/music-1.0/generate", { prompt: "a calm tune" });
  const run = await mock.develop("/v1/formats/fmt_media/runs", { instruction: "a poster for a small shop" });
  await mock.advance(20);
  await mock.video("an owl [mock:fail]");
  await mock.advance(20);
  await mock.send(`/v1/jobs/${video}/result`);
  await mock.video("an otter on a river", { duration: 8 });
  await mock.advance(3);
  await mock.control("POST", "/faults", { kind: "status_429", operation: "jobs_list" });
  await mock.send("/v1/jobs");
  await mock.send("/v1/video-router/generate", { model: "video-z", prompt: "a whale" });
  await mock.send("/v1/open/top-ups", { amount_usd_cents: 2000 });
  await mock.control("POST", "/faults", { kind: "delay", surface: "developer", probability: 0.2, delay_ms: 500 });
  await mock.control("POST", "/faults", { kind: "status_503", operation: "jobs_get", times: 2 });
  const { key } = await mock.control("POST", "/keys", { kind: "open", workspace: "ws_shop" });
  await mock.control("POST", "/workspaces/ws_shop", { balance_usd: 0.25 });
  await mock.send("/v1/video-router/generate", { model: "video-f", prompt: "a whale", duration: 5 }, { key });
  const { seq } = (await mock.control("GET", "/requests")).data.at(-1);
  return {
    requests: "/",
    request: `/dashboard/requests/${seq}`,
    jobs: "/dashboard/jobs",
    job: `/dashboard/jobs/${video}`,
    run: `/dashboard/jobs/${run.body.data.run_id}`,
    money: "/dashboard/money",
    webhooks: `/dashboard/webhooks/${image}`,
    limits: "/dashboard/limits",
    clock: "/dashboard/clock",
    faults: "/dashboard/faults",
    keys: "/dashboard/keys",
    state: "/dashboard/state",
    ...empty,
  };
}

async function checkView(page, mock, { name, path, colorScheme, width }) {
  const where = `${name}, ${colorScheme}, ${width} px`;
  await page.goto(mock.page + path);
  await live(page);
  const excess = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  assert.ok(excess <= 0, `${where}: wider than the window by ${excess} px`);
  // The page's own policy allows no other scripts, so axe runs in a world of its own.
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => axe.run());
  const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  const found = serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
  assert.deepEqual(found, [], where);
}

async function takeScreenshots(mock, views) {
  const shots = ["requests", "request", "job", "money", "webhooks", "limits", "clock", "faults", "keys", "state"];
  const dark = new Set(["job"]);
  for (const name of shots) {
    const colorScheme = dark.has(name) ? "dark" : "light";
    const context = await browser.newContext({ colorScheme, viewport: { width: 1024, height: 600 } });
    const page = await context.newPage();
    await page.goto(mock.page + views[name]);
    await live(page);
    if (name === "job") {
      const video = page.locator("video");
      await video.evaluate((element) => new Promise((seeked) => {
        element.addEventListener("seeked", seeked);
        element.currentTime = 2;
      }));
    }
    const path = join(process.env.SCREENSHOTS, `${name}.png`);
    await page.screenshot({ path });
    assert.ok(statSync(path).size < 150_000, `${path} is too large`);
    await context.close();
  }
}
