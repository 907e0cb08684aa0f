// Runs before the first paint, so that a chosen theme never flashes. Not a module for that reason.
(() => {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();
