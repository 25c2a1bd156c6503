"use strict";
// Plans that a search found: the document `prequel/search/1`.
const searchDrawing = (() => {
  const { cell, chart, css, dots, element, legend, nearest, percent, seconds, section, table } = drawing;
  // What every plan is told by, and what tells plans apart.
  const kAlways = ["nodes", "dp", "tp", "pp", "mbs"];
  const differing = (plans) => Object.keys(plans[0]).filter((axis) =>
    kAlways.includes(axis) || new Set(plans.map((plan) => String(plan[axis]))).size > 1);

  // Where plans run, and what they are ranked by.
  const question = (s) => `${s.cluster} (${s.device}), software ${s.software}` +
    `; by ${s.objective === "time" ? "time per iteration" : s.objective}`;

  // One line on how many plans there were.
  const summary = (s) => `${s.considered} plans considered, ${s.legal} legal, ${s.fitting} fit; the best ` +
    `${s.plans.length} are shown.`;

  function chooser(p, choose, label = "Look", name = `look at plan ${p.rank}`) {
    const button = element("button", { type: "button", "aria-label": name }, label);
    button.addEventListener("click", () => choose(p));
    return button;
  }

  // What to take, what if it runs out of memory, what to measure; and what more risk would bring.
  function recommendation(s, choose) {
    const what = s.recommendation, risky = s.risky;
    if (!what) return [];
    const take = (plan, label) => (plan ? [chooser({ plan }, choose, label, label)] : []);
    return [section("Recommendation", element("p", { class: "recommendation" }, what.text),
      ...(risky ? [element("p", { class: "soft" }, `A riskier plan would be ${percent(risky.gain)} faster: ${seconds(risky.sec_per_iter)}, ` +
        `${risky.peak_gib.toFixed(1)} GiB, which fits with a probability of ${percent(risky.fits_probability, 0)}.`)] : []),
      ...(choose ? [element("div", { class: "controls" }, ...take(what.plan, "Use the recommended plan"), ...take(what.fallback, "Use the smaller one"),
        ...take(risky?.plan, "Use the riskier one"))] : []))];
  }

  // Where nothing fits: how far off it is, and what to relax.
  function misses(s) {
    const nearest = s.nearest_misses[0];
    return [element("p", {}, `None of ${s.legal} legal plans fits.` +
      (nearest ? ` The nearest needs ${nearest.needs_gib.toFixed(1)} GiB of a GPU.` : "")),
    element("ul", {}, ...s.relaxations.map((one) => element("li", {},
      `${one.limit}: ${one.fitting} plan${one.fitting === 1 ? "" : "s"} would fit, the best in ${seconds(one.sec_per_iter)}`)))];
  }

  // Points of `cloud`: places of values in the axes that differ, and what all plans share.
  function cloudPoints(cloud, shared, describe) {
    const axes = Object.entries(cloud?.axes ?? {});
    return (cloud?.plans ?? []).map(([gib, sec, ...places]) => {
      const plan = () => ({ ...shared, ...Object.fromEntries(axes.map(([axis, values], i) => [axis, values[places[i]]])) });
      return { x: gib, y: sec, plan, text: () => `${describe(plan())}\n${seconds(sec)}, ${gib.toFixed(1)} GiB` };
    });
  }
  const kSlowest = 2.5;  // times the best: what is slower lies above the chart

  // All plans as a cloud, those that were ranked and the front in it, and the table of plans;
  // `choose`, where it is given, is offered for each plan.
  function plans(s, choose, cloud) {
    if (s.plans.length === 0) return misses(s);
    const axes = differing([...s.pareto, ...s.plans].map((p) => p.plan));
    const describe = (plan) => axes.map((axis) => `${axis} ${plan[axis]}`).join(", ");
    const shown = new Map([...s.pareto, ...s.plans].map((p) => [JSON.stringify(p.plan), p]));
    const points = [...shown.values()].map((p) => ({ x: p.memory.peak_gib, y: p.sec_per_iter, of: p, plan: () => p.plan })).sort((a, b) => a.x - b.x || a.y - b.y);
    let best = Infinity;
    for (const point of points) {
      point.front = point.y < best;
      if (point.front) best = point.y;
      point.colour = s.plans.includes(point.of) ? "compute" : "communication";
      point.text = `${point.of.rank ? `rank ${point.of.rank}` : "not ranked"}${point.front ? ", on the Pareto front" : ""}\n${describe(point.of.plan)}\n` +
        `${seconds(point.y)}, ${point.x.toFixed(1)} GiB`;
    }
    const all = cloudPoints(cloud, s.plans[0].plan, describe), near = all.filter((p) => p.y <= kSlowest * best), slower = all.length - near.length;
    const items = [...points, ...near];
    const pad = (values) => { const low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b)), more = 0.06 * (high - low) || 0.06 * high;
      return [low - more, high + more]; };
    const front = section("Time against memory", element("p", { class: "soft" }, `The line joins plans that no other of all ${s.fitting} beats in both.` +
      (near.length ? ` Each grey point is a plan${cloud.of > all.length ? `, one of ${Math.round(cloud.of / all.length)}` : ""}` +
        `${slower ? `; ${slower} that take ${kSlowest} times as long or more are left out` : ""}. A pointer over one tells its plan${choose ? ", a click takes it" : ""}.` : "")),
      legend([["compute", "ranked in the table"], ["communication", "on the front, not ranked"], ...(near.length ? [["other", "every other plan that fits"]] : [])]),
      chart({ label: `${near.length} plans as a cloud, ${points.length} of them marked, ${points.filter((p) => p.front).length} on the Pareto front.`, height: 420,
        x: pad(items.map((p) => p.x)), y: pad(items.map((p) => p.y)), items, reach: points.length, find: nearest(items), xLabel: "peak memory, GiB", yLabel: "seconds per iteration",
        pick: choose && ((item) => choose({ plan: item.plan() })),
        draw: (u, ctx, chosen) => {
          const at = (p) => [u.valToPos(p.x, "x", true), u.valToPos(p.y, "y", true)], size = 3 * devicePixelRatio;
          ctx.fillStyle = css("soft");
          ctx.globalAlpha = near.length > 2000 ? 0.35 : 0.6;
          for (const p of near) {
            const [x, y] = at(p);
            ctx.fillRect(x - size / 2, y - size / 2, size, size);
          }
          ctx.globalAlpha = 1;
          ctx.strokeStyle = css("communication");
          ctx.lineWidth = 1.5 * devicePixelRatio;
          ctx.beginPath();
          points.filter((p) => p.front).forEach((p, i) => ctx[i ? "lineTo" : "moveTo"](...at(p)));
          ctx.stroke();
          dots(u, ctx, points, chosen);
        } }));
    const totals = [["days", "days"], ["gpu_hours", "GPU-hours"], ["cost", "cost"]].filter(([key]) => s.plans[0][key] !== undefined);
    // Columns that are the same in all rows are said once.
    const varied = axes.filter((axis) => new Set(s.plans.map((p) => String(p.plan[axis]))).size > 1 || s.plans.length === 1);
    const same = axes.filter((axis) => !varied.includes(axis)).map((axis) => `${axis.replaceAll("_", " ")} ${s.plans[0].plan[axis]}`);
    const list = section("Plans", element("p", { class: "soft" }, (same.length ? `In all rows: ${same.join(", ")}. ` : "") +
      "= is a tie: within the stated error of the best. Odds: that it is the best of those found; loss: expected by taking it."),
    table("Plans", ["rank", ...(choose ? ["look"] : []), "seconds", "peak GiB", "fits", "odds", "loss", ...totals.map(([, label]) => label), ...varied.map((axis) => axis.replaceAll("_", " "))],
      s.plans.map((p) => [{ text: `${p.rank}${p.tie_with_best && p.rank > 1 ? " =" : ""}`, key: p.rank }, ...(choose ? [{ text: chooser(p, choose), key: p.rank }] : []),
        cell(p.sec_per_iter, (v) => v.toFixed(3)), cell(p.memory.peak_gib, (v) => v.toFixed(1)), cell(p.fits_probability, (v) => percent(v, 0)),
        cell(p.odds_best, (v) => percent(v, 0)), cell(p.expected_loss, (v) => percent(v)),
        ...totals.map(([key]) => cell(p[key], (v) => v.toFixed(key === "days" ? 1 : 0))), ...varied.map((axis) => cell(valueText(p.plan[axis])))])));
    return [list, front];
  }
  const valueText = (value) => (Array.isArray(value) ? value.join(", ") || "none" : value === true ? "on" : value === false ? "off" : value === "" ? "even" : value);

  return { plans, question, recommendation, summary };
})();
