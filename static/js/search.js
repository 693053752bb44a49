// `/` goes to the search field of the page, or of its header. Searching works without this file.
(() => {
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    const field = document.getElementById("search-text") || document.getElementById("header-search");
    if (!field) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
})();
