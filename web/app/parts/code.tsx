/** Code: as it stands at once, in colours as soon as the chunk that knows languages is there. */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import { code as harmless } from '../text';
import { CopyButton } from './copy';

/** More is shown without colours. */
const MOST_CHARACTERS = 20_000;

export function CodeBlock({ text, language }: { readonly text: string; readonly language?: string | undefined }): JSX.Element {
  const shown = harmless(text);
  return (
    <figure class="code">
      <figcaption>
        <span>{language ?? ''}</span>
        <CopyButton text={() => text} label="Copy code" />
      </figcaption>
      <pre dir="ltr" tabIndex={0} role="group" aria-label={language ? `Code, ${language}` : 'Code'}><code><Highlighted text={shown} language={language} /></code></pre>
    </figure>
  );
}

export function Highlighted({ text, language }: { readonly text: string; readonly language?: string | undefined }): JSX.Element {
  const [coloured, colour] = useState<{ readonly of: string; readonly as: ComponentChildren } | undefined>();
  useEffect(() => {
    if (!language || text.length > MOST_CHARACTERS) return;
    let wanted = true;
    import('./highlight').then(
      ({ highlight }) => {
        const as = wanted ? highlight(text, language) : undefined;
        if (as) colour({ of: text, as });
      },
      // Offline, or an older page whose chunk is gone: then it stays without colours.
      () => undefined,
    );
    return () => {
      wanted = false;
    };
  }, [text, language]);
  return <>{coloured?.of === text ? coloured.as : text}</>;
}
