// The search form asks as one types. Saved views: names for what the search form says, kept in this browser alone. The address follows the form.
(() => {
  'use strict';
  const form = document.querySelector('[data-view-form]');
  const list = document.querySelector('[data-views]');
  const saving = document.querySelector('[data-saving]');
  const name = document.querySelector('#save-view');
  if (!form || !list || !saving || !name) return;
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
  form.addEventListener('input', (event) => {
    if (event.target.form !== form) return;
    follow();
    clearTimeout(pause);
    pause = setTimeout(() => form.dispatchEvent(new Event('engram-look')), 200);
  });
  name.addEventListener('submit', (event) => {
    event.preventDefault();
    const chosen = name.elements.name.value.trim();
    if (!chosen) return;
    keep([...views().filter((one) => one.name !== chosen), { name: chosen, query: said() }]);
    name.reset();
  });

  // On a narrow screen the filters are folded away unless one is set, so that hits are seen without scrolling.
  const narrow = matchMedia('(max-width: 50rem)');
  const fold = () => {
    const set = [...new URLSearchParams(said()).keys()].some((each) => each !== 'q');
    form.querySelector('[data-narrowing]').open = !narrow.matches || set;
  };
  narrow.addEventListener('change', fold);
  fold();
  saving.hidden = !said();
  show();
})();
