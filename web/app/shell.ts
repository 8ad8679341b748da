/** What the browser around the page is asked for. */

/** Where a keyboard covers the page instead of making it smaller, the page is made smaller. */
export function keepAboveKeyboard(): void {
  const seen = visualViewport;
  const view = document.getElementById('view');
  if (!seen || !view) return;
  seen.addEventListener('resize', () => {
    // Zooming in is no keyboard.
    const covered = seen.scale === 1 && innerHeight - seen.height > 80;
    view.style.height = covered ? `${seen.height}px` : '';
    if (covered) scrollTo(0, 0);
  });
}

interface ScriptPolicy {
  createScriptURL(url: string): string;
}

interface PolicyFactory {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): ScriptPolicy;
}

/** Lets a service worker keep the files of the view, so that it opens without a network. It never sees a conversation. */
export function keepShell(): void {
  if (!('serviceWorker' in navigator) || !isSecureContext || import.meta.env.DEV) return;
  const { trustedTypes } = globalThis as { trustedTypes?: PolicyFactory };
  // The one script that may be started from here.
  const only = (url: string) => {
    if (url !== 'sw.js') throw new TypeError(`${url} is not started here`);
    return url;
  };
  const url = trustedTypes?.createPolicy('panewire', { createScriptURL: only }).createScriptURL('sw.js') ?? 'sw.js';
  navigator.serviceWorker.register(url).catch(() => undefined);
}
