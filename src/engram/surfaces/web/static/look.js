// The search form asks as one types. Saved views: names for what the search form says, kept in this browser alone. The address follows the form.
(() => {
  'use strict';
  const form = document.querySelector('[data-view-form]');
  const list = document.querySelector('[data-views]');
  const saving = document.querySelector('[data-save-view]');
  if (!form || !list || !saving) return;
  const KEPT = 'engram-views';

  const said = () => {
    const pairs = [...new FormData(form)].filter(([name, value]) => value && !(name === 'standing' && value === 'live'));
    return new URLSearchParams(pairs).toString();
  };
  const views = () => {
    try {
      const kept = JSON.parse(localStorage.getItem(KEPT));
      return Array.isArray(kept) ? kept.filter((one) => typeof one?.name === 'string' && typeof one?.query === 'string') : [];
    } catch {
      return [];
    }
  };
  const keep = (all) => {
    localStorage.setItem(KEPT, JSON.stringify(all));
    show();
  };

  function show() {
    list.replaceChildren(...views().map(({ name, query }) => {
      const item = document.createElement('li');
      const link = document.createElement('a');
      link.href = `${form.getAttribute('action')}?${query}`;
      link.textContent = name;
      const away = document.createElement('button');
      away.type = 'button';
      away.className = 'quiet';
      away.textContent = '×';
      away.setAttribute('aria-label', `Remove the view ${name}`);
      away.addEventListener('click', () => keep(views().filter((one) => one.name !== name)));
      item.append(link, away);
      return item;
    }));
  }

  function follow() {
    const query = said();
    saving.hidden = !query;
    history.replaceState(null, '', query ? `${location.pathname}?${query}` : location.pathname);
  }

  // A pause in typing asks; what is asked while an answer is on its way waits, and only the last of it is asked.
  let pause = 0;
  form.addEventListener('input', () => {
    follow();
    clearTimeout(pause);
    pause = setTimeout(() => form.dispatchEvent(new Event('engram-look')), 200);
  });
  saving.addEventListener('submit', (event) => {
    event.preventDefault();
    const name = saving.elements.name.value.trim();
    if (!name) return;
    keep([...views().filter((one) => one.name !== name), { name, query: said() }]);
    saving.reset();
  });
  saving.hidden = !said();
  show();
})();
