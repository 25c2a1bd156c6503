"use strict";
// Plans that a search found: the document `prequel/search/1`.
const searchDrawing = (() => {
  const { cell, chart, css, dots, element, nearest, percent, seconds, section, table } = drawing;
  // Axes that name every plan, and those that tell plans apart.
  const kAlways = ["nodes", "dp", "tp", "pp", "mbs"];
  const differing = (plans) => Object.keys(plans[0]).filter((axis) =>
    kAlways.includes(axis) || new Set(plans.map((plan) => String(plan[axis]))).size > 1);

  // Where plans run, and what they are ranked by.
  const question = (s) => `${s.cluster} (${s.device}), software ${s.software}` +
    `; by ${s.objective === "time" ? "time per iteration" : s.objective}`;

  // One line on how many plans there were.
  const summary = (s) => `${s.considered} plans considered, ${s.legal} legal, ${s.fitting} fit; the best ` +
    `${s.plans.length} are shown.`;

  function chooser(p, choose) {
    const button = element("button", { type: "button", "aria-label": `look at plan ${p.rank}` }, "Look");
    button.addEventListener("click", () => choose(p));
    return button;
  }

  // Where nothing fits: how far off it is, and what to relax.
  function misses(s) {
    const nearest = s.nearest_misses[0];
    return [element("p", {}, `None of ${s.legal} legal plans fits.` +
      (nearest ? ` The nearest needs ${nearest.needs_gib.toFixed(1)} GiB of a GPU.` : "")),
    element("ul", {}, ...s.relaxations.map((one) => element("li", {},
      `${one.limit}: ${one.fitting} plan${one.fitting === 1 ? "" : "s"} would fit, the best in ${seconds(one.sec_per_iter)}`)))];
  }

  // The Pareto chart and the table of plans; `choose`, where it is given, is offered for each plan.
  function plans(s, choose) {
    if (s.plans.length === 0) return misses(s);
    const axes = differing([...s.pareto, ...s.plans].map((p) => p.plan));
    const describe = (plan) => axes.map((axis) => `${axis} ${plan[axis]}`).join(", ");
    const shown = new Map([...s.pareto, ...s.plans].map((p) => [JSON.stringify(p.plan), p]));
    const points = [...shown.values()].map((p) => ({ x: p.memory.peak_gib, y: p.sec_per_iter, plan: p })).sort((a, b) => a.x - b.x || a.y - b.y);
    let best = Infinity;
    for (const point of points) {
      point.front = point.y < best;
      if (point.front) best = point.y;
      point.colour = point.front ? "communication" : "compute";
      point.text = `${point.plan.rank ? `rank ${point.plan.rank}` : "not ranked"}${point.front ? ", on the Pareto front" : ""}\n${describe(point.plan.plan)}\n` +
        `${seconds(point.y)}, ${point.x.toFixed(1)} GiB`;
    }
    const xs = points.map((p) => p.x), ys = points.map((p) => p.y);
    const pad = (values) => { const low = Math.min(...values), high = Math.max(...values), more = 0.06 * (high - low) || 0.06 * high;
      return [low - more, high + more]; };
    const front = section("Time against memory", element("p", { class: "soft" }, `Red: no other of all ${s.fitting} plans is both faster and smaller.`),
      chart({ label: `Pareto chart of ${points.length} plans, ${points.filter((p) => p.front).length} on the front.`, height: 420,
        x: pad(xs), y: pad(ys), items: points, find: nearest(points), xLabel: "peak memory, GiB", yLabel: "seconds per iteration",
        draw: (u, ctx, chosen) => {
          ctx.strokeStyle = css("communication");
          ctx.lineWidth = 1.5 * devicePixelRatio;
          ctx.beginPath();
          points.filter((p) => p.front).forEach((p, i) =>
            ctx[i ? "lineTo" : "moveTo"](u.valToPos(p.x, "x", true), u.valToPos(p.y, "y", true)));
          ctx.stroke();
          dots(u, ctx, points, chosen);
        } }));
    const totals = [["days", "days"], ["gpu_hours", "GPU-hours"], ["cost", "cost"]].filter(([key]) => s.plans[0][key] !== undefined);
    const list = section("Plans", table("Plans", ["rank", "seconds", "peak GiB", "memory", "MFU", ...totals.map(([, label]) => label), ...axes, ...(choose ? ["look"] : [])],
      s.plans.map((p) => [cell(p.rank),
      cell(p.sec_per_iter, (v) => v.toFixed(3)), cell(p.memory.peak_gib, (v) => v.toFixed(1)), 
      cell(p.memory.verdict + (p.fits_probability < 0.95 ? ` (${percent(p.fits_probability, 0)})` : "")), cell(p.mfu, (v) => percent(v)),
      ...totals.map(([key]) => cell(p[key], (v) => v.toFixed(key === "days" ? 1 : 0))),
      ...axes.map((axis) => cell(p.plan[axis])), ...(choose ? [{ text: chooser(p, choose), key: p.rank }] : [])])));
    return [front, list];
  }

  return { plans, question, summary };
})();
