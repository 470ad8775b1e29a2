// Which of a chart's lines stands out: the one pointed at, in the chart or by its name; or by keyboard the name in focus;
// else the one whose name was pressed. A chart of nineteen lines cannot be read otherwise.

function pointOut(chart) {
  const buttons = [...chart.readout.querySelectorAll("button")];
  let pressed = null;
  const rest = () => chart.light(pressed);
  const press = (i) => {
    pressed = pressed === i ? null : i;
    buttons.forEach((button, at) => button.setAttribute("aria-pressed", at === pressed));
    rest();
  };
  chart.plot.addEventListener("pointerover", (event) => {
    const line = event.target.dataset?.line;
    line === undefined ? rest() : chart.light(Number(line));
  });
  chart.plot.addEventListener("pointerleave", rest);
  buttons.forEach((button, i) => {
    const entry = button.closest("li");
    entry.addEventListener("pointerenter", () => chart.light(i));
    entry.addEventListener("pointerleave", rest);
    button.addEventListener("focus", () => button.matches(":focus-visible") && chart.light(i));
    button.addEventListener("blur", rest);
    button.addEventListener("click", () => press(i));
  });
  chart.readout.addEventListener("keydown", (event) => goOn(event, buttons));
}

// The names are one tab stop, with the arrow keys between them: nineteen of them would be a long way to the next chart.
function goOn(event, buttons) {
  const at = buttons.indexOf(event.target);
  const steps = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
  if (at < 0 || !(event.key in steps)) return;
  event.preventDefault();
  const next = Math.max(0, Math.min(buttons.length - 1, at + steps[event.key]));
  buttons.forEach((button, i) => (button.tabIndex = i === next ? 0 : -1));
  buttons[next].focus();
}
