// What the pages share: keys, the item one stands at, toasts, and light or dark. Every decision is the server's.
(() => {
  'use strict';
  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const root = document.documentElement;
  const toasts = one('#toasts');

  // The item one stands at. `j` and `k` move; a click or the focus of something in it does so too.

  const current = () => one('[data-item].current');

  function stand(item, { focus = true } = {}) {
    if (!item) return;
    current()?.classList.remove('current');
    item.classList.add('current');
    if (focus) {
      item.focus({ preventScroll: true });
      item.scrollIntoView({ block: 'nearest', behavior: matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth' });
    }
  }

  function step(by) {
    const items = all('[data-item]').filter((item) => item.offsetParent !== null);
    const at = items.indexOf(current());
    if (by > 0 && at === items.length - 1 && goOn()) return;
    stand(items[at < 0 ? (by > 0 ? 0 : items.length - 1) : Math.min(Math.max(at + by, 0), items.length - 1)]);
  }

  // Whoever walks beyond the last item of a list that goes on elsewhere is taken there.

  let walking = false;

  function goOn() {
    const more = one('main .more a[hx-get]');
    if (!more) return false;
    if (!walking) more.click();
    walking = true;
    return true;
  }

  document.addEventListener('focusin', (event) => {
    const item = event.target.closest?.('[data-item]');
    if (item && item !== current()) stand(item, { focus: false });
  });
  document.addEventListener('click', (event) => {
    const item = event.target.closest('[data-item]');
    if (item) stand(item, { focus: false });
  });

  // Keys. Whatever can be pressed says so itself: data-key within an item, data-page-key on the page, data-go after g.

  const typing = (element) => element.matches?.('input:not([type=checkbox]), textarea, select, [contenteditable]');
  const keysOn = () => localStorage.getItem('engram-keys') !== 'off';
  let going = 0;

  const byKey = (name, key, within) => all(`[${name}]`, within).find((each) => each.getAttribute(name) === key && !each.disabled && !each.closest('[hidden]'));

  // A form is open where something can be cancelled. Until it is closed no letter does anything, so that none
  // typed beside the field decides about a memory, and nothing that was typed is lost.

  const opened = () => all('[data-cancel]').find((each) => each.checkVisibility());
  let opening = 0; // when a form was asked for that has not come yet

  function backToForm() {
    const form = opened().closest('form, [data-item], section');
    one('textarea, input:not([type=hidden]), select, button', form)?.focus();
  }

  // What was decided in this tab and not taken back: `u` takes back the last of it, then the one before, and never
  // does anything again. It belongs to one visit: another server at the same address counts its events anew.

  const takeBack = one('#take-back');
  const visit = takeBack?.elements.csrf.value;

  function decided() {
    const kept = JSON.parse(sessionStorage.getItem('engram-decided') || '{}');
    return kept.visit === visit ? kept.events : [];
  }

  const keep = (events) => sessionStorage.setItem('engram-decided', JSON.stringify({ visit, events: events.slice(-200) }));
  const drop = (event) => keep(decided().filter((each) => each !== event));

  function undo() {
    const event = decided().at(-1);
    if (takeBack.dataset.busy) return;
    if (!event) return say('Nothing was decided here that could be taken back; the page History takes back anything.');
    takeBack.dataset.busy = event;
    takeBack.elements.event.value = event;
    takeBack.requestSubmit();
  }

  document.addEventListener('htmx:finally:request', () => delete takeBack?.dataset.busy);
  document.addEventListener('htmx:response:error', (event) => {
    opening = 0;
    walking = false;
    if (takeBack?.dataset.busy) drop(takeBack.dataset.busy);
    const { text, response } = event.detail.ctx;
    if (!text.includes('data-toast')) say(`The server refused that (${response.status}). Load the page again, and repeat what you did.`, 'bad');
  });
  document.addEventListener('click', (event) => {
    if (!event.target.closest('[data-undo]') || !opened()) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    say('A form is open. Save it or cancel it first, so that nothing you typed is lost.', 'bad');
    backToForm();
  }, true);

  function pressed(key) {
    if (Date.now() - going < 1500) {
      going = 0;
      const link = byKey('data-go', key);
      if (link) return link.click(), true;
    }
    if (key === 'g') return (going = Date.now()), true;
    if (key === 'j' || key === 'k') return step(key === 'j' ? 1 : -1), true;
    if (key === 'u') return undo(), true;
    const item = current() || (next && document.getElementById(next.id)); // it may just have come anew
    const group = item?.closest('.group');
    const target = (item && byKey('data-key', key, item)) || (group && byKey('data-group-key', key, group)) || byKey('data-page-key', key);
    if (!target) return false;
    if (typing(target)) return target.focus(), true;
    if (target.matches('[hx-get][hx-target]')) opening = Date.now();
    target.click();
    return true;
  }

  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') {
      const away = event.target.closest?.('[data-item]')?.querySelector('[data-cancel]') || opened();
      if (typing(event.target)) event.target.blur();
      if (away && !one('dialog[open]')) away.click();
      return;
    }
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && event.target.form) {
      event.preventDefault();
      event.target.form.requestSubmit();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target) || one('dialog[open]')) return;
    if (!keysOn() && event.key !== '?') return;
    if (event.key.length !== 1 || event.key === ' ') return;
    if (opened()) return backToForm(), event.preventDefault();
    // The key of undo is about no card, so it need not wait for the one that comes back.
    const waiting = Math.max(opening, event.key === 'u' ? 0 : came?.since ?? 0);
    if (Date.now() - waiting < 3000) return event.preventDefault();
    if (pressed(event.key)) event.preventDefault();
  });

  // The list of keys is made of what is on the page, so it is never out of date.

  function help() {
    const rows = new Map([['j', 'Next'], ['k', 'Previous'], ['u', 'Undo what was just done'], ['Esc', 'Close, cancel'], ['?', 'This list']]);
    for (const each of all('[data-key], [data-group-key], [data-page-key]')) {
      const key = each.dataset.key || each.dataset.groupKey || each.dataset.pageKey;
      const label = (each.dataset.label || each.getAttribute('aria-label') || each.textContent).trim().replace(/\s+/g, ' ');
      if (!rows.has(key)) rows.set(key, label);
    }
    for (const each of all('[data-go]')) rows.set(`g ${each.dataset.go}`, each.firstChild.textContent.trim());
    const list = one('[data-keys]');
    list.replaceChildren();
    for (const [key, label] of rows) {
      const term = document.createElement('dt');
      for (const part of key.split(' ')) {
        const cap = document.createElement('kbd');
        cap.textContent = part;
        term.append(cap, ' ');
      }
      const said = document.createElement('dd');
      said.textContent = label;
      list.append(term, said);
    }
    one('[data-keys-on]').checked = keysOn();
    one('#keys').showModal();
  }

  document.addEventListener('click', (event) => {
    const target = event.target.closest('button, a');
    if (!target) return;
    const folded = target.matches('[data-cancel]') && target.closest('details');
    if (folded) {
      folded.open = false;
      one('summary', folded).focus();
    }
    if (target.matches('[data-close]') && target.closest('dialog')) {
      event.preventDefault();
      target.closest('dialog').close();
    }
    if (target.matches('[data-help]')) help();
    else if (target.matches('[data-dismiss]')) target.closest('[data-toast]').remove();
    else if (target.matches('[data-theme-switch]')) switchTheme();
    else if (target.matches('[data-skip]')) skip(target.closest('[data-item]'));
    else if (target.matches('[data-choose-none]')) chooseNone();
    else if (target.matches('[data-choose-group]')) chooseGroup(target.closest('.group'));
  });
  document.addEventListener('change', (event) => {
    if (event.target.matches('[data-keys-on]')) localStorage.setItem('engram-keys', event.target.checked ? 'on' : 'off');
  });

  // Whoever comes to a text goes on at its end.

  function enter(field) {
    field?.focus();
    if (field?.matches('textarea, input:not([type]), input[type=text]')) field.setSelectionRange(field.value.length, field.value.length);
  }

  document.addEventListener('toggle', (event) => {
    if (event.target.open) enter(one('[data-first]', event.target));
  }, true);

  // Skipping decides nothing: it goes on, and comes back when the page is loaded again.

  function skip(item) {
    item.classList.add('skipped');
    step(1);
  }

  // What is chosen for many at once.

  const chosen = () => all('input[name=chosen][form]').filter((box) => box.checked);

  function count() {
    const bar = one('#bulk');
    if (!bar) return;
    const many = chosen().length;
    bar.hidden = !many;
    one('[data-chosen-count]', bar).textContent = many === 1 ? '1 chosen' : `${many} chosen`;
  }

  function chooseNone() {
    for (const box of chosen()) box.checked = false;
    count();
  }

  function chooseGroup(group) {
    const boxes = all('input[name=chosen]', group);
    const every = boxes.every((box) => box.checked);
    for (const box of boxes) box.checked = !every;
    count();
  }

  // What would become of those that are chosen is looked over before the page, which stays where it is.

  const preview = one('dialog#preview');
  preview?.addEventListener('close', () => {
    preview.replaceChildren();
    document.body.append(toasts);
  });

  function lookOver() {
    if (!preview || preview.open === Boolean(preview.childElementCount)) return;
    if (preview.open) preview.close();
    else preview.showModal();
  }

  // The inbox or the conflicts after some of them were decided: a session of which nothing is left goes, one that goes
  // on after the end of a page is one session, and where all that is shown is decided, what follows comes.

  const LISTS = '#groups, #pairs';

  function tidy() {
    const list = one(LISTS);
    if (!list) return;
    const more = one('.more a', list);
    const groups = new Map();
    for (const group of all('.group', list)) {
      const first = groups.get(group.dataset.session);
      if (first) first.append(...all('[data-item]', group));
      else groups.set(group.dataset.session, group);
      if (first || !one('[data-item]', group)) group.remove();
    }
    for (const group of groups.values()) {
      const many = all('.candidate:not(.decided)', group).length;
      const memories = many === 1 ? '1 memory' : `${many} memories`;
      one('[data-waits]', group).textContent = more ? `${memories} shown so far` : `${memories} ${many === 1 ? 'waits' : 'wait'}`;
      one('[data-shown]', group)?.toggleAttribute('hidden', !more);
    }
    if (one('[data-item], .nothing', list)) return;
    if (more) more.click();
    else document.body.dispatchEvent(new CustomEvent('engram-undone'));
  }

  document.addEventListener('change', (event) => {
    if (event.target.matches('input[name=chosen]')) count();
  });

  function switchTheme() {
    const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
    localStorage.setItem('engram-theme', root.dataset.theme);
  }

  // After htmx has changed the page: stand at what came, or at what follows what went, and let a new field be typed in.

  let next = null;
  let inSight = false;
  let came = null; // the card that an undo brings back: until the list is there anew, no letter means another
  const went = new Map(); // the card that went with a decision

  function standAtWhatCame(event) {
    const card = came && document.getElementById(came.card);
    if (card) stand(card, { focus: !typing(document.activeElement) });
    if (card || event.detail.ctx.target?.matches?.(LISTS)) came = null;
  }

  const sees = (item) => item.getBoundingClientRect().bottom < innerHeight - parseFloat(getComputedStyle(root).scrollPaddingBottom) + 2;

  document.addEventListener('htmx:before:swap', () => {
    const item = current();
    if (!item) return;
    inSight = sees(item);
    const items = all('[data-item]');
    const at = items.indexOf(item);
    next = { id: item.id, after: items[at + 1]?.id, before: items[at - 1]?.id };
  });
  document.addEventListener('htmx:after:swap', (event) => {
    opening = 0;
    lookOver();
    tidy();
    all('#toasts [data-toast]:not([data-seen])').forEach(welcome);
    if (next && !current()) {
      const item = [next.id, next.after, next.before].map((id) => id && document.getElementById(id)).find(Boolean);
      stand(item || one('[data-item]'), { focus: !typing(document.activeElement) });
      next = null; // not before: another part of the page may change while the list is still the old one
    }
    standAtWhatCame(event);
    count();
    if (walking && (all('[data-item]').at(-1) !== current() || !one('main .more a[hx-get]'))) {
      walking = false;
      step(1);
    } else if (inSight && current() && !sees(current())) {
      current().scrollIntoView({ block: 'nearest' }); // what came into it pushed its buttons out of sight
    }
    const field = one('[data-focus]:not([data-focused])');
    if (field) {
      field.dataset.focused = 'yes';
      enter(field);
    }
  });
  document.addEventListener('htmx:error', () => {
    opening = 0;
    walking = false;
    say('The server does not answer. Nothing was changed; is engram serve still running?', 'bad');
  });

  // Where the form that did something has gone meanwhile, htmx tells the document; lists listen at the body.
  for (const name of ['engram-done', 'engram-undone', 'engram-counted']) {
    document.addEventListener(name, (event) => {
      if (event.target === document) document.body.dispatchEvent(new CustomEvent(name));
    });
  }

  // Toasts. Each goes by itself unless somebody is at it; only the last that was decided offers its undo.

  const STAYS = 8000;

  function welcome(toast) {
    toast.dataset.seen = 'yes';
    (one('dialog[open]') || document.body).append(toasts); // what lies below an open dialog is not told
    const { decided: event, tookBack, now, came: back } = toast.dataset;
    const [id, revision] = now?.split('@') || [];
    // What was brought about here was seen here: until the page has come anew, its forms mean the memory as it is now.
    if (id) all(`[data-of="${id}"] input[name=revision]`).forEach((field) => (field.value = revision));
    const taken = tookBack?.split(' ') || [];
    const card = one('#pairs') ? went.get(taken[0]) : back && `m-${back}`; // a pair is of two, and may not have moved
    if (card && one(LISTS)) came = { card, since: Date.now() };
    if (event && next) went.set(event, next.id);
    const own = taken.some((each) => decided().includes(each)); // what was taken back by its key is not done again by it
    taken.forEach(drop);
    if (event && !own) keep([...decided(), event]);
    if (event || tookBack) all('#toasts [data-toast]').forEach((each) => each !== toast && one('[data-undo]', each) && each.remove());
    all('#toasts [data-toast]').forEach((each) => each !== toast && each.textContent.trim() === toast.textContent.trim() && each.remove());
    all('#toasts [data-toast]').slice(0, -2).forEach((each) => each.remove());
    leave(toast);
    room();
    one('.actions', current() || root)?.scrollIntoView({ block: 'nearest' });
  }

  function leave(toast) {
    setTimeout(() => (toast.matches(':hover, :focus-within') ? leave(toast) : toast.remove()), STAYS);
  }

  function say(words, tone = 'good') {
    const toast = document.createElement('div');
    toast.className = `toast ${tone}`;
    toast.dataset.toast = '';
    toast.textContent = words;
    one('#toasts')?.append(toast);
    welcome(toast);
  }

  // What stands at the bottom of the page makes room for the toasts, so that they lie over no button of it; the item
  // one stands at is scrolled to above both.

  function room() {
    const bar = one('#bulk');
    root.style.setProperty('--toasts', toasts.childElementCount ? `${toasts.offsetHeight + 24}px` : '0px');
    root.style.setProperty('--bar', bar && !bar.hidden ? `${bar.offsetHeight + 16}px` : '0px');
  }

  if (toasts) {
    const watch = new ResizeObserver(room);
    [toasts, one('#bulk')].filter(Boolean).forEach((each) => watch.observe(each));
    new MutationObserver(room).observe(toasts, { childList: true });
  }

  // On a narrow screen the pages stand in a row that scrolls: the one that is open stays in sight.

  const here = one('.top nav [aria-current]');
  if (here) {
    const row = here.closest('nav');
    new ResizeObserver(() => {
      row.scrollLeft = here.parentElement.offsetLeft - row.offsetLeft - (row.clientWidth - here.offsetWidth) / 2;
    }).observe(row);
  }

  // How many wait is asked for after the page is there; until then stands what was said last, so that nothing jumps.

  const waiting = one('#waiting');
  if (waiting) {
    waiting.textContent = sessionStorage.getItem('engram-waiting') || '';
    new MutationObserver(() => sessionStorage.setItem('engram-waiting', waiting.textContent)).observe(waiting, { childList: true });
  }

  stand(one('[data-item]'), { focus: false });
  htmx.process(document.body); // by itself it would look a moment later: whoever was quicker would leave the page
})();
