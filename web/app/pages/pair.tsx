/** How this browser becomes a device of the daemon: by a one-time code, or by the token itself. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';

import { route, up } from '../route';
import { getWith, post, Refused, said } from '../wire/api';
import { isRefused, keep } from '../wire/device';
import type { Info, Paired } from '../wire/frames';

/** What this device may be called, as one would say it. */
function ownName(): string {
  const agent = navigator.userAgent;
  const system = [
    [/iPhone/, 'iPhone'], [/iPad/, 'iPad'], [/Android/, 'Android'], [/Mac OS X/, 'Mac'], [/Windows/, 'Windows'], [/CrOS/, 'Chromebook'], [/Linux/, 'Linux'],
  ].find(([pattern]) => (pattern as RegExp).test(agent))?.[1] as string | undefined;
  const browser = [[/Firefox\//, 'Firefox'], [/Edg\//, 'Edge'], [/Chrome\//, 'Chrome'], [/Safari\//, 'Safari']].find(([pattern]) =>
    (pattern as RegExp).test(agent),
  )?.[1] as string | undefined;
  return [browser, system].filter((part) => part !== undefined).join(' on ') || 'Browser';
}

export function PairPage({ code }: { readonly code: string }): JSX.Element {
  const [entered, enter] = useState(code);
  const [name, setName] = useState(ownName());
  const [token, setToken] = useState('');
  const [byToken, useToken] = useState(false);
  const [busy, setBusy] = useState(false);
  const [problem, tell] = useState('');

  const attempt = async (work: () => Promise<void>) => {
    setBusy(true);
    tell('');
    try {
      await work();
      // Whoever came by the address of a conversation came for that.
      if (route.value.page === 'pair') up({ page: 'panes' });
    } catch (error) {
      tell(explained(error, byToken));
    } finally {
      setBusy(false);
    }
  };
  const pair = (event: Event) => {
    event.preventDefault();
    void attempt(async () => {
      const paired = await post<Paired>('pair', { code: entered.trim(), device_name: name.trim() || ownName() });
      keep({ bearer: paired.bearer, name: paired.name, scope: paired.scope === 'read' ? 'read' : 'full', server: paired.server_name });
    });
  };
  const present = (event: Event) => {
    event.preventDefault();
    void attempt(async () => {
      const bearer = token.trim();
      const info = await getWith<Info>(bearer, 'info');
      keep({ bearer, name: name.trim() || ownName(), scope: 'full', server: info.server_name });
    });
  };

  return (
    <main class="pair">
      <div class="pair-box">
        <img src="icon.svg" alt="" width="64" height="64" />
        <h1 tabIndex={-1}>Panewire</h1>
        <p class="lead">Follow the coding agents of this machine, and answer them.</p>
        {isRefused.value && (
          <p class="notice" role="alert">This device is paired no more: it was revoked, or the token of the daemon is another one by now. Pair it again.</p>
        )}
        <form onSubmit={byToken ? present : pair}>
          {byToken ? (
            <label>Token<input type="password" required value={token} autocomplete="off" onInput={(event) => setToken(event.currentTarget.value)} /></label>
          ) : (
            <label>Code<input class="code-input" required value={entered} autocomplete="one-time-code" autocapitalize="none" spellcheck={false} onInput={(event) => enter(event.currentTarget.value)} /></label>
          )}
          <label>Name of this device<input required maxLength={60} value={name} autocomplete="off" onInput={(event) => setName(event.currentTarget.value)} /></label>
          <button type="submit" class="primary" disabled={busy}>{busy ? 'One moment…' : byToken ? 'Connect' : 'Pair this device'}</button>
          <p class="problem" role="alert">{problem}</p>
        </form>
        <p class="hint">
          {byToken ? <>The token is what <code>panewire token</code> prints. It can do everything: pair a phone with a code instead.</> : <>On the machine that runs Panewire, <code>panewire pair</code> shows a QR code and the code to type here. It lasts five minutes and works once.</>}
        </p>
        <button type="button" class="more" onClick={() => { useToken(!byToken); tell(''); }}>{byToken ? 'Pair with a code' : 'Use the token instead'}</button>
      </div>
    </main>
  );
}

function explained(error: unknown, byToken: boolean): string {
  if (!(error instanceof Refused)) return said(error);
  if (byToken && error.status === 401) return 'This is not the token of this daemon. `panewire token` prints it.';
  if (error.status === 404 && !byToken) return 'This daemon does not pair devices: use the token.';
  if (error.status === 403) return `${said(error)}. Ask for a new one with panewire pair.`;
  return said(error);
}
