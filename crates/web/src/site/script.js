'use strict';
// What the pages of `drivelab web` do by themselves: keep what was chosen, and ask for news while someone looks.
(() => {
  const at = id => document.getElementById(id);
  const put = (element, text) => { if (element && element.textContent !== text) element.textContent = text; };
  const every = (milliseconds, ask) => {
    const round = async () => {
      let wait = milliseconds;
      if (!document.hidden) {
        let lost = '';
        try { if (await ask() === 'done') wait = 0; } catch { wait = 5000; lost = 'No answer: has drivelab web ended? This page asks on.'; }
        put(at('lost'), lost);
        if (!wait) return;
      }
      setTimeout(round, wait);
    };
    setTimeout(round, milliseconds);
  };
  const asked = async address => {
    const answer = await fetch(address);
    if (!answer.ok) throw new Error(answer.status);
    return answer.json();
  };

  // The list: what is chosen stays so while its reader searches on, as long as the tab is open.
  const runs = at('runs'), form = at('choose');
  if (form) {
    let chosen = [];
    try { chosen = JSON.parse(sessionStorage.getItem('chosen')) || []; } catch { /* nothing was chosen */ }
    const boxes = () => runs.querySelectorAll('input[name=run]');
    const show = said => {
      for (const box of boxes()) box.checked = chosen.includes(box.value);
      const entries = chosen.map(id => {
        const entry = document.createElement('li'), drop = document.createElement('button');
        entry.textContent = id;
        drop.type = 'button';
        drop.textContent = '\u00d7';
        drop.setAttribute('aria-label', 'drop run ' + id);
        drop.onclick = () => { choose(id, false); (at('chosen').querySelector('button') || at('q')).focus(); };
        entry.append(drop);
        return entry;
      });
      at('chosen').replaceChildren(...entries);
      at('compare').disabled = chosen.length < 2;
      if (said) put(at('said'), chosen.length === 1 ? '1 run chosen' : chosen.length + ' runs chosen');
    };
    const choose = (id, on) => {
      chosen = chosen.filter(other => other !== id).concat(on ? [id] : []);
      sessionStorage.setItem('chosen', JSON.stringify(chosen));
      show(true);
    };
    runs.addEventListener('change', event => choose(event.target.value, event.target.checked));
    form.addEventListener('submit', event => {
      event.preventDefault();
      location.assign('/compare?' + chosen.map(id => 'run=' + encodeURIComponent(id)).join('&'));
    });
    addEventListener('pageshow', () => show(false));
    show(false);
  }

  // The list: runs in progress grow, and new ones are told of; nothing moves under the reader. Where nothing runs, the
  // number of runs is all that is asked for.
  const news = at('news');
  if (news) every(2000, async () => {
    const address = new URLSearchParams(location.search), grow = runs && runs.querySelector('.state.running');
    if (!grow) { address.set('show', 1); address.delete('page'); }
    const found = await asked('/runs.json?' + address);
    if (!news.firstChild && String(found.count) !== news.dataset.count) {
      const link = document.createElement('a');
      link.href = location.href;
      link.textContent = 'Show them';
      news.append('There are new runs. ', link);
    }
    if (grow) for (const { run, cells, headline } of found.runs) {
      const row = [...runs.tBodies[0].rows].find(row => row.dataset.run === run.id);
      if (!row) continue;
      const state = row.querySelector('.state');
      put(state, run.state);
      state.className = 'state ' + run.state;
      put(row.querySelector('[data-l=state] small'), cells);
      put(row.querySelector('[data-l=result]'), headline);
    }
  });

  // A run in progress: its cells as they come.
  const cells = at('cells');
  if (cells) every(1000, async () => {
    const told = await asked('/runs/' + cells.dataset.run + '/news?seen=' + cells.dataset.saves);
    const rows = cells.tBodies[0].rows, heads = [...cells.tHead.rows[0].cells];
    for (const words of told.changed) {
      while (rows.length <= words.place) {
        const row = cells.tBodies[0].insertRow();
        row.className = 'new';
        heads.forEach((head, place) => {
          const field = document.createElement(place ? 'td' : 'th');
          if (!place) field.scope = 'row';
          field.dataset.k = head.dataset.k;
          field.dataset.l = head.textContent;
          row.append(field);
        });
      }
      for (const field of rows[words.place].cells) put(field, words[field.dataset.k] || '');
    }
    while (rows.length > told.cells) rows[rows.length - 1].remove();
    cells.dataset.saves = told.saves;
    put(at('state'), told.standing);
    if (told.state === 'running') return;
    put(at('report'), 'Open its report');
    return 'done';
  });
})();
