// What is left: copying, light and dark, and the start.

function startCopying() {
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", async () => {
      const done = await copy(button.dataset.copy);
      const said = done ? "Copied" : "Select and copy";
      const label = button.firstChild;
      label.textContent = said;
      document.getElementById("said").textContent = done ? `Copied ${button.dataset.copy}` : "Copying is not allowed here: select the command and copy it";
      setTimeout(() => (label.textContent = "Copy"), 1600);
    });
  }
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages opened from a file may not use the clipboard everywhere; the old way needs no permission.
    const area = make("textarea", { class: "sr", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    const before = document.activeElement;
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    before?.focus({ preventScroll: true });
    return done;
  }
}

function startTheme() {
  const button = document.getElementById("theme");
  const dark = () => (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  // The button says what it does, not what there is.
  const tell = () => (button.textContent = dark() ? "Light theme" : "Dark theme");
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    tell();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", tell);
  tell();
}

async function start() {
  document.documentElement.classList.add("scripted");
  startTheme();
  startCopying();
  startTables();
  startSensitivity();
  try {
    placeCurves(await unpack(DATA.values));
  } catch {
    document.getElementById("curve-panels").append(make("p", { class: "note" }, "This browser is too old to read the curves; everything else works."));
    return;
  }
  startCurves();
  document.documentElement.dataset.ready = "true";
}

start();
