"use strict";
// A prediction in pictures: the document `prequel/prediction/1`, and what `drawing_json` tells beside it.
const predictionDrawing = (() => {
  const { bars, cell, chart, css, details, dots, element, legend, nearest, numbers, percent, seconds, section, signed, table } = drawing;
  const kMemory = [["weights", "weights"], ["gradients", "gradients"], ["optimizer", "states"],
    ["activations", "activations"], ["buffers", "buffers"], ["framework", "framework"]];

  function title(p, { plan_text: words }) {
    const plan = p.plan;
    return [element("h1", {}, `${p.model} on ${plan.nodes} node${plan.nodes === 1 ? "" : "s"}`),
      element("p", {}, `${plan.gpus} x ${p.device}, cluster ${p.cluster}, software ${p.software}`),
      element("p", { class: "soft" }, words.replaceAll("  ", ", "))];
  }

  // From 0 s to a little beyond the interval: the interval as a band, and the prediction as a line in it.
  function intervalBar(p) {
    const [low, high] = p.interval.sec_per_iter, most = 1.1 * high, at = (s) => `${(100 * s / most).toFixed(3)}%`;
    const text = `${percent(p.interval.level, 0)} interval`;
    return element("div", { class: "bars" }, element("span", {}, text),
      element("div", { class: "track interval", role: "img", "aria-label": `${text}: ${seconds(low)} to ${seconds(high)}, around ` +
        seconds(p.sec_per_iter) }, element("i", { style: `left: ${at(low)}; width: ${at(high - low)}` }),
      element("b", { style: `left: ${at(p.sec_per_iter)}` })),
      element("span", { class: "value" }, `${seconds(low)} to ${seconds(high)}`));
  }

  const amount = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
  const large = (value) => amount.format(value).replace(/(\d)(?=[A-Z])/, "$1\u00a0");
  const days = (value) => (value >= 100 ? value.toFixed(0) : value >= 1 ? value.toFixed(1) : (24 * value).toFixed(1)) +
    (value >= 1 ? "\u00a0days" : "\u00a0hours");
  const kVerdicts = { fits: "fits", tight: "tight", oom: "does not fit" };

  // Answers that decide, as [label, value, notes, kind]: how long, whether it fits, how much.
  function lead(p) {
    const memory = p.memory, run = p.run, [low, high] = p.interval.sec_per_iter.map((s) => s / p.sec_per_iter), measured = p.measured?.mem_gib;
    return [run ? ["Time to train", days(run.days), [`${days(low * run.days)} to ${days(high * run.days)}`, `${large(run.iterations)} steps`]]
      : ["Time per step", seconds(p.sec_per_iter), `${seconds(low * p.sec_per_iter)} to ${seconds(high * p.sec_per_iter)}`],
    ["Memory", kVerdicts[memory.verdict], [`${memory.peak_gib.toFixed(1)} of ${memory.capacity_gib.toFixed(1)} GiB`,
      `fits with a probability of ${percent(p.interval.fits_probability, 0)}`, against(memory.peak_gib, measured, "GiB")], memory.verdict],
    ...(run ? [run.cost === undefined ? ["GPU-hours", large(run.gpu_hours), "a price tells the cost"]
      : ["Cost", large(run.cost), `${large(run.gpu_hours)} GPU-hours`]] : [])];
  }
  const against = (predicted, was, unit) =>
    was === undefined ? "" : `measured ${was.toFixed(2)} ${unit}, ${signed(predicted / was - 1)}`;

  // The change that makes a plan fit which is not sure to, where that was asked for; `use` takes it.
  function nearestPlan(p, use) {
    const near = p.memory.nearest;
    if (!near) return [];
    const button = use && element("button", { type: "button" }, `Use ${near.flags}`);
    button?.addEventListener("click", () => use(near.flags));
    return [element("p", { class: "nearest" }, `The nearest plan that fits, with a probability of ${percent(near.fits_probability, 0)}: ` +
      `${near.flags}; ${seconds(near.sec_per_iter)} per iteration, ${near.peak_gib.toFixed(1)} GiB. `, ...(button ? [button] : []))];
  }

  // Answers that decide, then the step, its interval and what that rests on.
  function headline(p) {
    const measured = p.measured ?? {}, [low, high] = p.interval.sec_per_iter, first = numbers(lead(p));
    first.classList.add("lead");
    return [first, numbers([
      ["time per iteration", `${p.sec_per_iter.toFixed(2)} s`, [`${seconds(low)} to ${seconds(high)}`,
        against(p.sec_per_iter, measured.sec_per_iter, "s")]],
      ["throughput", `${p.tokens_per_sec.toFixed(0)} tokens/s`, `${p.samples_per_sec.toFixed(2)} samples/s`],
      ["model FLOPs per GPU", `${p.tflops_per_gpu.model.toFixed(1)} TFLOP/s`, `MFU ${percent(p.mfu)}`],
      ["hardware FLOPs per GPU", `${p.tflops_per_gpu.hardware.toFixed(1)} TFLOP/s`,
        [`HFU ${percent(p.hfu)}`, against(p.tflops_per_gpu.hardware, measured.tflops_per_gpu, "TFLOP/s")]]]),
    intervalBar(p), ...nearestPlan(p),
    ...p.warnings.map((warning) => element("p", { class: "warning" }, warning)),
    details("What the interval rests on", element("p", { class: "soft" }, `${p.interval.basis}; most of its width: ` +
      `${p.interval.sources.map((source) => source.name).join(", ")}. Error: ${percent(p.error.sec_per_iter, 0)}, ${p.error.basis}. ` +
      `FLOPs counted as "${p.flops_convention}", of a peak of ${p.peak_tflops.toFixed(0)} TFLOP/s.`))];
  }

  // Two predictions side by side: what differs in what was asked, and in what it costs.
  function versus(a, b, compared) {
    const asked = ["model", "cluster", "device", "software"].filter((key) => a[key] !== b[key]).map((key) => [key, a[key], b[key]]);
    for (const axis of Object.keys(a.plan)) {
      if (String(a.plan[axis]) !== String(b.plan[axis])) asked.push([axis.replaceAll("_", " "), String(a.plan[axis]), String(b.plan[axis])]);
    }
    const row = (label, of, show) => {
      const [was, is] = [of(a), of(b)];
      return was === undefined || is === undefined ? [] : [[label, show(was), show(is), signed(is / was - 1)]];
    };
    const rows = [...row("time to train", (p) => p.run?.days, days), ...row("cost", (p) => p.run?.cost, large), ...row("GPU-hours", (p) => p.run?.gpu_hours, large),
      ...row("time per iteration", (p) => p.sec_per_iter, seconds), ...row("tokens/s", (p) => p.tokens_per_sec, (v) => v.toFixed(0)),
      ...row("MFU", (p) => p.mfu, percent), ...row("peak memory", (p) => p.memory.peak_gib, (v) => `${v.toFixed(1)} GiB`),
      ["memory", kVerdicts[a.memory.verdict], kVerdicts[b.memory.verdict], ""], ...asked.map(([label, was, is]) => [label, was || "none", is || "none", ""])];
    const odds = compared && compared.odds_a_faster;
    const [low, high] = compared?.interval.speed_ratio ?? [];
    return section("Two side by side", element("p", {}, odds === null || odds === undefined ? "" : `${odds >= 0.5 ? "The first" : "This one"} does more tokens a second with a probability of ` +
      `${percent(Math.max(odds, 1 - odds), 0)}; this one's speed is ${low.toFixed(2)} to ${high.toFixed(2)} of the first's, at ${percent(compared.interval.level, 0)}.`),
    table("Two side by side", ["what", "the first", "this one", "change"], rows.map((one) => one.map((text) => cell(text)))));
  }

  function breakdown(p, { time_parts: parts }) {
    const step = p.sec_per_iter;
    return section("Where the time goes", element("p", { class: "soft" }, `Stage ${p.slowest_stage}, the busiest.`),
      bars(parts.filter(([part]) => p.breakdown_s[part] > 1e-9 * step).map(([part, colour, meaning]) => ({
        label: part.replace("_", " "), parts: [[p.breakdown_s[part] / step, colour, meaning]],
        value: `${seconds(p.breakdown_s[part])}  ${percent(p.breakdown_s[part] / step)}` }))));
  }

  function timeline(p, { timeline: slices, timeline_note: note, task_kinds: kinds }) {
    const stages = p.memory.stages.map((s) => ({ recompute: s.backward_s > 0 ? s.recompute_s / s.backward_s : 0 }));
    if (slices.length === 0) return section("Timeline of the iteration", element("p", { class: "soft" }, note));
    // kind, stage, chunk, micro batch, start and duration in s; backward begins with what is recomputed.
    const [names, colours, ofBatch, repeats] = [0, 1, 2, 3].map((field) => kinds.map((kind) => kind[field]));
    // Communication is painted first: what passes over layers do not cover of it is exposed.
    const layers = slices.map(([kind]) => colours[kind] === "communication" ? 0 : 1);
    const end = p.sec_per_iter, played = end - p.breakdown_s.other, count = stages.length;
    const rowOf = (stage) => count - 1 - stage;
    const items = slices.map(([kind, stage, chunk, batch, start, duration]) => ({
      x: start + duration / 2, y: rowOf(stage) + 0.5, kind, stage, start, duration,
      text: () => `${names[kind]}${ofBatch[kind] ? ", micro batch " + batch : ""}, stage ${stage}` +
        `${p.plan.vpp > 1 && ofBatch[kind] ? ", chunk " + chunk : ""}\n${seconds(start)} to ${seconds(start + duration)}` +
        ` (${seconds(duration)})` + (repeats[kind] && stages[stage].recompute > 0
          ? `\nof it ${percent(stages[stage].recompute)} recomputes` : "") }));
    return section("Timeline of the iteration",
      element("p", { class: "soft" }, "One row a pipeline stage; drag to zoom. What is empty is bubble; what layers exchange and wait for stands within their passes. " + note),
      legend([["compute", "forward"], ["backward", "backward"], ["recompute", "recompute"],
        ["communication", "exposed communication"], ["optimizer", "optimizer"], ["bubble", "bubble"], ["other", "fixed time per iteration"]]),
      chart({
        label: `Timeline: ${count} pipeline stages over ${seconds(end)}, ${percent(p.breakdown_s.bubble / end)} bubble.`,
        height: Math.min(620, 90 + 34 * count), x: [0, end], y: [0, count], items,
        splits: stages.map((_, i) => i + 0.5), yText: (v) => String(count - 0.5 - v), xLabel: "seconds", yLabel: "stage",
        find: (u, left, top) => {
          const time = u.posToVal(left, "x"), stage = count - 1 - Math.floor(u.posToVal(top, "y"));
          const under = (layer) => items.findIndex((i, index) => layers[index] === layer && i.stage === stage &&
            time >= i.start && time <= i.start + i.duration);
          return under(1) >= 0 ? under(1) : under(0);
        },
        draw: (u, ctx, chosen) => {
          const ink = Object.fromEntries(["compute", "backward", "recompute", "communication", "optimizer", "bubble",
            "other", "ink", "paper"].map((name) => [name, css(name)]));
          const at = (value) => u.valToPos(value, "x", true);
          const [low, high] = [u.scales.x.min, u.scales.x.max];
          for (let stage = 0; stage < count; ++stage) {
            const top = u.valToPos(rowOf(stage) + 0.92, "y", true), bottom = u.valToPos(rowOf(stage) + 0.08, "y", true);
            ctx.fillStyle = ink.bubble;
            ctx.fillRect(at(0), top, at(played) - at(0), bottom - top);
            ctx.fillStyle = ink.other;
            ctx.fillRect(at(played), top, at(end) - at(played), bottom - top);
          }
          for (const layer of [0, 1]) items.forEach((item, index) => {
            if (layers[index] !== layer || item.start > high || item.start + item.duration < low) return;
            const top = u.valToPos(rowOf(item.stage) + 0.92, "y", true);
            const bottom = u.valToPos(rowOf(item.stage) + 0.08, "y", true);
            const left = at(item.start), width = Math.max(0.5, at(item.start + item.duration) - left);
            ctx.fillStyle = ink[colours[item.kind]];
            ctx.fillRect(left, top, width, bottom - top);
            if (repeats[item.kind]) {
              ctx.fillStyle = ink.recompute;
              ctx.fillRect(left, top, width * stages[item.stage].recompute, bottom - top);
            }
            if (width > 5) {
              ctx.fillStyle = ink.paper;
              ctx.fillRect(left + width - 1, top, 1, bottom - top);
            }
            if (index === chosen) {
              ctx.strokeStyle = ink.ink;
              ctx.lineWidth = 3;
              ctx.strokeRect(left, top, width, bottom - top);
            }
          });
        },
      }));
  }

  function memory(p) {
    const memory = p.memory;
    const most = Math.max(memory.capacity_gib, ...memory.stages.map((s) => s.peak_gib)) * 1.03;
    return section("Memory per pipeline stage",
      element("p", { class: "soft" }, `GiB of one GPU; the red line is its capacity, ${memory.capacity_gib.toFixed(1)} GiB.`),
      legend(kMemory.map(([part, colour]) => [colour, part])),
      bars(memory.stages.map((s) => ({ label: `stage ${s.stage}`, mark: memory.capacity_gib / most,
        value: `${s.peak_gib.toFixed(1)} GiB`,
        parts: kMemory.map(([part, colour]) => [s[part + "_gib"] / most, colour, `${part}: ${s[part + "_gib"].toFixed(1)} GiB`]) }))),
      details("Stages as a table", table("Stages", ["stage", "layers", ...kMemory.map(([part]) => part), "peak GiB",
        "forward", "backward", "busy"], memory.stages.map((s) => [cell(s.stage), cell(s.layers),
        ...kMemory.map(([part]) => cell(s[part + "_gib"], (v) => v.toFixed(1))), cell(s.peak_gib, (v) => v.toFixed(1)),
        cell(s.forward_s, seconds), cell(s.backward_s, seconds), cell(s.busy_s, seconds)]))));
  }

  function sensitivity(p, resources) {
    const gains = resources.map((s) => ({ ...s, gain: 1 - s.sec_per_iter / p.sec_per_iter }));
    const largest = Math.max(1e-9, ...gains.map((s) => s.gain));
    return section("What 10 % more would bring",
      element("p", { class: "soft" }, "The iteration with 10 % more of one resource and everything else as it is."),
      bars(gains.map((s) => ({ label: s.resource, parts: [[s.gain / largest, "compute", s.resource]],
        value: `${seconds(s.sec_per_iter)}  −${percent(s.gain)}` }))));
  }

  // A reservation: tokens over days as a band, hours lost as bars, the rest as numbers.
  function reservation(p) {
    const r = p.reservation;
    if (!r) return [];
    const amount = (v) => v === null ? "never" : Math.abs(v) >= 1e6 ? v.toExponential(2) : Number(v.toPrecision(3)).toString();
    const band = (values, scale = 1, unit = "") => {
      const [low, middle, high] = values.map((v) => v === null ? null : v * scale);
      return [amount(middle) + unit, `${amount(low)} to ${amount(high)}`];
    };
    const reserved = r.reserved_days !== null;
    const entries = [["days to the last token", ...band(r.days)],
      ...(reserved ? [["in time", percent(r.completes_probability, 0), `within ${amount(r.reserved_days)} days`],
        ["tokens by the end", ...band(r.tokens_by_end)]] : []),
      ["stops", ...band(r.stops)], ["effective time (ETTR)", ...band(r.ettr, 100, " %")],
      ["goodput", ...band(r.goodput_tokens_per_sec, 1, " tokens/s")],
      ["utilisation of what is paid", ...band(r.utilisation, 100, " %")],
      ...(r.cost ? [["cost", ...band(r.cost)]] : []), ...(r.kwh ? [["energy of the nodes", ...band(r.kwh, 1, " kWh")]] : [])];
    const { days, tokens } = r.curve, end = days[days.length - 1];
    const most = 1.05 * Math.max(...tokens.map(([, , high]) => high));
    const items = days.map((day, i) => ({ x: day, y: tokens[i][1],
      text: () => `after ${amount(day)} days\n${amount(tokens[i][1])} tokens\n${amount(tokens[i][0])} to ${amount(tokens[i][2])}` }));
    const lost = Object.entries(r.lost_hours).filter(([, hours]) => hours > 0).sort((a, b) => b[1] - a[1]);
    const all = lost.reduce((sum, [, hours]) => sum + hours, 0), largest = lost.length ? lost[0][1] : 1;
    return [section(`Reservation of ${r.nodes + r.spares} nodes`,
      element("p", { class: "soft" }, `${r.spares} of them spare; class ${r.class}${r.own_figures ? " with the cluster's own figures" : ""}. ` +
        `Each number is a median, with what one in ten and nine in ten ways stay below. ${r.spares_for_99} spares for 99 %.`),
      numbers(entries),
      chart({ label: `Tokens over ${amount(end)} days: ${amount(tokens[tokens.length - 1][1])} by the end in the median.`,
        height: 300, x: [0, end], y: [0, most], items, xLabel: "days", yLabel: "tokens", find: nearest(items),
        yText: (v) => v === 0 ? "0" : v.toExponential(1),
        draw: (u, ctx, chosen) => {
          const at = (i, which) => [u.valToPos(i < 0 ? 0 : days[i], "x", true), u.valToPos(i < 0 ? 0 : tokens[i][which], "y", true)];
          ctx.beginPath();
          ctx.moveTo(...at(-1, 0));
          days.forEach((_, i) => ctx.lineTo(...at(i, 2)));
          for (let i = days.length - 1; i >= 0; --i) ctx.lineTo(...at(i, 0));
          ctx.closePath();
          ctx.globalAlpha = 0.35;
          ctx.fillStyle = css("compute");
          ctx.fill();
          ctx.globalAlpha = 1;
          ctx.beginPath();
          ctx.moveTo(...at(-1, 1));
          days.forEach((_, i) => ctx.lineTo(...at(i, 1)));
          ctx.strokeStyle = css("compute");
          ctx.lineWidth = 2 * devicePixelRatio;
          ctx.stroke();
          if (chosen >= 0) dots(u, ctx, [items[chosen]], 0);
        } })),
    section("Hours lost", element("p", { class: "soft" }, "In the mean, until the last token or the end of the reservation."),
      bars(lost.map(([cause, hours]) => ({ label: cause.replaceAll("_", " "), parts: [[hours / largest, "bubble", cause]],
        value: `${amount(hours)} h  ${percent(hours / all)}` }))))];
  }

  return { title, lead, headline, nearestPlan, versus, breakdown, timeline, memory, sensitivity, reservation };
})();
