// The embedded results. Values are floats of 24 bits in three byte planes, compressed (see series.py).

const DATA = JSON.parse(document.getElementById("report-data").textContent);

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const planes = new Uint8Array(await new Response(stream).arrayBuffer());
  const count = planes.length / 3;
  const bits = new Uint32Array(count);
  for (let i = 0; i < count; i++) {
    bits[i] = ((planes[i] << 24) | (planes[count + i] << 16) | (planes[2 * count + i] << 8)) >>> 0;
  }
  return new Float32Array(bits.buffer);
}

// Every case gets its curves: for each metric a row per seed, then the low and the high end of the band of those seeds
// that the tables count (the first one.n), and, where they are not all, of all.
function placeCurves(values) {
  let at = 0;
  const next = (length) => values.subarray(at, (at += length));
  for (const one of DATA.cases) {
    one.episodes = DATA.episodes[one.x];
    one.curves = new Map();
    for (const metric of one.m) {
      const seeds = one.seeds.map(() => next(one.episodes.length));
      const band = (rows) => ({ rows, low: next(one.episodes.length), high: next(one.episodes.length), get mean() { return (this.averaged ??= meanOf(rows)); } });
      const counted = band(seeds.slice(0, one.n));
      one.curves.set(metric, { seeds, counted, all: one.n < seeds.length ? band(seeds) : counted });
    }
  }
}

function meanOf(rows) {
  return Float64Array.from(rows[0], (_, i) => {
    const known = rows.map((row) => row[i]).filter(Number.isFinite);
    return known.length ? known.reduce((a, b) => a + b) / known.length : NaN;
  });
}

// A new element. Text only ever becomes a text node, so names in the data cannot become markup.
function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "path", "line", "text", "rect", "circle", "title"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children);
  return element;
}

// Numbers as people write them: few digits, a true minus sign, thousands apart. What is small beside the others of its
// chart may become 0.000: one power of ten between decimals is read as a large number.
function show(value, digits = 3) {
  if (value === null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  let text;
  if (size >= 1e6) text = value.toExponential(2).replace("e+", "e");
  else if (size >= 1000) text = Math.round(value).toLocaleString("en");
  else text = value.toFixed(digits);
  return (Number(text) === 0 ? text.replace("-", "") : text).replaceAll("-", "−");
}

// How a chart writes its numbers: all with decimals, or, where these would leave nothing of the largest, all as powers.
function writerOf(largest) {
  const asPower = (value) => (known(value) ? value.toExponential(2).replaceAll("-", "−") : "–");
  return largest > 0 && largest < 0.01 ? asPower : show;
}
