// Average returns over values of the bonus's scale and decay.

function startSensitivity() {
  const controls = document.getElementById("sensitivity-controls");
  const box = document.getElementById("sensitivity-panels");
  const run = (row) => row.ours.some(known);
  const plots = DATA.sensitivity.filter((one) => one.rows.some(run));
  if (!plots.length) {
    box.append(make("p", { class: "note" }, "No run of these experiments yet. The tables above hold the published numbers."));
    return;
  }
  const choices = [...new Map(plots.flatMap((one) => one.rows.filter(run).map((row) => [`${one.swept}|${row.bonus}`, { swept: one.swept, bonus: row.bonus }]))).values()];
  const select = make("select", { id: "sensitivity-choice", onchange: draw }, ...choices.map((c, i) => make("option", { value: i }, `${c.swept}: ${c.bonus}`)));
  const published = make("input", { type: "checkbox", id: "published", checked: true, onchange: draw });
  controls.append(make("div", { class: "row" }, make("label", { class: "field" }, make("span", {}, "Varied, and the bonus"), select), make("label", { class: "chip" }, published, make("span", {}, "Published numbers"))));

  function draw() {
    const { swept, bonus } = choices[Number(select.value)];
    const charts = plots
      .filter((one) => one.swept === swept && one.rows.some((row) => row.bonus === bonus && run(row)))
      .map((one) => sensitivityChart(one, one.rows.filter((row) => row.bonus === bonus), published.checked));
    showCharts(box, charts, "Nothing has been run here.");
  }
  draw();
}

function sensitivityChart(one, rows, published) {
  const task = DATA.tasks.find((t) => t.name === one.task)?.label ?? one.task;
  const lines = rows.map((row, i) => ({
    label: row.label,
    look: look(i),
    x: one.values,
    y: row.ours,
    low: row.low,
    high: row.high,
    hollow: published ? row.published : null,
    text: (at, write) => {
      const ends = row.low[at] === null ? "" : ` (${write(row.low[at])} to ${write(row.high[at])})`;
      const ours = row.ours[at] === null ? "not run" : `${write(row.ours[at])}${ends}`;
      return published && row.published[at] !== null ? `${ours}, published ${show(row.published[at], 2)}` : ours;
    },
  }));
  return new Chart({
    title: task,
    about: `Average return on ${task} over ${one.swept}`,
    xLabel: one.swept,
    xText: (x) => `${one.swept} ${x}`,
    ticks: one.values,
    log: true,
    best: one.best,
    zero: true,
    lines,
  });
}
