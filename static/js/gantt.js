// Moves a bar of the Gantt chart by mouse or arrow keys and pins its unit where it is put down. The form below
// the chart does the same without this file.
(() => {
  const svg = document.querySelector(".gantt svg");
  const form = document.getElementById("pin-form");
  const result = document.getElementById("pin-result");
  if (!svg || !form || !result) return;
  const pixelsPerDay = { quarter: 6, month: 16, week: 60, day: 200 };
  const zoom = document.querySelector(".zoom [aria-current]");
  const scale = pixelsPerDay[zoom ? zoom.textContent : "week"];
  const quarter = 15 * 60 * 1000;
  const lanes = [...svg.querySelectorAll(".lane[data-person]")].map((line) => ({
    y: Number(line.getAttribute("y1")),
    person: line.dataset.person,
  }));
  const inset = 5;
  let held = null;

  const number = (text) => Number(text || 0);
  const yOf = (link) => number(link.querySelector(".bar").getAttribute("y"));

  function laneAt(y) {
    return lanes.filter((lane) => lane.y <= y + 10).pop() || lanes[0];
  }

  function show(link, x, y) {
    link.dataset.x = String(x);
    link.dataset.y = String(y);
    link.classList.toggle("moved", x !== 0 || y !== 0);
    link.setAttribute("transform", `translate(${x} ${y})`);
  }

  function wish(link) {
    const at = new Date(link.dataset.start).getTime() + (number(link.dataset.x) / scale) * 86400000;
    const start = new Date(Math.round(at / quarter) * quarter).toISOString().slice(0, 16);
    const lane = laneAt(yOf(link) + number(link.dataset.y));
    const isElsewhere = lane && link.dataset.person && lane.person !== link.dataset.person;
    return { start, person: isElsewhere ? lane.person : "" };
  }

  function fillIn(link) {
    const { start, person } = wish(link);
    form.elements.unit.value = link.dataset.unit;
    form.elements.start.value = start;
    form.elements.person.value = person || link.dataset.pinnedPerson || "";
    const name = person ? `, ${form.elements.person.selectedOptions[0].textContent}` : "";
    result.replaceChildren(`${start.replace("T", " ")} UTC${name}`);
  }

  async function pin(link) {
    fillIn(link);
    const answer = await fetch(form.action, {
      method: "POST",
      body: new FormData(form),
      headers: { "HX-Request": "true" },
    }).catch(() => null);
    const text = answer && answer.status < 500 ? await answer.text() : "";
    if (answer && (answer.ok || answer.status === 422) && !answer.redirected) {
      result.innerHTML = text;
    } else {
      const said = document.createElement("p");
      said.className = "notice error";
      said.textContent = "The pin was not stored. Load the page again and try once more.";
      result.replaceChildren(said);
    }
    if (answer && answer.ok && !answer.redirected) {
      link.querySelector(".bar").classList.add("pinned");
    } else {
      show(link, 0, 0);
    }
  }

  function linkOf(event) {
    const link = event.target.closest(".bar-link");
    return link && !link.querySelector(".bar.run") ? link : null;
  }

  svg.addEventListener("dragstart", (event) => event.preventDefault());
  svg.addEventListener("pointerdown", (event) => {
    const link = linkOf(event);
    if (!link || event.button !== 0 || event.pointerType === "touch") return;
    held = {
      link,
      x: event.clientX - number(link.dataset.x),
      y: event.clientY - number(link.dataset.y),
      before: [number(link.dataset.x), number(link.dataset.y)],
      moved: false,
    };
  });
  window.addEventListener("pointermove", (event) => {
    if (!held) return;
    const x = event.clientX - held.x;
    const y = event.clientY - held.y;
    if (Math.hypot(x - held.before[0], y - held.before[1]) > 3) held.moved = true;
    if (!held.moved) return;
    show(held.link, x, y);
    fillIn(held.link);
  });
  function drop() {
    if (!held) return;
    const { link, moved } = held;
    held = null;
    if (!moved) return;
    const stop = (event) => event.preventDefault();
    window.addEventListener("click", stop, { capture: true, once: true });
    setTimeout(() => window.removeEventListener("click", stop, { capture: true }), 0);
    const lane = laneAt(yOf(link) + number(link.dataset.y));
    show(link, number(link.dataset.x), lane ? lane.y + inset - yOf(link) : 0);
    pin(link);
  }
  window.addEventListener("pointerup", drop);
  window.addEventListener("pointercancel", () => {
    if (held) show(held.link, ...held.before);
    held = null;
  });
  svg.addEventListener("keydown", (event) => {
    const link = linkOf(event);
    if (!link) return;
    const x = number(link.dataset.x);
    const y = number(link.dataset.y);
    const sideways = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const upright = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (sideways) {
      show(link, x + sideways * (event.shiftKey ? 1 : 1 / 24) * scale, y);
      fillIn(link);
    } else if (upright) {
      const lane = lanes[lanes.indexOf(laneAt(yOf(link) + y)) + upright];
      if (lane) show(link, x, lane.y + inset - yOf(link));
      fillIn(link);
    } else if (event.key === "Enter" && link.classList.contains("moved")) {
      pin(link);
    } else if (event.key === "Escape" && link.classList.contains("moved")) {
      show(link, 0, 0);
      result.replaceChildren();
    } else {
      return;
    }
    event.preventDefault();
  });
})();
