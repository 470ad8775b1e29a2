// Learning curves of chosen tasks, recipes and settings.

const FAVOURITES = ["a2c-count", "ppo-count", "dea2c-count", "deppo-count", "dedqn-count"];
const MOST_LINES = 21;
const chosen = { tasks: new Set(), recipes: new Set(), settings: new Set(), seeds: new Set(), metric: 0, single: false };
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
  chosen.tasks = new Set(first.length ? first : tasks.slice(0, 2));
  const liked = recipes.filter((r) => FAVOURITES.includes(DATA.recipes[r].name));
  chosen.recipes = new Set(liked.length ? liked : recipes.slice(0, 4));
  chosen.settings = new Set(settings.filter((s) => DATA.settings[s].name === "").concat(settings).slice(0, 1));
  chosen.seeds = new Set(seeds);
  chosen.metric = metrics[0] ?? 0;

  const controls = [
    checks("Tasks", "task", tasks.map((t) => [t, DATA.tasks[t].label]), chosen.tasks),
    ...families(recipes).map(([name, members]) => checks(`Recipes: ${name}`, "recipe", members.map((r) => [r, DATA.recipes[r].label]), chosen.recipes)),
  ];
  if (settings.length > 1) {
    const groups = settingGroups(settings).map(([name, members]) => checks(name, "setting", members.map((s) => [s, DATA.settings[s].label || "as in the recipe"]), chosen.settings, true));
    controls.push(make("details", { class: "folded" }, make("summary", {}, "Changed settings"), ...groups));
  }
  const metric = make("select", { id: "metric", onchange: (e) => change(() => (chosen.metric = Number(e.target.value))) },
    ...metrics.map((m) => make("option", { value: m }, DATA.metrics[m].label)));
  const seedBox = checks("Seeds", "seed", seeds.map((s) => [s, `${s}`]), chosen.seeds);
  seedBox.hidden = true;
  const view = radios("Lines are", "curve-view", ["Mean and 95 % band", "Single seeds"], (i) => change(() => {
    chosen.single = i === 1;
    seedBox.hidden = i === 0;
  }));
  controls.push(make("div", { class: "row" }, make("label", { class: "field" }, make("span", {}, "Metric"), metric), view, seedBox));
  document.getElementById("curve-controls").append(...controls);
  drawCurves();
}

// Boxes to tick, with a button for all or none.
function checks(legend, kind, choices, set, every = false) {
  const boxes = choices.map(([value, label]) => {
    const input = make("input", { type: "checkbox", name: kind, value, checked: set.has(value), onchange: (e) => change(() => (e.target.checked ? set.add(value) : set.delete(value))) });
    return make("label", { class: "chip" }, input, make("span", {}, label));
  });
  const all = make("button", { type: "button", class: "all", onclick: () => change(() => {
    const full = choices.every(([value]) => set.has(value));
    choices.forEach(([value]) => (full ? set.delete(value) : set.add(value)));
    boxes.forEach((box) => (box.firstChild.checked = !full));
  }) }, "all / none", make("span", { class: "sr" }, ` ${legend}`));
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

function change(act) {
  act();
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
  const cases = DATA.cases.filter((one) => chosen.tasks.has(one.t) && chosen.recipes.has(one.r) && chosen.settings.has(one.s) && one.m.includes(chosen.metric));
  const all = [...new Set(cases.map(lineName))];
  const names = all.slice(0, MOST_LINES);
  slots = slots.map((name) => (names.includes(name) ? name : null));
  const slot = new Map(names.map((name) => [name, slotOf(name)]));
  const tasks = [...chosen.tasks].sort((a, b) => a - b);
  const charts = tasks.map((t) => curveChart(t, cases.filter((one) => one.t === t && slot.has(lineName(one))), names, slot)).filter(Boolean);
  const box = document.getElementById("curve-panels");
  showCharts(box, charts, "Nothing to draw: no run has this task, recipe, setting and metric. Choose others above.");
  if (all.length > names.length) box.prepend(make("p", { class: "note wide" }, `Only the first ${names.length} of ${all.length} lines are drawn: more looks than that cannot be told apart.`));
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
  const absent = names.filter((other) => !cases.some((one) => lineName(one) === other)).map(lineLabel);
  return new Chart({
    title: DATA.tasks[t].label,
    about: `${label} on ${DATA.tasks[t].label} over training episodes`,
    xLabel: "training episodes",
    xText: (x) => `${show(x, 0)} episodes`,
    best: returns ? DATA.tasks[t].best : null,
    zero: returns,
    note: absent.length ? `not run here: ${absent.join("; ")}` : "",
    lines,
  });
}

function curveLine(one, slot) {
  const curve = one.curves.get(chosen.metric);
  const line = { label: lineLabel(lineName(one)), look: look(slot), x: one.episodes };
  if (!chosen.single) {
    const text = (i) => `${show(curve.mean[i])} (${show(curve.low[i])} to ${show(curve.high[i])})`;
    return { ...line, y: curve.mean, low: curve.low, high: curve.high, text };
  }
  const picked = one.seeds.map((seed, i) => [seed, curve.seeds[i]]).filter(([seed]) => chosen.seeds.has(seed));
  if (!picked.length) return null;
  const rows = picked.map(([, row]) => row);
  return { ...line, y: rows.length === 1 ? rows[0] : meanOf(rows), faint: rows, text: (i) => picked.map(([seed, row]) => `seed ${seed}: ${show(row[i])}`).join(", ") };
}

// Shows the curve of one case alone; cells of tables call it.
function showCase(index) {
  const one = DATA.cases[index];
  for (const [kind, value] of [["tasks", one.t], ["recipes", one.r], ["settings", one.s]]) chosen[kind] = replace(chosen[kind], value);
  // What was chosen for other cases may be nothing that this one has.
  if (!one.m.includes(chosen.metric)) document.getElementById("metric").value = chosen.metric = one.m[0];
  if (!one.seeds.some((seed) => chosen.seeds.has(seed))) one.seeds.forEach((seed) => chosen.seeds.add(seed));
  for (const input of document.querySelectorAll("#curve-controls input[type=checkbox]")) {
    const set = { task: chosen.tasks, recipe: chosen.recipes, setting: chosen.settings, seed: chosen.seeds }[input.name];
    if (set) input.checked = set.has(Number(input.value));
  }
  drawCurves();
  document.getElementById("curves").scrollIntoView();
  document.querySelector("#curve-panels .plot")?.focus({ preventScroll: true });
}

// The boxes to tick hold on to their set, so it is emptied and not exchanged.
function replace(set, value) {
  set.clear();
  return set.add(value);
}
