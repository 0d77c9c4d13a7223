// Light or dark, before anything is painted: what was chosen here, else what the system says.
(() => {
  const chosen = localStorage.getItem('engram-theme');
  if (chosen) document.documentElement.dataset.theme = chosen;
})();
