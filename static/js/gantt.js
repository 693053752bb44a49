// Moves a bar of the Gantt chart by mouse or arrow keys, and fills in the form that pins its unit. The form
// does the same without this file.
(() => {
  const svg = document.querySelector(".gantt svg");
  const form = document.getElementById("pin-form");
  if (!svg || !form) return;
  const pixelsPerDay = { quarter: 6, month: 16, week: 60, day: 200 };
  const zoom = document.querySelector(".zoom [aria-current]");
  const scale = pixelsPerDay[zoom ? zoom.textContent : "week"];
  const quarter = 15 * 60 * 1000;
  let held = null;

  function fillIn(link, pixels) {
    const start = new Date(link.dataset.start).getTime() + (pixels / scale) * 86400000;
    const rounded = new Date(Math.round(start / quarter) * quarter);
    form.elements.unit.value = link.dataset.unit;
    form.elements.start.value = rounded.toISOString().slice(0, 16);
  }

  function shift(link, pixels) {
    link.setAttribute("transform", `translate(${pixels} 0)`);
    link.dataset.moved = String(pixels);
    fillIn(link, pixels);
  }

  svg.addEventListener("pointerdown", (event) => {
    const link = event.target.closest(".bar-link");
    if (!link || event.button !== 0) return;
    held = { link, from: event.clientX, before: Number(link.dataset.moved || 0), moved: false };
  });
  svg.addEventListener("dragstart", (event) => event.preventDefault());
  window.addEventListener("pointermove", (event) => {
    if (!held) return;
    const pixels = event.clientX - held.from;
    if (Math.abs(pixels) > 3) held.moved = true;
    if (held.moved) shift(held.link, held.before + pixels);
  });
  window.addEventListener("pointerup", () => {
    if (!held) return;
    const { moved } = held;
    held = null;
    if (!moved) return;
    window.addEventListener("click", (event) => event.preventDefault(), { capture: true, once: true });
    form.scrollIntoView({ block: "nearest" });
  });
  svg.addEventListener("keydown", (event) => {
    const link = event.target.closest(".bar-link");
    const steps = { ArrowLeft: -1, ArrowRight: 1 };
    if (!link || !(event.key in steps)) return;
    event.preventDefault();
    const step = (event.shiftKey ? 1 : 1 / 24) * scale;
    shift(link, Number(link.dataset.moved || 0) + steps[event.key] * step);
  });
})();
