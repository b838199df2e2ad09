// Draws the charts of a report again with uPlot, so that they can be read off,
// zoomed and taken apart. The pictures beneath stay for paper, for readers of
// screens and for pages without script.
(() => {
  "use strict";
  const source = document.getElementById("chart-data");
  if (!source || typeof uPlot !== "function") return;
  const charts = JSON.parse(source.textContent);
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const number = (v) => v.toLocaleString("en-US", Math.abs(v) >= 100 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 3 });

  // color is what the page's style gives to a class of a chart.
  const colors = new Map();
  const color = (name) => {
    if (colors.has(name)) return colors.get(name);
    const holder = document.createElement("div"), probe = document.createElement("i");
    holder.className = "chart";
    probe.className = name;
    holder.appendChild(probe);
    document.body.appendChild(holder);
    const found = getComputedStyle(probe).color;
    holder.remove();
    colors.set(name, found);
    return found;
  };

  const nice = (step) => {
    const base = 10 ** Math.floor(Math.log10(step));
    return [1, 2, 5, 10].map((m) => m * base).find((s) => s >= step * (1 - 1e-9));
  };

  // ticks are round numbers between two others.
  const ticks = (low, high, log, most) => {
    const list = [];
    if (log && low > 0 && high / low >= 10) {
      for (const steps of [[1, 2, 5], [1]]) {
        list.length = 0;
        for (let p = Math.floor(Math.log10(low)); p <= Math.log10(high); p++)
          for (const m of steps) {
            const v = m * 10 ** p;
            if (v >= low && v <= high) list.push(v);
          }
        if (list.length <= most) break;
      }
      return list;
    }
    const step = nice((high - low) / Math.max(most - 1, 2));
    for (let i = Math.ceil(low / step); i * step <= high; i++) list.push(Number((i * step).toPrecision(12)));
    return list;
  };

  // aligned lays the lines over one list of places, as uPlot wants them. A place
  // that a line has twice, as a step has, is in the list twice.
  const aligned = (c) => {
    const times = (list, x) => list.get(x) || 0, most = new Map();
    for (const l of c.lines) {
      const own = new Map();
      for (const x of c.xs[l.xs]) own.set(x, times(own, x) + 1);
      own.forEach((n, x) => most.set(x, Math.max(n, times(most, x))));
    }
    const xs = [...most.keys()].sort((a, b) => a - b).flatMap((x) => new Array(most.get(x)).fill(x));
    const at = new Map(xs.map((x, i) => [x, i]).reverse());
    return [xs, ...c.lines.map((l) => {
      const ys = new Array(xs.length).fill(null), seen = new Map();
      c.xs[l.xs].forEach((x, i) => {
        ys[at.get(x) + times(seen, x)] = l.ys[i];
        seen.set(x, times(seen, x) + 1);
      });
      return ys;
    })];
  };

  // apart leaves out ticks that would touch the one before.
  const apart = (list, pixels) => {
    const kept = [];
    for (const v of list) if (!kept.length || (v - kept[kept.length - 1]) * pixels > 42) kept.push(v);
    return kept;
  };

  const axis = (a, side, most) => ({
    side, label: a.label, labelSize: 20, labelFont: "600 12px system-ui, sans-serif", font: "12px system-ui, sans-serif", stroke: style("--soft"),
    grid: { show: side === 3, stroke: style("--rule"), width: 1 }, ticks: { stroke: style("--rule"), width: 1, size: 5 }, size: side === 3 ? 62 : 40,
    splits: (u, i, low, high) => a.ticks ? apart(a.ticks.filter((v) => v >= low && v <= high), (u.width - 80) / (high - low)) : ticks(low, high, a.log, most(u)),
    filter: (u, splits) => splits,
    values: (u, splits) => splits.map((v) => a.ticks ? a.texts[a.ticks.indexOf(v)] : number(v)),
  });

  // reach is how far the Y axis goes: over the points in sight and the bounds, with
  // room for the name of a bound at the top.
  const reach = (c) => (u, low, high) => {
    if (low == null) { low = 1; high = 1; }
    const named = (c.bounds || []).some((b) => b.y >= high);
    for (const b of c.bounds || []) { low = Math.min(low, b.y); high = Math.max(high, b.y); }
    c.lines.forEach((l, i) => {
      if (u.series[i + 1].show) for (const r of l.ranges || []) if (r[0] || r[1]) { low = Math.min(low, r[0]); high = Math.max(high, r[1]); }
    });
    if (c.y.log) return [low / 1.25, high * (named ? 1.6 : 1.25)];
    const few = (c.y.least || 0) * (high + low) / 2;
    if (high - low < few) [low, high] = [(high + low - few) / 2, (high + low + few) / 2];
    const room = (high - low) * 0.06 || Math.abs(high) * 0.05 || 1;
    const bottom = c.y.free ? low - room : Math.min(low < 0 ? low - room : 0, low);
    return [bottom, high + (named ? (high - bottom) * 0.13 : room)];
  };

  // across is how far the X axis goes: over all, until somebody zooms.
  const across = (c) => (u, low, high) => {
    if (u.zoomed) return [low, high];
    for (const s of c.spans || []) high = Math.max(high, s.to);
    for (const m of c.marks || []) { low = Math.min(low, m.x); high = Math.max(high, m.band ? m.band[1] : m.x); }
    if (c.x.log) return [low / 1.1, high * 1.1];
    return c.x.ticks || c.x.free || low < 0 ? [low, high] : [0, high * 1.01];
  };

  const line = (ctx, x1, y1, x2, y2, stroke, width, dash) => {
    ctx.strokeStyle = stroke; ctx.lineWidth = width; ctx.setLineDash(dash || []);
    ctx.beginPath(); ctx.moveTo(x1, y1); ctx.lineTo(x2, y2); ctx.stroke(); ctx.setLineDash([]);
  };

  // wide is how many pixels a text takes.
  const pen = document.createElement("canvas").getContext("2d");
  const wide = (text) => {
    pen.font = "12px system-ui, sans-serif";
    return pen.measureText(text).width;
  };

  const write = (ctx, text, x, y, fill, align) => {
    ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.textAlign = align || "left"; ctx.textBaseline = "alphabetic";
    ctx.lineWidth = 4 * devicePixelRatio; ctx.lineJoin = "round"; ctx.strokeStyle = style("--paper"); ctx.strokeText(text, x, y);
    ctx.fillStyle = fill; ctx.fillText(text, x, y);
  };

  // under draws what lies beneath the lines: stretches and bands.
  const under = (c) => (u) => {
    const { ctx } = u, { left, top, width, height } = u.bbox;
    ctx.save(); ctx.beginPath(); ctx.rect(left, top, width, height); ctx.clip();
    const shade = (from, to, fill) => {
      const a = u.valToPos(from, "x", true), b = u.valToPos(to, "x", true);
      ctx.fillStyle = fill; ctx.fillRect(a, top, b - a, height);
    };
    for (const s of c.spans || []) shade(s.from, s.to, style("--wash"));
    for (const m of c.marks || []) if (m.band) shade(m.band[0], m.band[1], style("--band"));
    ctx.restore();
  };

  // ends writes the names of lines beside their ends, none over another.
  const ends = (c, u, r) => {
    const { left, top, width, height } = u.bbox, list = [];
    c.lines.forEach((l, i) => {
      if (!l.end || !u.series[i + 1].show) return;
      const xs = c.xs[l.xs];
      let k = xs.length - 1;
      while (k > 0 && xs[k] > u.scales.x.max) k--;
      list.push({ l, x: Math.min(u.valToPos(xs[k], "x", true), left + width), y: u.valToPos(l.ys[k], "y", true) + 4 * r });
    });
    list.sort((a, b) => a.y - b.y);
    list.forEach((e, i) => { e.y = Math.min(e.y, top + height - 14 * r * (list.length - 1 - i)); });
    list.forEach((e, i) => {
      if (i > 0) e.y = Math.max(e.y, list[i - 1].y + 14 * r);
      write(u.ctx, e.l.end, e.x + 6 * r, e.y, color(e.l.class));
    });
  };

  // over draws bounds, marks and intervals.
  const over = (c) => (u) => {
    const { ctx } = u, { left, top, width, height } = u.bbox, r = devicePixelRatio;
    ctx.save(); ctx.beginPath(); ctx.rect(left, 0, u.width * r - left, top + height); ctx.clip();
    c.lines.forEach((l, i) => {
      if (!l.ranges || !u.series[i + 1].show) return;
      l.ranges.forEach(([low, high], k) => {
        if (!low && !high) return;
        const x = u.valToPos(c.xs[l.xs][k], "x", true), a = u.valToPos(low, "y", true), b = u.valToPos(high, "y", true), stroke = color(l.class);
        line(ctx, x, a, x, b, stroke, 1.5 * r);
        line(ctx, x - 4 * r, a, x + 4 * r, a, stroke, 1.5 * r);
        line(ctx, x - 4 * r, b, x + 4 * r, b, stroke, 1.5 * r);
      });
    });
    c.lines.forEach((l, i) => {
      if (!u.series[i + 1].show) return;
      const at = (k) => [u.valToPos(c.xs[l.xs][k], "x", true), u.valToPos(l.ys[k], "y", true)];
      for (const k of l.hollow || []) {
        const [x, y] = at(k);
        ctx.beginPath(); ctx.arc(x, y, 3.5 * r, 0, 2 * Math.PI);
        ctx.fillStyle = style("--paper"); ctx.fill(); ctx.strokeStyle = color(l.class); ctx.lineWidth = 2 * r; ctx.stroke();
      }
      (l.labels || []).forEach((text, k) => {
        const [x, y] = at(k), ends = x + (6 + wide(text || "")) * r > left + width;
        if (text) write(ctx, text, ends ? x - 6 * r : x + 6 * r, y - 7 * r, color(l.class), ends ? "right" : "left");
      });
    });
    ends(c, u, r);
    for (const b of c.bounds || []) {
      const y = u.valToPos(b.y, "y", true), paint = style(b.plain ? "--soft" : "--bad");
      line(ctx, left, y, left + width, y, paint, 1.5 * r, [6 * r, 4 * r]);
      write(ctx, b.text, left + 8 * r, y - top < 16 * r ? y + 15 * r : y - 6 * r, paint);
    }
    for (const m of c.marks || []) {
      const x = u.valToPos(m.x, "x", true), paint = style(m.faint ? "--soft" : "--bad");
      if (x < left || x > left + width) continue;
      line(ctx, x, top, x, top + height, paint, 1.5 * r, m.faint ? [2 * r, 3 * r] : []);
      const half = wide(m.text) * r / 2;
      if (m.faint) write(ctx, m.text, x - 6 * r, top + height - 8 * r, paint, "right");
      else write(ctx, m.text, Math.min(Math.max(x, left + half), left + width - half), top - 6 * r, paint, "center");
    }
    for (const s of c.spans || []) {
      const x = Math.max(u.valToPos(s.from, "x", true), left);
      if (u.valToPos(s.to, "x", true) > left && x < left + width)
        write(ctx, s.text, Math.min(x, left + width - wide(s.text) * r), top - 6 * r, style("--soft"));
    }
    ctx.restore();
  };

  // value is what the legend says of a line where the pointer is.
  const value = (c, l) => (u, v, series, index) => {
    if (v == null) return "–";
    const k = index == null ? -1 : c.xs[l.xs].indexOf(u.data[0][index]);
    const range = l.ranges && k >= 0 ? l.ranges[k] : null;
    return number(v) + (range && (range[0] || range[1]) ? ` (${number(range[0])} … ${number(range[1])})` : "");
  };

  // dashes tell lines of one color apart.
  const dashes = (l) => l.trail ? [5, 4] : l.weight === 2 ? [2, 2] : l.weight === 1 ? [8, 3] : undefined;

  const series = (c) => c.lines.map((l) => ({
    label: l.name, stroke: color(l.class), width: l.weight || l.trail ? 1.5 : 2, dash: dashes(l), spanGaps: true,
    points: { show: l.dots, size: 8, fill: color(l.class) }, paths: l.loose ? () => null : undefined, value: value(c, l),
  }));

  const named = (c) => ({
    label: c.x.label.replace(/ (\(|since).*/, ""),
    value: (u, v) => v == null ? "–" : c.x.label === "percentile" ? "p" + Number((100 * (1 - 10 ** -v)).toPrecision(6)) : number(v),
  });

  const size = (figure) => ({ width: Math.floor(figure.clientWidth), height: figure.classList.contains("whole") && figure.clientWidth > 600 ? 330 : 270 });

  // byKeyboard lets keys do what a pointer does: names of the legend hide their lines,
  // arrows read the chart off, plus and minus zoom, Escape undoes that.
  const byKeyboard = (u, figure) => {
    u.root.querySelector("canvas").setAttribute("aria-hidden", "true"); // the picture beneath has the words
    u.root.querySelectorAll(".u-legend .u-series").forEach((row, i) => {
      const name = row.querySelector("th");
      if (i === 0) return; // the place of the pointer
      name.tabIndex = 0;
      name.setAttribute("role", "button");
      const told = () => name.setAttribute("aria-pressed", String(u.series[i].show));
      told();
      name.addEventListener("click", () => setTimeout(told));
      name.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        name.click();
      });
    });
    const over = u.over, xs = u.data[0];
    over.tabIndex = 0;
    over.setAttribute("role", "group");
    over.setAttribute("aria-label", figure.querySelector("figcaption").textContent + ": arrow keys read it off, + and - zoom, Escape undoes that");
    const at = () => u.cursor.idx == null ? 0 : u.cursor.idx;
    const zoom = (factor) => {
      const { min, max } = u.scales.x, middle = xs[at()], half = (max - min) * factor / 2;
      u.zoomed = true;
      u.setScale("x", { min: Math.max(middle - half, xs[0]), max: Math.min(middle + half, xs[xs.length - 1]) });
    };
    const keys = {
      ArrowRight: () => go(1), ArrowLeft: () => go(-1), "+": () => zoom(0.5), "-": () => zoom(2),
      Escape: () => { u.zoomed = false; u.setScale("x", { min: xs[0], max: xs[xs.length - 1] }); },
    };
    const go = (step) => {
      const next = u.cursor.idx == null ? 0 : Math.min(Math.max(at() + step, 0), xs.length - 1);
      u.setCursor({ left: u.valToPos(xs[next], "x"), top: 10 });
    };
    over.addEventListener("keydown", (event) => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      keys[event.key]();
    });
  };

  const draw = (figure, c) => {
    const room = document.createElement("div");
    room.className = "plot";
    figure.appendChild(room);
    const time = / since the first request$/.test(c.x.label);
    const u = new uPlot({
      ...size(figure), padding: [26, Math.max(14, ...(c.x.texts || []).map((text) => Math.ceil(wide(text) / 2)), ...c.lines.map((l) => l.end ? Math.ceil(wide(l.end)) + 10 : 0)), 0, 0],
      scales: { x: { time: false, distr: c.x.log ? 3 : 1, range: across(c) },
        y: { distr: c.y.log ? 3 : 1, range: reach(c) } },
      axes: [axis(c.x, 2, (u) => Math.max(3, Math.floor(u.width / 80))), axis(c.y, 3, () => 7)],
      series: [named(c), ...series(c)],
      cursor: { y: false, drag: { x: true, y: false }, points: { size: 7 }, sync: time ? { key: "time", setSeries: false } : undefined },
      legend: { live: true, markers: {
        width: (u, i) => c.lines[i - 1].weight ? 2 : 3, stroke: (u, i) => color(c.lines[i - 1].class), fill: () => "transparent",
        dash: (u, i) => c.lines[i - 1].weight === 2 || c.lines[i - 1].loose ? "dotted" : dashes(c.lines[i - 1]) ? "dashed" : "solid" } },
      hooks: { setSelect: [(u) => { u.zoomed = true; }], drawClear: [under(c)], draw: [over(c)] },
    }, aligned(c), room);
    u.over.addEventListener("dblclick", () => { u.zoomed = false; }, true);
    byKeyboard(u, figure);
    if (c.hollow) {
      const note = document.createElement("p");
      note.className = "note";
      note.textContent = "○ " + c.hollow;
      room.appendChild(note);
    }
    figure.classList.add("live");
    return u;
  };

  let drawn = [];
  // shown draws what is not folded away and not drawn yet.
  const shown = () => {
    for (const [id, c] of Object.entries(charts)) {
      const figure = document.getElementById(id);
      if (figure && !figure.closest("details:not([open])") && !drawn.some((d) => d.figure === figure)) drawn.push({ figure, u: draw(figure, c) });
    }
  };
  const all = () => {
    for (const { figure, u } of drawn) { u.destroy(); figure.querySelector(".plot").remove(); }
    drawn = [];
    colors.clear();
    shown();
  };
  all();
  document.documentElement.classList.add("scripted");
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
  new ResizeObserver(() => {
    for (const { figure, u } of drawn) {
      const wanted = size(figure);
      if (wanted.width > 0 && wanted.width !== u.width) u.setSize(wanted);
    }
    shown();
  }).observe(document.body);
})();
