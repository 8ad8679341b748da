/** A button that copies a text, and says that it did. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import { Icon, type IconName } from './icon';

export function CopyButton({ text, label, icon = 'copy' }: { readonly text: () => string; readonly label: string; readonly icon?: IconName }): JSX.Element {
  const [outcome, tell] = useState<'copied' | 'failed' | undefined>();
  useEffect(() => {
    if (outcome === undefined) return;
    const timer = setTimeout(() => tell(undefined), 1_600);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = (event: Event) => {
    event.stopPropagation();
    copyText(text()).then(() => tell('copied'), () => tell('failed'));
  };
  return (
    <button type="button" class={`quiet square${outcome === 'copied' ? ' good' : ''}`} aria-label={outcome ?? label} title={label} onClick={copy}>
      <Icon name={outcome === undefined ? icon : outcome === 'copied' ? 'done' : 'failed'} />
    </button>
  );
}

/** Browsers keep the clipboard for pages over TLS; over plain HTTP the old way still works. */
export async function copyText(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'unseen';
  document.body.append(area);
  area.select();
  const copied = document.execCommand('copy');
  area.remove();
  if (!copied) throw new Error('the browser does not let this page copy');
}
