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
const fresh = (page) => page.locator("button.fresh");
const live = (page) => page.locator("#live[data-state=live]").waitFor();

/** Returns a row, for which the new rows are shown if it is among them. */
async function reveal(page, text) {
  while (true) {
    await row(page, text).or(fresh(page)).first().waitFor();
    if (await row(page, text).count()) return row(page, text);
    await fresh(page).click({ timeout: 1000 }).catch(() => {});
  }
}

dashboard("an empty dashboard has a command that works", manual, async ({ mock, page }) => {
  const command = await page.locator(".first-steps pre").first().innerText();
  await live(page);
  const output = JSON.parse(execFileSync("sh", ["-c", command], { encoding: "utf8" }));
  await row(page, "image_generate").waitFor();
  assert.match(output.data.job.id, /^job_/);
  assert.equal((await mock.control("GET", "/requests")).data.length, 1);
});

const run = (program, ...options) => (code) =>
  execFileSync(program, options, { input: code, encoding: "utf8" });
const RUNNERS = {
  curl: run("sh"),
  Python: run("python3", "-"),
  JavaScript: run(process.execPath, "--input-type=module", "-"),
};

dashboard("a request appears within a second, and can be sent again in three languages", manual, async ({ mock, page }) => {
  await live(page);
  const sent = performance.now();
  await mock.image("Ada's \"fox\" <b>");
  await row(page, "image_generate").waitFor({ timeout: 1000 });
  assert.ok(performance.now() - sent < 1000);
  await row(page, "image_generate").click();
  await page.waitForURL("**/dashboard/requests/1");
  assert.match(await text(page, ".details"), /"prompt": "Ada's \\"fox\\" <b>"/);
  for (const [language, run] of Object.entries(RUNNERS)) {
    await page.getByRole("button", { name: `Copy as ${language}` }).click();
    await page.getByText("Copied.").waitFor();
    const output = run(await page.evaluate(() => navigator.clipboard.readText()));
    assert.match(output, /"id":"job_/, language);
  }
  await page.getByRole("button", { name: "Replay" }).click();
  await page.waitForURL("**/dashboard/requests/5");
  const requests = (await mock.control("GET", "/requests")).data;
  const stored = await Promise.all(requests.map(({ seq }) => mock.control("GET", `/requests/${seq}`)));
  assert.equal(stored.length, 5);
  for (const { status, request } of stored) {
    assert.deepEqual([status, request.body], [202, stored[0].request.body]);
  }
  // The selection is in the URL.
  await page.reload();
  await page.locator("tr.selected", { hasText: "image_generate" }).waitFor();
});

dashboard("new rows are counted until they are asked for", manual, async ({ mock, page }) => {
  await live(page);
  for (const prompt of ["one", "two"]) await mock.image(prompt);
  await reveal(page, "two");
  const rows = page.locator("table.rows tbody tr");
  const before = await rows.first().boundingBox();
  for (let sent = 0; sent < 5; sent++) await mock.image("more");
  await page.getByRole("button", { name: "5 new" }).waitFor();
  assert.equal(await rows.count(), 2);
  // Neither an update nor a selection moves a row.
  await row(page, "two").click();
  await page.waitForURL("**/dashboard/requests/2");
  await page.locator("tr.selected", { hasText: "two" }).waitFor({ state: "attached" });
  assert.deepEqual([(await rows.first().boundingBox()).y, await rows.count()], [before.y, 2]);
  await page.getByRole("button", { name: "5 new" }).click();
  await fresh(page).waitFor({ state: "detached" });
  assert.equal(await rows.count(), 7);
  // Other views count what is unread in them.
  const jobs = page.locator("#views a", { hasText: "Jobs" });
  assert.match(await jobs.innerText(), /7/);
  await jobs.click();
  await page.waitForURL("**/dashboard/jobs");
  await jobs.locator(".count").waitFor({ state: "hidden" });
});

dashboard("requests are found by what they are about", manual, async ({ mock, page }) => {
  await mock.image("a red fox");
  await mock.image("größer", {});
  await mock.send("/v1/image-router/generate", { model: "image-i", prompt: "an owl", size: 3 });
  await mock.send("/v1/jobs/job_none");
  await reveal(page, "job_not_found");
  for (const [search, results] of [
    ["fox", "1 of 4 requests"],
    ["größer", "1 of 4 requests"],
    ["status:400", "1 of 4 requests"],
    ["op:image_generate ws:ws_demo", "3 of 4 requests"],
    ["status:404 op:jobs_get", "1 of 4 requests"],
    ["ws:ws_bob", "0 of 4 requests"],
  ]) {
    await page.getByRole("searchbox").fill(search);
    await page.locator(".count-line", { hasText: results }).waitFor();
  }
  await page.getByText("No request matches.").waitFor();
});

test("seven tabs share one event stream", async () => {
  const mock = await Mock.start(...manual);
  const context = await browser.newContext();
  try {
    const pages = [];
    for (let opened = 0; opened < 8; opened++) {
      const page = await context.newPage();
      await page.goto(mock.page, { timeout: 5000 });
      await page.locator("#live[data-state=live]").waitFor();
      pages.push(page);
    }
    await mock.image("a fox");
    for (const page of pages) await row(page, "image_generate").waitFor();
    await pages[0].close();
    await mock.image("an owl");
    for (const page of pages.slice(1)) await fresh(page).waitFor();
  } finally {
    await context.close();
    await mock.stop();
  }
});

dashboard("there is one clock, with its zone", ["--speed", "50"], async ({ page }) => {
  await live(page);
  for (const view of ["/", "/dashboard/clock"]) {
    await page.goto(new URL(view, page.url()).href);
    assert.match(await page.locator(".clock").textContent(), /^Service time \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/);
    assert.equal(await page.locator("main").getByText("Service time").count(), 0);
  }
});

dashboard("a failed job is red, with what it was charged", manual, async ({ mock, page }) => {
  const job = await mock.video("an owl [mock:fail]", { mode: "webhook", webhook_url: `${HOOKS}/svc` });
  await mock.advance(20);
  await page.goto(`${mock.page}/dashboard/jobs/${job}`);
  const steps = await page.locator(".timeline li").evaluateAll((items) =>
    items.map((item) => [item.className, item.querySelector("strong").textContent]));
  assert.deepEqual(steps.filter(([, name]) => ["Failed", "Refunded"].includes(name)).sort(), [
    ["bad", "Failed"],
    ["charge", "Refunded"],
  ]);
  assert.ok(steps.some(([classes, name]) => name === "Webhook" && classes === "webhook bad"), steps.join());
  const colors = await page.evaluate(() => ["rect.bad", "rect.track"].map((selector) =>
    getComputedStyle(document.querySelector(`.timeline ${selector}`)).fill));
  assert.equal(colors[0], "rgb(179, 32, 43)");
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
  const past = page.locator(".timeline li:not(.planned)");
  await past.filter({ hasText: "Reserved 0.7035 USD" }).waitFor();
  assert.equal(await past.filter({ hasText: "Generating" }).count(), 0);
  assert.match(await row(page, job).textContent(), /a red fox in snow.*0\.7035/);
  assert.equal(await text(page, ".details .prompt"), "a red fox in snow");
  await mock.advance(4);
  await page.locator(".details .badge", { hasText: "processing" }).waitFor();
  await past.filter({ hasText: "Generating" }).waitFor();
  await mock.advance(10);
  await page.locator(".timeline li.good", { hasText: "Completed" }).waitFor();
  const video = page.locator("video");
  await video.evaluate((element) => {
    element.muted = true;
    return element.play();
  });
  await page.waitForFunction(() => document.querySelector("video").readyState >= 2);
  assert.equal(Math.round(await video.evaluate((element) => element.duration)), 5);
  await page.waitForFunction(() => document.querySelector("video").currentTime > 0.2);
  const thumbnail = row(page, job).locator("img.thumbnail");
  assert.equal(await thumbnail.evaluate((image) => image.decode().then(() => image.naturalHeight)), 240);
  assert.match(await row(page, job).textContent(), /8\.0 s/);
  // An update of the page does not interrupt it.
  await mock.image("another");
  await reveal(page, "another");
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
  await row(page, "image_generate on any surface").waitFor();
  // A rule for another workspace hits nothing here, and is removed alone.
  await page.getByLabel("Operation").fill("jobs_list");
  await page.getByLabel("Workspace").fill("ws_other");
  await page.getByRole("button", { name: "Add the rule" }).click();
  await row(page, "jobs_list on any surface of ws_other").waitFor();
  assert.equal((await mock.send("/v1/jobs")).status, 200);
  await row(page, "ws_other").getByRole("button", { name: "Remove" }).click();
  await page.getByText("The fault is removed.").waitFor();
  await row(page, "ws_other").waitFor({ state: "detached" });
  const refused = await mock.send("/v1/image-router/generate", { model: "image-i", prompt: "a fox" });
  assert.equal(refused.status, 503);
  await row(page, "image_generate on any surface").getByRole("link", { name: "1", exact: true }).waitFor();
  await row(page, "database_busy").waitFor();
  await page.locator("#views").getByRole("link", { name: "Requests" }).click();
  await (await reveal(page, "database_busy")).click();
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
  assert.match(await why.innerText(), /It needs 0\.7035 USD; ws_demo had 0\.1000 USD/);
  await why.getByLabel("Amount in USD").fill("5");
  await why.getByRole("button", { name: "Top up ws_demo" }).click();
  await page.getByText("The balance is topped up.").waitFor();
  assert.equal((await mock.send("/v1/video-router/generate", request)).status, 202);
  await reveal(page, "202");
});

test("a webhook is redelivered", async () => {
  const receiver = await startReceiver(500, 204);
  const mock = await Mock.start(...manual, "--webhook-route", `${HOOKS}=${receiver.url}`);
  const page = await browser.newPage();
  try {
    await page.goto(`${mock.page}/dashboard/webhooks`);
    await page.getByLabel("Origin").fill("https://other.example.com");
    await page.getByLabel("deliver to").fill(receiver.url);
    await page.getByRole("button", { name: "Add the route" }).click();
    await row(page, "https://other.example.com").getByRole("button", { name: "Remove" }).click();
    await page.getByText("The route is removed.").waitFor();
    const job = await mock.image("a fox", { mode: "webhook", webhook_url: `${HOOKS}/svc` });
    await mock.advance(5);
    await row(page, "job.completed").click();
    await page.locator(".details .badge", { hasText: "retrying" }).waitFor();
    assert.match(await text(page, ".details"), new RegExp(`"job_id": "${job}"`));
    assert.equal(await text(page, "pre[aria-label='Response body']"), "the disk is full");
    await page.getByRole("button", { name: "Redeliver" }).click();
    await page.locator(".details .badge", { hasText: "delivered" }).waitFor();
    assert.equal(receiver.received.length, 2);
    // The delivery is one row, and has its attempts beside it.
    assert.equal(await row(page, "job.completed").count(), 1);
    assert.deepEqual(await page.locator(".attempts summary .badge").allInnerTexts(), ["204", "500"]);
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
  await (await reveal(page, "rate_limited")).waitFor();
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
  const key = await row(page, "ws_shop").first().locator("td").first().innerText();
  const topUp = { amount_usd_cents: 2000 };
  const created = await mock.send("/v1/open/top-ups", topUp, { key });
  const { id } = created.body.data;
  await page.getByRole("link", { name: "Money" }).click();
  await row(page, id).getByRole("button", { name: "Pay" }).click();
  await page.getByText("The top-up is settled.").waitFor();
  await page.getByLabel("Workspace").selectOption("ws_shop");
  await page.getByRole("heading", { name: "Ledger of ws_shop" }).waitFor();
  await row(page, "+20.0000").waitFor();
  await page.locator("tr.selected", { hasText: "120.0000" }).waitFor();
  await row(page, "top up").waitFor();
});

dashboard("everything works by keyboard", manual, async ({ mock, page }) => {
  for (const prompt of ["one", "two", "three"]) await mock.image(prompt);
  await mock.send("/v1/jobs/job_none");
  await row(page, "image_generate").first().waitFor();
  await page.keyboard.press("n");
  await reveal(page, "job_not_found");
  await page.keyboard.press("j");
  await page.waitForURL("**/dashboard/requests/4");
  await page.keyboard.press("j");
  await page.waitForURL("**/dashboard/requests/3");
  await page.keyboard.press("k");
  await page.waitForURL("**/dashboard/requests/4");
  // The URL is ahead of the page while that is being fetched.
  await page.locator(".details pre", { hasText: "/v1/jobs/job_none" }).first().waitFor({ state: "attached" });
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
      // Colours do not change the widths.
      for (const width of colorScheme === "light" ? [1440, 768, 390, 320] : [1440, 390]) {
        const context = await browser.newContext({ colorScheme, viewport: { width, height: 900 } });
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
  const wide = await page.evaluate(() => {
    const scrolls = (element) => element.scrollWidth > element.clientWidth + 1
      && (element === document.documentElement || /auto|scroll/.test(getComputedStyle(element).overflowX));
    return [...document.querySelectorAll("*")].filter(scrolls).map((element) => element.outerHTML.slice(0, 80));
  });
  assert.deepEqual(wide, [], `${where}: scrolls sideways`);
  const rows = await page.evaluate(() => [...document.querySelectorAll(".rows tr")]
    .map((row) => row.getBoundingClientRect().height).filter((height) => height > 0 && height !== 32));
  assert.deepEqual(rows.filter((height) => Math.abs(height - 32) > 1), [], `${where}: rows of one line`);
  const narrow = await page.locator(".rows th:visible").evaluateAll((cells) =>
    cells.filter((cell) => cell.offsetWidth < 50).map((cell) => cell.textContent));
  assert.deepEqual(narrow, [], `${where}: columns without room`);
  const views = await page.locator("#views li:visible").evaluateAll((items) => new Set(items.map((item) => item.offsetTop)).size);
  assert.ok(width > 600 || views === 1, `${where}: one row of views`);
  if (width === 320 || width === 768) return;
  // The page's own policy allows no other scripts, so axe runs in a world of its own.
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => axe.run());
  const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  const found = serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
  assert.deepEqual(found, [], where);
}

/** Takes the pictures of the README, and with ALL_SCREENSHOTS each view at each width, light and dark. */
async function takeScreenshots(mock, views) {
  const shots = ["requests", "request", "job", "money", "webhooks", "limits", "clock", "faults", "keys", "state"];
  const pictures = shots.map((name) => ({ name, file: name, scheme: name === "job" ? "dark" : "light", width: 1152 }));
  const all = Object.keys(views).flatMap((name) => ["light", "dark"].flatMap((scheme) =>
    [1440, 768, 390].map((width) => ({ name, file: `${name}-${width}-${scheme}`, scheme, width }))));
  for (const { name, file, scheme, width } of process.env.ALL_SCREENSHOTS ? all : pictures) {
    const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height: 680 } });
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
    const path = join(process.env.SCREENSHOTS, `${file}.png`);
    await page.screenshot({ path });
    assert.ok(process.env.ALL_SCREENSHOTS || statSync(path).size < 150_000, `${path} is too large`);
    await context.close();
  }
}
