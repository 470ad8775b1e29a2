// Some of the paper's figures, each as one choice: what it takes of tasks, recipes and settings, all by name, and the
// metric it shows. Of these cases `picked` may keep some.

const plain = (setting) => setting === "";
const short = (setting) => setting.includes("protocol.episodes=20000");
const unconstrained = (setting) => short(setting) && !setting.includes("alpha");
const DEEP_SEA = /^DeepSea-\d+$/;
const HALLWAY = /^Hallway-\d+-\d+$/;
const EVERY_TASK = /^\w+-[\d-]+$/;
const RECIPES = /^(a2c|ppo|dea2c|deppo|dedqn)(-(count|hash-count|icm|rnd|ride))?$/;
const PRESETS = [
  { label: "Count: the baselines and DeRL (section 5)", tasks: /^(DeepSea-10|Hallway-10-10)$/, recipes: /^(a2c|ppo|dea2c|deppo|dedqn)-count$/, settings: plain, metric: "return" },
  { label: "Normalised returns, the best bonus of each algorithm (section 5.6)", tasks: /normalised/, recipes: RECIPES, settings: plain, metric: "return", picked: bestInEach },
  { label: "The best bonus of each algorithm, all tasks", tasks: EVERY_TASK, recipes: RECIPES, settings: plain, metric: "return", picked: bestBonuses },
  { label: "A2C with every bonus, DeepSea", tasks: DEEP_SEA, recipes: /^a2c(-|$)/, settings: plain, metric: "return" },
  { label: "A2C with every bonus, Hallway", tasks: HALLWAY, recipes: /^a2c(-|$)/, settings: plain, metric: "return" },
  { label: "PPO with every bonus, DeepSea", tasks: DEEP_SEA, recipes: /^ppo(-|$)/, settings: plain, metric: "return" },
  { label: "PPO with every bonus, Hallway", tasks: HALLWAY, recipes: /^ppo(-|$)/, settings: plain, metric: "return" },
  { label: "DeRL, all tasks", tasks: EVERY_TASK, recipes: /^de(a2c|ppo|dqn)-/, settings: plain, metric: "return" },
  { label: "Importance weights of DeA2C Count, DeepSea 14 (section 5.6)", tasks: /^DeepSea-14$/, recipes: /^dea2c-count$/, settings: plain, metric: "log_importance_weight" },
  { label: "Exploration by intrinsic rewards alone (section 6)", tasks: /./, recipes: /^dea2c-count$/, settings: unconstrained, metric: "return" },
  { label: "Importance weights, intrinsic rewards alone (section 6)", tasks: /./, recipes: /^dea2c-count$/, settings: unconstrained, metric: "log_importance_weight" },
  { label: "Divergence with and without constraints (section 7)", tasks: /^DeepSea-10$/, recipes: /^dea2c-count$/, settings: (s) => unconstrained(s) || (short(s) && /alpha_exploiter=0\.1.*alpha_explorer=0\.1/.test(s)), metric: "kl" },
];

const placeOf = (metric) => DATA.metrics.findIndex((one) => one.name === metric);

function casesOf(preset) {
  const metric = placeOf(preset.metric);
  const cases = DATA.cases.filter((one) => preset.tasks.test(DATA.tasks[one.t].name) && preset.recipes.test(DATA.recipes[one.r].name) && preset.settings(DATA.settings[one.s].name) && one.m.includes(metric));
  return preset.picked ? preset.picked(cases) : cases;
}

function showPreset(preset) {
  choose(casesOf(preset), placeOf(preset.metric));
}

function bestInEach(cases) {
  return [...grouped(cases, (one) => one.t).values()].flatMap(bestBonuses);
}

// Of each algorithm the recipe with the highest average over these tasks, each return as a share of the best possible
// one, of the seeds that the tables count. Where a recipe lacks tasks, the others count by how much better it is there
// than its algorithm's recipes are; with half as many tasks as another, or fewer, it is left out.
function bestBonuses(cases) {
  const algorithm = (one) => DATA.recipes[one.r].name.split("-")[0];
  const known = cases.filter((one) => Number.isFinite(shareOf(one)));
  return [...grouped(known, algorithm).values()].flatMap((own) => {
    const usual = new Map([...grouped(own, (one) => one.t)].map(([t, there]) => [t, average(there.map(shareOf))]));
    const recipes = [...grouped(own, (one) => one.r).values()];
    const most = Math.max(...recipes.map((there) => there.length));
    const gain = (there) => average(there.map((one) => shareOf(one) - usual.get(one.t)));
    return recipes.filter((there) => 2 * there.length > most).reduce((best, there) => (gain(there) > gain(best) ? there : best));
  });
}

function shareOf(one) {
  return average([...one.curves.get(placeOf("return")).counted.mean].filter(Number.isFinite)) / (DATA.tasks[one.t].best ?? 1);
}

function grouped(values, key) {
  const groups = new Map();
  for (const value of values) groups.set(key(value), [...(groups.get(key(value)) ?? []), value]);
  return groups;
}

const average = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
