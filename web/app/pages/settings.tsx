/** How things look, who this device is, and how it is forgotten. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import { Icon } from '../parts/icon';
import { Keys } from '../parts/keys';
import { up } from '../route';
import { SIZES, size, theme, THEMES } from '../settings';
import { get, said } from '../wire/api';
import { device, keep } from '../wire/device';
import type { Info } from '../wire/frames';

export function SettingsPage(): JSX.Element {
  const [info, setInfo] = useState<Info | undefined>();
  const [problem, tell] = useState('');
  useEffect(() => {
    get<Info>('info').then(setInfo, (error: unknown) => tell(said(error)));
  }, []);
  const own = device.value;
  const rename = (name: string) => own && name.trim() !== '' && keep({ ...own, name: name.trim() });
  return (
    <main class="settings">
      <header class="bar">
        <button type="button" class="quiet square back" aria-label="Back to the panes" onClick={() => up({ page: 'panes' })}><Icon name="back" /></button>
        <h1 tabIndex={-1}>Settings</h1>
      </header>
      <div class="settings-body">
        <Choice legend="Theme" options={THEMES} value={theme.value} onChoose={(next) => (theme.value = next)} />
        <Choice legend="Text size" options={SIZES} value={size.value} onChoose={(next) => (size.value = next)} />
        <section>
          <h2>This device</h2>
          <label>Name<input maxLength={60} value={own?.name ?? ''} onChange={(event) => rename(event.currentTarget.value)} /></label>
          <p class="hint">{own?.scope === 'read' ? 'It may look and not touch: answering needs a device that was paired without --read.' : 'It may look, and answer agents.'} The name changes in this browser only.</p>
          <button type="button" class="danger" onClick={() => { keep(undefined); up({ page: 'panes' }); }}>Forget this device’s token</button>
          <p class="hint">To keep a lost device out, revoke it on the machine that runs Panewire.</p>
        </section>
        <section>
          <h2>Daemon</h2>
          {info ? (
            <dl>
              {info.server_name && <><dt>Machine</dt><dd>{info.server_name}</dd></>}
              <dt>Version</dt><dd>{info.name} {info.version}, protocol {info.protocol}</dd>
            </dl>
          ) : <p class="hint" role="status">{problem || 'Asking…'}</p>}
        </section>
        <section>
          <h2>Keyboard</h2>
          <Keys />
        </section>
      </div>
    </main>
  );
}

interface ChoiceProps<T extends string> {
  readonly legend: string;
  readonly options: readonly T[];
  readonly value: T;
  readonly onChoose: (next: T) => void;
}

function Choice<T extends string>({ legend, options, value, onChoose }: ChoiceProps<T>): JSX.Element {
  return (
    <fieldset class="pick">
      <legend>{legend}</legend>
      {options.map((option) => (
        <label key={option}>
          <input type="radio" name={legend} checked={option === value} onChange={() => onChoose(option)} />
          <span>{option}</span>
        </label>
      ))}
    </fieldset>
  );
}
