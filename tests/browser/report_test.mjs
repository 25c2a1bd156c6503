// Opens reports in a real browser: charts are drawn, nothing is logged as an error, and pointer and
// keyboard do what they promise. Arguments: the program, the folder of node_modules, a folder for
// reports and screenshots, and the browser.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";

const [program, modules, folder, executablePath] = process.argv.slice(2);
const { chromium } = createRequire(modules + "/")("playwright-core");
mkdirSync(folder, { recursive: true });

function report(name, ...call) {
  const file = `${folder}/${name}.html`;
  execFileSync(program, [...call, "--quiet", "--report", file], { stdio: ["ignore", "ignore", "inherit"] });
  assert.ok(statSync(file).size < 3e6, `${name}: below 3 MB`);
  return file;
}

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });

async function open(file, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 900 }, ...options });
  page.problems = [];
  page.on("console", (message) => message.type() === "error" && page.problems.push(message.text()));
  page.on("pageerror", (error) => page.problems.push(String(error)));
  page.on("request", (request) =>
    request.url().startsWith("file:") || page.problems.push("asked the network for " + request.url()));
  await page.goto("file://" + file);
  return page;
}

/// Different colours on the chart's canvas, sampled.
const colours = (page, index = 0) => page.evaluate((which) => {
  const canvas = document.querySelectorAll(".chart canvas")[which];
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  const seen = new Set();
  for (let i = 0; i < pixels.length; i += 4 * 7) if (pixels[i + 3] > 250) seen.add(pixels.slice(i, i + 3).join());
  return seen.size;
}, index);

const fits = async (page) => {
  const [content, window] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(content <= window, `content ${content} is no wider than the window ${window}`);
};

const checks = {
  async "the prediction of the 176B job opens within a second, with its timeline drawn"() {
    const page = await open(report("prediction", "predict", "bloom-176b-jean-zay"));
    const opened = await page.evaluate(() => performance.getEntriesByType("navigation")[0].loadEventEnd);
    console.log(`  opened in ${opened.toFixed(0)} ms`);
    assert.ok(opened < 1000);
    assert.ok((await colours(page)) >= 5);
    assert.equal(await page.locator("#report .bars").count(), 4);
    assert.deepEqual(page.problems, []);
    await fits(page);
    await page.screenshot({ path: `${folder}/prediction-light.png`, fullPage: true });
  },
  async "a report of experts says all that the plan does"() {
    const page = await open(report("experts", "predict", "--model", "qwen3-30b-a3b", "--cluster", "nvidia-dgx-b200",
      "--software", "megatron-core-2026", "--nodes", "4", "--ep", "16", "--gbs", "512", "--seq-len", "4096", "--precision", "fp8",
      "--fp8-recipe", "mxfp8"));
    const told = await page.locator("#report p").nth(1).textContent();
    for (const word of ["ep 16", "fp8 recipe mxfp8", "dispatcher alltoall", "router balance forced"]) assert.ok(told.includes(word), word);
    assert.deepEqual(page.problems, []);
    await fits(page);
  },
  async "a pointer over the timeline shows which task it is, and dragging zooms"() {
    const page = await open(`${folder}/prediction.html`);
    const over = page.locator(".chart .u-over");
    await over.scrollIntoViewIfNeeded();
    const box = await over.boundingBox();
    await page.mouse.move(box.x + box.width * 0.5, box.y + box.height * 0.5);
    assert.match(await page.locator("#tooltip").textContent(), /micro batch \d+, stage \d/);
    await page.mouse.move(box.x + box.width * 0.2, box.y + 20);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.4, box.y + 20, { steps: 4 });
    await page.mouse.up();
    const [low, high] = (await page.locator(".chart").getAttribute("data-zoom")).split(" ").map(Number);
    assert.ok(low > 20 && high < 55, `zoomed to ${low} … ${high} s`);
    await page.getByRole("button", { name: "Show all" }).click();
    assert.equal(await page.locator(".chart").getAttribute("data-zoom"), "");
    assert.deepEqual(page.problems, []);
  },
  async "the keyboard goes through the tasks, zooms and comes back"() {
    const page = await open(`${folder}/prediction.html`);
    await page.locator(".chart").focus();
    await page.keyboard.press("ArrowRight");
    assert.match(await page.locator("#tooltip").textContent(), /^forward, micro batch 0, stage 0/);
    await page.keyboard.press("+");
    assert.notEqual(await page.locator(".chart").getAttribute("data-zoom"), "");
    await page.keyboard.press("Escape");
    assert.equal(await page.locator(".chart").getAttribute("data-zoom"), "");
    assert.match(await page.locator(".chart").getAttribute("aria-label"), /6 pipeline stages/);
  },
  async "a validation draws its charts; headings sort; the axis can be chosen"() {
    const page = await open(report("validation", "validate", "data/runs/bigscience-jz-a100.csv"));
    assert.ok((await colours(page, 0)) >= 3);
    assert.ok((await colours(page, 1)) >= 3);
    const errors = () => page.locator("section").last().locator("tbody tr td:nth-child(5)").allTextContents();
    const heading = page.locator("section").last().getByRole("button", { name: "error" });
    await heading.click();
    const numbers = (await errors()).filter(Boolean).map(parseFloat);
    assert.deepEqual(numbers, [...numbers].sort((a, b) => a - b));
    await heading.click();
    assert.equal(parseFloat((await errors())[0]), Math.max(...numbers));
    await page.getByLabel("Axis").selectOption("mbs");
    assert.match(await page.locator(".chart").nth(1).getAttribute("aria-label"), /^Runs inside their intervals by level: \d+ % of \d+ runs/);
    assert.match(await page.locator(".chart").nth(2).getAttribute("aria-label"), /^Errors by mbs/);
    await page.getByLabel("Show", { exact: true }).selectOption("z-score");
    assert.match(await page.locator(".chart").nth(2).getAttribute("aria-label"), /^Z-scores by mbs/);
    assert.ok((await colours(page, 2)) >= 3);
    assert.deepEqual(page.problems, []);
    await fits(page);
    await page.screenshot({ path: `${folder}/validation-light.png`, fullPage: true });
  },
  async "a search draws its Pareto chart and lists the plans"() {
    const page = await open(report("search", "search", "bloom-176b-jean-zay", "--tp", "4,8", "--mbs", "1,2,4"));
    assert.ok((await colours(page)) >= 3);
    await page.locator(".chart").focus();
    await page.keyboard.press("End");
    assert.match(await page.locator("#tooltip").textContent(), /^(rank \d+|not ranked)/);
    await page.getByRole("button", { name: "peak GiB" }).click();
    const sizes = (await page.locator("tbody tr td:nth-child(3)").allTextContents()).map(Number);
    assert.ok(sizes.length > 1);
    assert.deepEqual(sizes, [...sizes].sort((a, b) => a - b));
    assert.match(await page.locator("#report p").nth(0).textContent(), /^jean-zay-a100 \(a100-sxm-80gb\), software megatron-deepspeed-2022; by time/);
    const columns = await page.locator("#report th").allTextContents();
    for (const name of ["rank", "seconds", "fits", "odds", "loss", "tp"]) assert.ok(columns.includes(name), name);
    assert.match(await page.locator("#report").textContent(), /Take rank 1, .*In all rows: nodes 48/);
    assert.match(await page.locator(".chart").getAttribute("aria-label"), /^\d{2,} plans as a cloud, /);
    assert.deepEqual(page.problems, []);
    await fits(page);
    await page.screenshot({ path: `${folder}/search-light.png`, fullPage: true });
  },
  async "dark and narrow windows show all of it"() {
    const dark = await open(`${folder}/prediction.html`, { colorScheme: "dark" });
    assert.notEqual(await dark.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
    await dark.screenshot({ path: `${folder}/prediction-dark.png`, fullPage: true });
    for (const name of ["prediction", "validation", "search"]) {
      const narrow = await open(`${folder}/${name}.html`, { viewport: { width: 390, height: 800 } });
      await fits(narrow);
      assert.deepEqual(narrow.problems, []);
      await narrow.screenshot({ path: `${folder}/${name}-narrow.png`, fullPage: true });
    }
  },
  async "on paper it is light, one page wide, drawn to its width and unfolded"() {
    for (const name of ["prediction", "validation", "search"]) {
      const page = await open(`${folder}/${name}.html`, { colorScheme: "dark", viewport: { width: 1400, height: 900 } });
      await page.emulateMedia({ media: "print", colorScheme: "dark" });
      await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
      const paper = await page.evaluate(() => ({
        background: getComputedStyle(document.body).backgroundColor,
        folded: document.querySelectorAll("details:not([open])").length,
        widest: Math.max(...[...document.querySelectorAll("#report *, .chart canvas")]
          .map((node) => node.getBoundingClientRect().right - document.getElementById("report").getBoundingClientRect().left)),
      }));
      assert.equal(paper.background, "rgb(255, 255, 255)");
      assert.equal(paper.folded, 0);
      assert.ok(paper.widest <= 673, `${name}: ${paper.widest} is no wider than the page`);
      await page.screenshot({ path: `${folder}/${name}-print.png`, fullPage: true });
      await page.evaluate(() => dispatchEvent(new Event("afterprint")));
      assert.equal(await page.locator("details[open]").count(), 0);
    }
  },
  async "charts and bars say in words what they show, and the keyboard reaches all that acts"() {
    for (const name of ["prediction", "validation", "search"]) {
      const page = await open(`${folder}/${name}.html`);
      const [silent, beyond] = await page.evaluate(() => [
        [...document.querySelectorAll(".chart, .track, .scroll")].filter((node) => !node.getAttribute("aria-label")).length,
        [...document.querySelectorAll("button, select, summary, .chart, .scroll")].filter((node) => node.tabIndex < 0).length]);
      assert.equal(silent, 0);
      assert.equal(beyond, 0);
    }
    const page = await open(`${folder}/prediction.html`);
    assert.match(await page.locator(".track").last().getAttribute("aria-label"), /^host speed: /);
    const reached = new Set();
    for (let i = 0; i < 12; ++i) {
      await page.keyboard.press("Tab");
      reached.add(await page.evaluate(() => document.activeElement.className || document.activeElement.textContent));
    }
    for (const target of ["Zoom in", "Zoom out", "Show all", "chart", "Stages as a table"]) assert.ok(reached.has(target), target);
  },
};

let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
    console.log(`ok    ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}\n${error.stack}`);
  }
}
await browser.close();
process.exit(failed > 0 ? 1 : 0);
