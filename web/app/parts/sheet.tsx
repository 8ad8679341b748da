/** A panel over the page, with the browser's own rules for focus and for Escape. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

import { Icon } from './icon';

export function Sheet({ title, onClose, children }: { readonly title: string; readonly onClose: () => void; readonly children: ComponentChildren }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  return (
    <dialog ref={dialog} class="sheet" aria-labelledby="sheet-title" onClose={onClose} onClick={(event) => event.target === dialog.current && dialog.current?.close()}>
      <div class="sheet-box">
        <header class="bar">
          <h2 id="sheet-title">{title}</h2>
          <button type="button" class="quiet square" aria-label="Close" onClick={() => dialog.current?.close()}><Icon name="failed" /></button>
        </header>
        <div class="sheet-body">{children}</div>
      </div>
    </dialog>
  );
}
