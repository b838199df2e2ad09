(() => {
  const found = new Map();
  const fault = (what, element) => {
    const where = element ? `<${element.tagName.toLowerCase()} class="${element.getAttribute("class") || ""}"> ${(element.textContent || "").trim().slice(0, 40)}` : "";
    if (!found.has(what + (element ? element.getAttribute("class") : ""))) found.set(what + (element ? element.getAttribute("class") : ""), `${what} ${where}`.trim());
  };
  const seen = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && e.getBoundingClientRect().width > 1;

  for (const folded of document.querySelectorAll("details")) folded.open = true; // what is folded away is judged, too
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) {
    const widest = [...document.body.querySelectorAll("*")].filter((e) => !e.closest(".scroll, pre") && e.getBoundingClientRect().right > root.clientWidth + 1).pop();
    fault(`the page is ${root.scrollWidth} wide in a window of ${root.clientWidth}`, widest);
  }

  // Colors as the browser paints them, mixed over what lies beneath.
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  canvas.canvas.width = canvas.canvas.height = 1;
  const painted = new Map(); // by their names: painting takes most of the time
  const rgba = (css) => {
    if (!painted.has(css)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = css;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      painted.set(css, [r, g, b, a / 255]);
    }
    return [...painted.get(css)];
  };
  const over = (top, below) => top.slice(0, 3).map((c, i) => c * top[3] + below[i] * (1 - top[3])).concat(1);
  const paper = (e) => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) {
      const color = rgba(getComputedStyle(at).backgroundColor);
      if (color[3] > 0) layers.push(color);
      if (color[3] === 1) break;
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const light = (color) => color.slice(0, 3).map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const contrast = (a, b) => {
    const [high, low] = [light(a), light(b)].sort((x, y) => y - x);
    return (high + 0.05) / (low + 0.05);
  };
  const faded = (e) => { let o = 1; for (let at = e; at; at = at.parentElement) o *= Number(getComputedStyle(at).opacity); return o; };
  const held = (e, css, least, what) => {
    const below = paper(e), color = rgba(css);
    color[3] *= faded(e);
    const ratio = contrast(over(color, below), below);
    if (ratio < least) fault(`${what} has a contrast of ${ratio.toFixed(2)}, want ${least}:`, e);
  };

  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const e = node.parentElement;
    if (!node.data.trim() || e.closest("script, style, noscript, title, desc, datalist, option") || !seen(e) || e.matches(":disabled")) continue;
    const style = getComputedStyle(e), svg = e instanceof SVGElement;
    const size = parseFloat(style.fontSize), large = size >= 24 || size >= 18.66 && Number(style.fontWeight) >= 700;
    if (svg && e.matches(".share")) continue; // it lies on a part, which is judged below
    held(svg ? e.closest("svg").parentElement : e, svg ? style.fill : style.color, large ? 3 : 4.5, "text");
  }
  // The lines and parts of charts; the grid and what is faint beside a name are no information.
  for (const e of document.querySelectorAll(".chart polyline, .chart .dot, .chart .mark:not(.faint), .chart line.bound:not(.faint), .spark polyline")) {
    if (seen(e.closest("svg")) && !e.matches("text")) held(e.closest("svg").parentElement, getComputedStyle(e).stroke, 3, "a line");
  }
  for (const e of document.querySelectorAll(".chart rect.part")) {
    if (!seen(e)) continue;
    held(e.closest("svg").parentElement, getComputedStyle(e).fill, 3, "a part of a bar");
    const share = e.nextElementSibling?.matches(".share") ? e.nextElementSibling : null;
    if (share && contrast(rgba(getComputedStyle(e).fill), rgba(getComputedStyle(share).fill)) < 4.5) fault("a number on a bar is hard to read", share);
  }
  for (const e of document.querySelectorAll("button, input:not([type=checkbox], [type=radio], [type=range], [type=hidden]), select, textarea")) {
    if (seen(e)) held(e.parentElement, getComputedStyle(e).borderTopColor, 3, "the border of a field");
  }

  for (const table of document.querySelectorAll("table")) {
    if (table.closest(".uplot")) continue;
    if (!table.querySelector("thead th[scope=col]")) fault("a table has no headers", table);
    for (const row of table.querySelectorAll("tbody tr")) if (!row.querySelector("th[scope=row]")) fault("a row has no header", row);
  }
  for (const chart of document.querySelectorAll("svg")) {
    if (!chart.closest("[aria-hidden=true]") && !chart.querySelector("title") && !chart.getAttribute("aria-label")) fault("a chart has no words", chart);
  }
  for (const e of document.querySelectorAll("input:not([type=hidden]), select, textarea")) {
    if (!e.labels?.length && !e.getAttribute("aria-label")) fault("a field has no name", e);
  }
  for (const e of document.querySelectorAll("button, a[href]")) {
    if (seen(e) && !(e.textContent.trim() || e.getAttribute("aria-label"))) fault("a button has no name", e);
  }
  if (document.querySelectorAll("h1").length === 0) fault("the page has no heading");
  if (!root.lang || !document.title) fault("the page has no language or title");
  return [...found.values()];
})()
