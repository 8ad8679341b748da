/** Lets a service worker keep the files of the view, so that it opens without a network. It never sees a conversation. */

interface ScriptPolicy {
  createScriptURL(url: string): string;
}

interface PolicyFactory {
  createPolicy(name: string, rules: { createScriptURL(url: string): string }): ScriptPolicy;
}

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
