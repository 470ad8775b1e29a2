// Learning curves of chosen tasks, recipes and settings; presets.js has the choices that are figures of the paper.

const FAVOURITES = ["a2c-count", "ppo-count", "dea2c-count", "deppo-count", "dedqn-count"];
const MOST_LINES = 21;
// Of a sweep of a user's own so many lines and charts are drawn before anything is chosen.
const FIRST_LINES = 8;
const FIRST_CHARTS = 4;
const VIEWS = ["Mean of the seeds that count", "Mean of all seeds", "Single seeds"];
// A figure may take other recipes in each task: then `only` holds its cases, until something else is chosen.
const chosen = { tasks: new Set(), recipes: new Set(), settings: new Set(), seeds: new Set(), metric: 0, view: 0, only: null };
// The reader's place, which is kept when other lines are chosen: the episode read, and the tables that are open.
const kept = { episode: null, open: new Set() };
let slots = [];

function startCurves() {
  const used = (key) => [...new Set(DATA.cases.map((one) => one[key]))].sort((a, b) => a - b);
  const tasks = used("t");
  const recipes = used("r");
  const settings = used("s");
  const seeds = [...new Set(DATA.cases.flatMap((one) => one.seeds))].sort((a, b) => a - b);
  const metrics = [...new Set(DATA.cases.flatMap((one) => one.m))].sort((a, b) => a - b);
  const whole = new Set(DATA.cases.filter((one) => DATA.settings[one.s].name === "").map((one) => one.t));
  const first = ["DeepSea-10", "Hallway-10-10"].map((name) => tasks.find((t) => DATA.tasks[t].name === name && whole.has(t))).filter((t) => t !== undefined);
  chosen.tasks = new Set(DATA.own ? tasks.slice(0, FIRST_CHARTS) : first.length ? first : tasks.slice(0, 2));
  const present = recipes.filter((r) => DATA.cases.some((one) => one.r === r && chosen.tasks.has(one.t)));
  const liked = present.filter((r) => FAVOURITES.includes(DATA.recipes[r].name));
  chosen.recipes = new Set(DATA.own ? present.slice(0, FIRST_LINES) : liked.length ? liked : present.slice(0, 4));
  chosen.settings = firstSettings(DATA.cases.filter((one) => chosen.tasks.has(one.t) && chosen.recipes.has(one.r)));
  chosen.seeds = new Set(seeds);
  chosen.metric = metrics[0] ?? 0;

  const controls = [
    checks("Tasks", "task", tasks.map((t) => [t, DATA.tasks[t].label]), chosen.tasks),
    ...families(recipes).map(([name, members]) => checks(`Recipes: ${name}`, "recipe", members.map((r) => [r, DATA.recipes[r].label]), chosen.recipes)),
  ];
  if (settings.length > 1) {
    const groups = settingGroups(settings).map(([name, members]) => checks(name, "setting", members.map((s) => [s, DATA.settings[s].label || "as in the recipe"]), chosen.settings, true));
    controls.push(make("details", { class: "folded", open: Boolean(DATA.own) }, make("summary", {}, DATA.own ? "Settings" : "Changed settings"), ...groups));
  }
  const metric = make("select", { id: "metric", onchange: (e) => change(() => (chosen.metric = Number(e.target.value))) },
    ...metrics.map((m) => make("option", { value: m }, DATA.metrics[m].label)));
  const seedBox = checks("Seeds", "seed", seeds.map((s) => [s, `${s}`]), chosen.seeds);
  seedBox.id = "seed-box";
  const view = radios("Lines, with 95 % bands", "curve-view", VIEWS, (i) => change(() => (chosen.view = i), true));
  controls.push(make("div", { class: "row" }, make("label", { class: "field" }, make("span", {}, "Metric"), metric), view, seedBox));
  const figures = PRESETS.filter((preset) => casesOf(preset).length);
  if (figures.length) {
    const preset = make("select", { id: "preset", onchange: (e) => e.target.value && showPreset(figures[Number(e.target.value)]) },
      make("option", { value: "" }, "your own choice"), ...figures.map((one, i) => make("option", { value: i }, one.label)));
    controls.unshift(make("label", { class: "field" }, make("span", {}, "Figure"), preset));
  }
  document.getElementById("curve-controls").append(...controls);
  drawCurves();
}

// As few settings as draw a line of every recipe in every task: the recipe's own first, then those of most cases. Of a
// sweep of a user's own also the others, for they are what it is about, as long as their lines can be told apart.
function firstSettings(cases) {
  const linesOf = (s) => cases.filter((one) => one.s === s).map((one) => `${one.t} ${one.r}`);
  const changed = (s) => Number(DATA.settings[s].name !== "");
  const order = [...new Set(cases.map((one) => one.s))].sort((a, b) => changed(a) - changed(b) || linesOf(b).length - linesOf(a).length || a - b);
  const drawn = new Set();
  const needed = new Set(order.filter((s) => {
    const fresh = linesOf(s).filter((line) => !drawn.has(line));
    fresh.forEach((line) => drawn.add(line));
    return fresh.length;
  }));
  const looks = (settings) => new Set(cases.filter((one) => settings.has(one.s)).map(lineName)).size;
  for (const s of DATA.own ? order.toSorted((a, b) => a - b) : []) {
    if (looks(new Set([...needed, s])) <= FIRST_LINES) needed.add(s);
  }
  return needed;
}

// What these cases need, and nothing else, is chosen. The boxes to tick hold on to their sets, so these are emptied.
function choose(cases, metric) {
  for (const [kind, key] of [["tasks", "t"], ["recipes", "r"], ["settings", "s"]]) {
    chosen[kind].clear();
    cases.forEach((one) => chosen[kind].add(one[key]));
  }
  document.getElementById("metric").value = chosen.metric = metric;
  chosen.only = new Set(cases);
  tick();
  drawCurves();
}

function tick() {
  for (const input of document.querySelectorAll("#curve-controls input[type=checkbox]")) {
    const set = { task: chosen.tasks, recipe: chosen.recipes, setting: chosen.settings, seed: chosen.seeds }[input.name];
    if (set) input.checked = set.has(Number(input.value));
  }
}

// Only settings and seeds that the chosen tasks and recipes have are offered, and those that are chosen already.
function offer() {
  const there = DATA.cases.filter((one) => chosen.tasks.has(one.t) && chosen.recipes.has(one.r));
  const has = { setting: new Set(there.map((one) => one.s)), seed: new Set(there.filter((one) => chosen.settings.has(one.s)).flatMap((one) => one.seeds)) };
  for (const [kind, values] of Object.entries(has)) {
    for (const input of document.querySelectorAll(`#curve-controls input[name=${kind}]`)) {
      input.parentElement.hidden = !values.has(Number(input.value)) && !(kind === "setting" && input.checked);
    }
  }
  for (const group of document.querySelectorAll("#curve-controls .folded fieldset")) group.hidden = !group.querySelector(".chip:not([hidden])");
  document.getElementById("seed-box").hidden = chosen.view !== 2;
}

// Boxes to tick, with a button for all or none.
function checks(legend, kind, choices, set, every = false) {
  const boxes = choices.map(([value, label]) => {
    const input = make("input", { type: "checkbox", name: kind, value, checked: set.has(value), onchange: (e) => change(() => (e.target.checked ? set.add(value) : set.delete(value)), kind === "seed") });
    return make("label", { class: "chip" }, input, make("span", {}, label));
  });
  const all = make("button", { type: "button", class: "all", onclick: () => change(() => {
    const full = choices.every(([value]) => set.has(value));
    choices.forEach(([value]) => (full ? set.delete(value) : set.add(value)));
    boxes.forEach((box) => (box.firstChild.checked = !full));
  }, kind === "seed") }, "all / none", make("span", { class: "sr" }, ` ${legend}`));
  return make("fieldset", { class: "checks" }, make("legend", {}, legend), make("div", { class: "chips" }, ...boxes, ...(choices.length > 2 || every ? [all] : [])));
}

function radios(legend, name, choices, pick) {
  const labels = choices.map((choice, i) => make("label", {}, make("input", { type: "radio", name, value: i, checked: i === 0, onchange: () => pick(i) }), make("span", {}, choice)));
  return make("fieldset", { class: "segmented" }, make("legend", {}, legend), make("div", { class: "choices" }, ...labels));
}

function families(recipes) {
  const groups = new Map([["A2C", []], ["PPO", []], ["DeRL", []], ["other", []]]);
  for (const r of recipes) {
    const name = DATA.recipes[r].name;
    groups.get(/^a2c(-|$)/.test(name) ? "A2C" : /^ppo(-|$)/.test(name) ? "PPO" : /^de(a2c|ppo|dqn)(-|$)/.test(name) ? "DeRL" : "other").push(r);
  }
  return [...groups].filter(([, members]) => members.length);
}

function settingGroups(settings) {
  const groups = new Map();
  for (const s of settings) {
    const name = DATA.settings[s].label.split(", ").map((part) => part.split(" = ")[0]).join(" and ") || "None";
    groups.set(name, [...(groups.get(name) || []), s]);
  }
  return [...groups];
}

function noFigure() {
  const preset = document.getElementById("preset");
  if (preset) preset.value = "";
}

// Which seeds a figure shows, and how, leaves it the same figure.
function change(act, same = false) {
  act();
  if (!same) {
    chosen.only = null;
    noFigure();
  }
  drawCurves();
}

// Keeps the colour of a line while others come and go.
function slotOf(name) {
  let slot = slots.indexOf(name);
  if (slot < 0) {
    slot = slots.indexOf(null);
    if (slot < 0) slot = slots.length;
    slots[slot] = name;
  }
  return slot;
}

function drawCurves() {
  offer();
  const cases = DATA.cases.filter((one) => chosen.tasks.has(one.t) && chosen.recipes.has(one.r) && chosen.settings.has(one.s) && one.m.includes(chosen.metric) && (chosen.only?.has(one) ?? true));
  const all = [...new Set(cases.map(lineName))];
  const names = all.slice(0, MOST_LINES);
  slots = slots.map((name) => (names.includes(name) ? name : null));
  const slot = new Map(names.map((name) => [name, slotOf(name)]));
  const tasks = [...chosen.tasks].sort((a, b) => a - b);
  const charts = tasks.map((t) => curveChart(t, cases.filter((one) => one.t === t && slot.has(lineName(one))), names, slot)).filter(Boolean);
  // All charts are read at one place, so that tasks can be compared.
  charts.forEach((chart) => (chart.moved = (stop) => {
    kept.episode = stop;
    charts.forEach((other) => other === chart || other.goNear(stop));
  }));
  const box = document.getElementById("curve-panels");
  showCharts(box, charts, `Nothing to draw: ${whyNothing()}`);
  if (all.length > names.length) box.prepend(make("p", { class: "note wide" }, `Only the first ${names.length} of ${all.length} lines are drawn: more looks than that cannot be told apart.`));
}

// What is not chosen at all is more often the reason than that nothing was run.
function whyNothing() {
  const kinds = { task: chosen.tasks, recipe: chosen.recipes, setting: chosen.settings, seed: chosen.view === 2 ? chosen.seeds : new Set([0]) };
  const empty = Object.keys(kinds).filter((kind) => !kinds[kind].size);
  if (empty.length) return `no ${empty.join(" and no ")} is chosen. Tick ${empty.length > 1 ? "some" : "one"} above.`;
  return "no run has this task, recipe, setting and metric. Choose others above.";
}

const lineName = (one) => `${one.r} ${one.s}`;

function lineLabel(name) {
  const [r, s] = name.split(" ").map(Number);
  return [DATA.recipes[r].label, DATA.settings[s].label].filter(Boolean).join(", ");
}

function curveChart(t, cases, names, slot) {
  const lines = cases.map((one) => curveLine(one, slot.get(lineName(one)))).filter(Boolean);
  if (!lines.length) return null;
  const { name, label } = DATA.metrics[chosen.metric];
  const returns = name === "return" || name === "explorer_return";
  const run = new Set(DATA.cases.filter((one) => one.t === t && one.m.includes(chosen.metric)).map(lineName));
  const absent = names.filter((other) => !run.has(other)).map(lineLabel);
  return new Chart({
    title: DATA.tasks[t].label,
    about: `${label} on ${DATA.tasks[t].label} over training episodes`,
    xLabel: "training episodes",
    xText: (x) => `${show(x, 0)} episodes`,
    best: returns ? DATA.tasks[t].best : null,
    zero: returns,
    at: kept.episode,
    open: kept.open,
    note: absent.length ? `not run here: ${absent.join("; ")}` : "",
    lines,
  });
}

function curveLine(one, slot) {
  const curve = one.curves.get(chosen.metric);
  const line = { label: lineLabel(lineName(one)), look: look(slot), x: one.episodes };
  if (chosen.view < 2) {
    const { rows, mean, low, high } = chosen.view ? curve.all : curve.counted;
    const seeds = `${rows.length}${rows.length < one.seeds.length ? ` of ${one.seeds.length}` : ""} ${one.seeds.length === 1 ? "seed" : "seeds"}`;
    const text = (i, write) => write(mean[i]) + (rows.length < DATA.enough ? "" : ` (${write(low[i])} to ${write(high[i])})`);
    return { ...line, detail: seeds, y: mean, low, high, text };
  }
  const picked = one.seeds.map((seed, i) => [seed, curve.seeds[i]]).filter(([seed]) => chosen.seeds.has(seed));
  if (!picked.length) return null;
  const rows = picked.map(([, row]) => row);
  return { ...line, y: rows.length === 1 ? rows[0] : meanOf(rows), faint: rows, text: (i, write) => picked.map(([seed, row]) => `seed ${seed}: ${write(row[i])}`).join(", ") };
}

// Shows the curve of one case alone, of the seeds that its cell counts; cells of tables call it.
function showCase(index, cell) {
  const one = DATA.cases[index];
  if (chosen.view === 1) document.querySelector("#curve-controls input[name=curve-view]").click();
  // What was chosen for other cases may be nothing that this one has.
  if (!one.seeds.some((seed) => chosen.seeds.has(seed))) one.seeds.forEach((seed) => chosen.seeds.add(seed));
  noFigure();
  choose([one], one.m.includes(chosen.metric) ? chosen.metric : one.m[0]);
  const chart = document.querySelector("#curve-panels .chart");
  chart.prepend(make("button", { type: "button", class: "back", onclick: () => backTo(cell) }, "Back to the table"));
  chart.scrollIntoView({ block: "center" });
  chart.querySelector(".plot").focus({ preventScroll: true });
}
