// Average returns over values of a setting: the bonus's scale and decay as in the paper, or what a sweep has varied.

function startSensitivity() {
  const controls = document.getElementById("sensitivity-controls");
  const box = document.getElementById("sensitivity-panels");
  const run = (row) => row.ours.some(known);
  const plots = DATA.sensitivity.filter((one) => one.rows.some(run));
  if (!plots.length) {
    const none = DATA.own ? "No setting has several numbers here, with all else the same." : "No run of these experiments yet. The tables above hold the published numbers.";
    box.append(make("p", { class: "note" }, none));
    return;
  }
  const choices = [...new Map(plots.flatMap((one) => one.rows.filter(run).map((row) => [`${one.swept}|${row.bonus}`, { swept: one.swept, bonus: row.bonus }]))).values()];
  const select = make("select", { id: "sensitivity-choice", onchange: draw }, ...choices.map((c, i) => make("option", { value: i }, [c.swept, c.bonus].filter(Boolean).join(": "))));
  const published = make("input", { type: "checkbox", id: "published", checked: true, onchange: draw });
  const ofPaper = plots.some((one) => one.rows.some((row) => row.published.some(known)));
  controls.append(make("div", { class: "row" },
    make("label", { class: "field" }, make("span", {}, ofPaper ? "Varied, and the bonus" : "Varied"), select),
    ...(ofPaper ? [make("label", { class: "chip" }, published, make("span", {}, "Published numbers"))] : [])));

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
  const lines = rows.slice(0, MOST_LINES).map((row, i) => ({
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
    // Values within one power of ten, or with a zero among them, are evenly spread themselves.
    log: one.values[0] > 0 && one.values.at(-1) >= 10 * one.values[0],
    note: rows.length > MOST_LINES ? `Only the first ${MOST_LINES} of ${rows.length} lines are drawn.` : "",
    best: one.best,
    zero: true,
    lines,
  });
}
