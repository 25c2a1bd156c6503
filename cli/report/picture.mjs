// The timeline of a report as the SVG picture of the README:
//   prequel predict bloom-176b-jean-zay --report r.html && node cli/report/picture.mjs r.html > cli/report/timeline.svg
import { readFileSync } from "node:fs";

const page = readFileSync(process.argv[2], "utf8");
const { prediction: p, timeline } = JSON.parse(page.match(/id="data">(.*?)<\/script>/s)[1]);
const classes = ["f", "b", "b", "b", "c", "c", "c", "c", "o", "c", "f", "b", "b"];
const [left, width, row, gap] = [64, 920, 26, 5];
const x = (s) => (left + (width * s) / p.sec_per_iter).toFixed(1);
const length = (s) => Math.max(0.3, (width * s) / p.sec_per_iter).toFixed(1);
const top = (stage) => 34 + stage * (row + gap);
const stages = p.memory.stages;
const bottom = top(stages.length);
const out = [];
const rect = (kind, start, duration, stage) =>
  out.push(`<rect class="${kind}" x="${x(start)}" y="${top(stage)}" width="${length(duration)}" height="${row}"/>`);

stages.forEach((_, stage) => rect("e", 0, p.sec_per_iter - p.breakdown_s.other, stage));
for (const [kind, stage, , , start, duration] of timeline) {
  rect(classes[kind], start, duration, stage);
  const share = stages[stage].recompute_s / stages[stage].backward_s;
  if (kind === 1 || kind === 11) rect("r", start, share * duration, stage);
}
stages.forEach((_, stage) =>
  out.push(`<text x="${left - 8}" y="${top(stage) + 18}" text-anchor="end">stage ${stage}</text>`));
for (let s = 0; s <= p.sec_per_iter; s += 20) {
  out.push(`<text x="${x(s)}" y="${bottom + 14}" text-anchor="middle">${s} s</text>`);
}
[["f", "forward"], ["r", "recompute"], ["b", "backward"], ["c", "exposed communication"], ["e", "bubble"]]
  .forEach(([kind, label], i) => out.push(`<rect class="${kind}" x="${left + i * 190}" y="8" width="12" height="12"/>` +
    `<text x="${left + 17 + i * 190}" y="19">${label}</text>`));
console.log(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000 ${bottom + 24}" role="img"
  aria-label="Timeline of one iteration of ${p.model}: ${stages.length} pipeline stages over ${p.sec_per_iter.toFixed(1)} s">
<style>text{font:13px sans-serif;fill:#1b1f24}.f{fill:#3b78c3}.b{fill:#6a51a3}.r{fill:#c9a227}.c{fill:#d1495b}
.e{fill:#e4e8ec}.o{fill:#2a9d8f}@media(prefers-color-scheme:dark){text{fill:#e6e9ed}.e{fill:#2b333c}.f{fill:#5c9be6}
.b{fill:#a08bd6}.r{fill:#dcbb4e}.c{fill:#ef7285}}</style>
${out.join("\n")}
</svg>`);
