// One chart: lines with bands, drawn as SVG, with a vertical line that pointer and arrow keys move. What the lines are
// worth there stands below, so nothing is covered and nothing jumps.

const HEIGHT = 250;
// The bands of more lines cover each other: then only that of the line that is pointed at is drawn.
const MOST_BANDS = 6;
const MARGIN = { top: 12, right: 14, bottom: 36, left: 46 };
const DASHES = ["", "7 4", "2 3"];
const MARKERS = [
  (r) => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`,
  (r) => `M${-r} ${-r}h${2 * r}v${2 * r}h${-2 * r}z`,
  (r) => `M0 ${-1.3 * r}L${1.2 * r} ${r}H${-1.2 * r}z`,
  (r) => `M0 ${-1.4 * r}L${1.4 * r} 0L0 ${1.4 * r}L${-1.4 * r} 0z`,
  (r) => `M0 ${1.3 * r}L${1.2 * r} ${-r}H${-1.2 * r}z`,
  (r) => `M${-r * 0.45} ${-1.2 * r}h${0.9 * r}v${0.75 * r}h${0.75 * r}v${0.9 * r}h${-0.75 * r}v${0.75 * r}h${-0.9 * r}v${-0.75 * r}h${-0.75 * r}v${-0.9 * r}h${0.75 * r}z`,
  (r) => `M${-r} 0L0 ${-0.6 * r}L${r} 0L0 ${0.6 * r}z`,
];

// The look of the line in place i: colours repeat after seven, then with another dash.
const look = (i) => ({ colour: `var(--c${i % 7})`, dash: DASHES[Math.floor(i / 7) % 3], marker: MARKERS[i % 7], order: i });

const known = (value) => value !== null && Number.isFinite(value);

function niceTicks(low, high, count) {
  const raw = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999);
  const ticks = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step * 1e-6; tick += step) ticks.push(Math.abs(tick) < step * 1e-9 ? 0 : tick);
  return ticks;
}

// `tiny` is whether all numbers of an axis are, which are then written as powers of ten.
const shortNumber = (v, tiny = Math.abs(v) < 1e-3) => {
  const size = Math.abs(v), rounded = +v.toPrecision(3);
  const text = size >= 1e6 ? `${+(v / 1e6).toPrecision(3)}M` : size >= 1e3 ? `${+(v / 1e3).toPrecision(3)}k` : `${rounded}`;
  return (size > 0 && tiny ? rounded.toExponential() : text).replaceAll("-", "−");
};

// The least and the largest of all that these lines show, and of further values. Not by Math.min(...values): a hundred
// thousand arguments are more than a call can take.
function extent(lines, of, further = []) {
  let [least, most] = [Infinity, -Infinity];
  const every = lines.flatMap((l) => [l.y, l.low, l.high, l.hollow, ...(l.faint || [])]);
  for (const values of [...every, further]) {
    for (const value of values || []) {
      if (!known(value)) continue;
      least = Math.min(least, of(value));
      most = Math.max(most, of(value));
    }
  }
  return [least, most];
}

// spec: title, about, yLabel, xLabel, log, best, ticks, xText(x), lines of {label, detail, look, x, y, low, high, faint,
// hollow, text(i, write)}; `write` makes numbers text. `faint` are further lines of the same colour (seeds), `hollow` the published numbers. `at` is where the
// vertical line stands at first, `open` a set of the titles whose table is open. Whoever sets `moved` is told its moves.
class Chart {
  constructor(spec) {
    this.spec = spec;
    this.stops = [...new Set(spec.lines.flatMap((line) => [...line.x]))].sort((a, b) => a - b);
    this.places = spec.lines.map((line) => new Map(Array.from(line.x, (x, i) => [x, i])));
    this.write = writerOf(extent(spec.lines, Math.abs)[1]);
    // At first where the last line ends: further right there may be published numbers alone.
    this.at = this.stops.findLastIndex((stop) => spec.lines.some((line, i) => known(line.y[this.places[i].get(stop)])));
    this.plot = make("div", { class: "plot", tabindex: 0, role: "slider", "aria-label": spec.about, "aria-valuemin": 1, "aria-valuemax": this.stops.length });
    this.heading = make("p", { class: "at", "aria-hidden": "true" });
    this.values = spec.lines.map(() => make("span", { class: "value" }));
    this.readout = make("ul", { class: "readout" }, ...spec.lines.map((line, i) => make("li", { class: line.faint ? "long" : null }, this.key(line), make("span", {}, this.name(line, i), ...(line.detail ? [make("span", { class: "detail" }, ` ${line.detail}`)] : [])), this.values[i])));
    this.table = make("details", { class: "values", open: Boolean(spec.open?.has(spec.title)), ontoggle: () => this.toggled() }, make("summary", {}, "Values as a table"));
    this.element = make("section", { class: "chart", "aria-label": spec.title }, make("h3", {}, spec.title), this.plot, this.heading, this.readout, ...this.notes().map((note) => make("p", { class: "note" }, note)), this.table);
    if (spec.at !== null && spec.at !== undefined) this.at = this.nearest(spec.at);
    this.listen();
    if (spec.lines.length > 1) pointOut(this);
    // Drawn for the width there is, so that text keeps its size on a phone.
    new ResizeObserver(() => this.draw()).observe(this.plot);
  }

  key(line) {
    const { colour, dash, marker } = line.look;
    return make("svg", { class: "key", viewBox: "0 0 28 12", "aria-hidden": "true" },
      make("line", { x1: 1, x2: 27, y1: 6, y2: 6, stroke: colour, "stroke-dasharray": dash || null }),
      make("path", { d: marker(3.6), transform: "translate(14 6)", fill: colour }));
  }

  notes() {
    const { note, lines } = this.spec;
    const bands = lines.length > MOST_BANDS && lines.some((line) => line.low) ? "Of so many lines one band is drawn at a time: point at a line or its name." : "";
    return [note, bands].filter(Boolean);
  }

  // Of several lines each name is a button, which makes its line stand out.
  name(line, i) {
    if (this.spec.lines.length < 2) return make("span", { class: "name" }, line.label);
    return make("button", { type: "button", class: "name", "aria-pressed": "false", tabindex: i ? -1 : 0 }, line.label);
  }

  listen() {
    const move = (event) => {
      const x = event.clientX - this.plot.getBoundingClientRect().left;
      let nearest = 0;
      this.stops.forEach((stop, i) => {
        if (Math.abs(this.x(stop) - x) < Math.abs(this.x(this.stops[nearest]) - x)) nearest = i;
      });
      this.move(nearest);
    };
    this.plot.addEventListener("pointermove", move);
    this.plot.addEventListener("pointerdown", move);
    this.plot.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10, Home: -Infinity, End: Infinity };
      if (!(event.key in steps)) return;
      event.preventDefault();
      this.move(this.at + steps[event.key]);
    });
  }

  move(place) {
    this.go(place);
    this.moved?.(this.stops[this.at]);
  }

  nearest(x) {
    return this.stops.reduce((best, stop, i) => (Math.abs(stop - x) < Math.abs(this.stops[best] - x) ? i : best), 0);
  }

  goNear(x) {
    this.go(this.nearest(x));
  }

  toggled() {
    const { open, title } = this.spec;
    if (this.table.open) this.fillTable();
    this.table.open ? open?.add(title) : open?.delete(title);
  }

  go(place) {
    this.at = Math.max(0, Math.min(this.stops.length - 1, place));
    const stop = this.stops[this.at];
    const texts = this.spec.lines.map((line, i) => (this.places[i].has(stop) ? line.text(this.places[i].get(stop), this.write) : "–"));
    texts.forEach((text, i) => (this.values[i].textContent = text));
    this.heading.textContent = `at ${this.spec.xText(stop)}`;
    this.plot.setAttribute("aria-valuenow", this.at + 1);
    this.plot.setAttribute("aria-valuetext", [this.spec.xText(stop), ...this.spec.lines.map((line, i) => `${line.label} ${texts[i]}`)].join("; "));
    if (this.cursor) this.moveCursor(stop);
  }

  moveCursor(stop) {
    const x = this.x(stop);
    this.cursor.firstChild.setAttribute("d", `M${x} ${MARGIN.top}V${HEIGHT - MARGIN.bottom}`);
    while (this.cursor.childNodes.length > 1) this.cursor.lastChild.remove();
    this.spec.lines.forEach((line, i) => {
      for (const ys of line.faint || [line.y]) {
        const y = ys[this.places[i].get(stop)];
        if (known(y)) this.cursor.append(make("circle", { class: i === this.lit ? "lit" : null, cx: x, cy: this.y(y), r: 4, fill: line.look.colour }));
      }
    });
  }

  scales(width) {
    const { spec, stops } = this;
    const place = spec.log ? Math.log10 : (v) => v;
    // Episodes begin at none; values of a setting wherever they do, with room around the first and the last.
    const [x0, x1] = [spec.ticks ? place(stops[0]) : 0, place(stops[stops.length - 1])];
    const inner = width - MARGIN.left - MARGIN.right;
    const pad = spec.ticks ? 14 : 0;
    this.x = (v) => +(MARGIN.left + pad + ((place(v) - x0) / (x1 - x0 || 1)) * (inner - 2 * pad)).toFixed(2);
    let [low, high] = extent(spec.lines, (v) => v, [spec.best, spec.zero ? 0 : null]);
    if (low > high) [low, high] = [0, 1];
    if (high - low < 1e-9) [low, high] = [low - 0.5, high + 0.5];
    [low, high] = [low - (high - low) * 0.04, high + (high - low) * 0.06];
    this.y = (v) => +(HEIGHT - MARGIN.bottom - ((v - low) / (high - low)) * (HEIGHT - MARGIN.top - MARGIN.bottom)).toFixed(2);
    return { low, high };
  }

  draw() {
    const width = this.plot.clientWidth;
    if (!width || width === this.drawn || !this.stops.length) return;
    this.drawn = width;
    const { spec } = this;
    const range = this.scales(width);
    const svg = make("svg", { width, height: HEIGHT, viewBox: `0 0 ${width} ${HEIGHT}`, "aria-hidden": "true" });
    svg.append(...this.axes(width, range));
    if (spec.best !== null && spec.best !== undefined) {
      svg.append(make("path", { class: "best", d: `M${MARGIN.left} ${this.y(spec.best)}H${width - MARGIN.right}` }));
    }
    this.series = spec.lines.map((line) => make("g", { class: "series" }, ...this.line(line)));
    svg.append(...this.series);
    if (spec.lines.length > MOST_BANDS) svg.classList.add("many");
    this.cursor = make("g", { class: "cursor" }, make("path", {}));
    svg.append(this.cursor);
    // Broad lines that nobody sees, so that a pointer near a line is on it. They stay in their order.
    if (spec.lines.length > 1) svg.append(...spec.lines.flatMap((line, i) => (line.faint || [line.y]).map((ys) => make("path", { class: "reach", d: this.path(line.x, ys), "data-line": i }))));
    this.plot.replaceChildren(svg);
    this.showLit();
    this.go(this.at);
  }

  // Makes one line stand out, or none.
  light(i) {
    if (i === this.lit) return;
    this.lit = i;
    this.showLit();
  }

  showLit() {
    [...this.readout.children].forEach((entry, i) => entry.classList.toggle("lit", i === this.lit));
    if (!this.series) return;
    this.plot.firstChild.classList.toggle("dimmed", known(this.lit));
    this.series.forEach((group, i) => group.classList.toggle("lit", i === this.lit));
    // In front of the others, which may lie on it.
    if (known(this.lit)) this.cursor.before(this.series[this.lit]);
    this.go(this.at);
  }

  axes(width, { low, high }) {
    const { spec } = this;
    const bottom = HEIGHT - MARGIN.bottom;
    const levels = niceTicks(low, high, 5);
    const tiny = Math.max(...levels.map(Math.abs)) < 1e-3;
    const parts = levels.flatMap((tick) => [
      make("path", { class: "grid", d: `M${MARGIN.left} ${this.y(tick)}H${width - MARGIN.right}` }),
      make("text", { class: "tick", x: MARGIN.left - 7, y: this.y(tick) + 4, "text-anchor": "end" }, shortNumber(tick, tiny)),
    ]);
    const ticks = spec.ticks || niceTicks(0, this.stops[this.stops.length - 1], width < 360 ? 3 : 5);
    let end = -Infinity;
    for (const tick of ticks) {
      const text = shortNumber(tick);
      const room = text.length * 3.6;
      if (this.x(tick) - room < end + 4) continue; // A label that would touch the last one is left out.
      end = this.x(tick) + room;
      parts.push(make("text", { class: "tick", x: this.x(tick), y: bottom + 16, "text-anchor": "middle" }, text));
    }
    parts.push(make("path", { class: "axis", d: `M${MARGIN.left} ${bottom}H${width - MARGIN.right}` }));
    parts.push(make("text", { class: "tick", x: width - MARGIN.right, y: bottom + 31, "text-anchor": "end" }, spec.xLabel));
    return parts;
  }

  path(xs, ys) {
    let d = "";
    let pen = false;
    Array.from(xs).forEach((x, i) => {
      if (known(ys[i])) d += `${pen ? "L" : "M"}${this.x(x)} ${this.y(ys[i])}`;
      pen = known(ys[i]);
    });
    return d;
  }

  band(line) {
    const runs = [[]];
    Array.from(line.x).forEach((x, i) => {
      if (known(line.low[i])) runs[runs.length - 1].push(i);
      else runs.push([]);
    });
    const point = (i, ends) => `${this.x(line.x[i])} ${this.y(ends[i])}`;
    return runs.filter((run) => run.length).map((run) => `M${run.map((i) => point(i, line.high)).join("L")}L${run.reverse().map((i) => point(i, line.low)).join("L")}z`).join("");
  }

  line(line) {
    const { colour, dash, marker, order } = line.look;
    const parts = [];
    if (line.low) parts.push(make("path", { class: "band", d: this.band(line), fill: colour }));
    for (const ys of line.faint || []) parts.push(make("path", { class: "line thin", d: this.path(line.x, ys), stroke: colour, "stroke-dasharray": dash || null }));
    if (!line.faint) parts.push(make("path", { class: "line", d: this.path(line.x, line.y), stroke: colour, "stroke-dasharray": dash || null }));
    // Markers tell lines apart without colours. Each line begins elsewhere, so that lines on top of each other show both.
    const every = this.spec.ticks ? 1 : Math.max(1, Math.floor(line.x.length / 8));
    const start = this.spec.ticks ? 0 : (order * Math.max(1, Math.floor(every / 3))) % every;
    for (const ys of line.faint || [line.y]) {
      for (let i = start; i < line.x.length; i += every) {
        if (!known(ys[i])) continue;
        parts.push(make("path", { class: "marker", d: marker(3.4), transform: `translate(${this.x(line.x[i])} ${this.y(ys[i])})`, fill: colour }));
      }
    }
    if (line.hollow) {
      line.hollow.forEach((value, i) => {
        if (known(value)) parts.push(make("path", { class: "hollow", d: marker(4.2), transform: `translate(${this.x(line.x[i])} ${this.y(value)})`, stroke: colour }));
      });
    }
    return parts;
  }

  // The text alternative. Made when it is opened: the page would be slow with all of them.
  fillTable() {
    if (this.table.childElementCount > 1) return;
    const { spec } = this;
    const head = make("tr", {}, make("th", { scope: "col" }, spec.xLabel), ...spec.lines.map((line) => make("th", { scope: "col" }, [line.label, line.detail].filter(Boolean).join(", "))));
    const rows = this.stops.map((stop) =>
      make("tr", {}, make("th", { scope: "row" }, spec.ticks ? `${stop}` : show(stop, 0)),
        ...spec.lines.map((line, i) => make("td", {}, this.places[i].has(stop) ? line.text(this.places[i].get(stop), this.write) : "–"))));
    const table = make("table", { class: "plain" }, make("caption", { class: "sr" }, spec.about), make("thead", {}, head), make("tbody", {}, ...rows));
    this.table.append(make("div", { class: "scroll tall", role: "region", tabindex: 0, "aria-label": spec.about }, table));
  }
}

// Takes the place of what a box of charts held.
function showCharts(box, charts, empty) {
  box.replaceChildren(...(charts.length ? charts.map((chart) => chart.element) : [make("p", { class: "note" }, empty)]));
  charts.forEach((chart) => chart.go(chart.at));
}
