// `j` and `k` go down and up the rows of a list, `?` tells the keys. Everything works without this file.
(() => {
  const isTyping = (event) =>
    event.ctrlKey || event.metaKey || event.altKey || event.isComposing ||
    event.target.closest("input, textarea, select, dialog, [contenteditable]");

  function rows() {
    return [...document.querySelectorAll("main table.data tbody tr")]
      .map((row) => row.querySelector("a[href]"))
      .filter(Boolean);
  }

  function step(by) {
    const links = rows();
    if (!links.length) return false;
    const row = document.activeElement.closest("tr");
    const here = links.findIndex((link) => link.closest("tr") === row);
    const next = here < 0 ? (by > 0 ? 0 : links.length - 1) : here + by;
    const link = links[Math.min(links.length - 1, Math.max(0, next))];
    link.focus();
    link.closest("tr").scrollIntoView({ block: "nearest" });
    return true;
  }

  document.addEventListener("keydown", (event) => {
    if (isTyping(event)) return;
    if (event.key === "j" || event.key === "k") {
      if (step(event.key === "j" ? 1 : -1)) event.preventDefault();
    } else if (event.key === "?") {
      const help = document.getElementById("keys-help");
      if (!help) return;
      event.preventDefault();
      help.showModal();
    }
  });
})();
