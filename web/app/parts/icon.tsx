/** Small drawings, as elements: no file is loaded for them. */
import type { JSX } from 'preact';

const PATHS = {
  back: 'M15 5l-7 7 7 7',
  down: 'M12 5v14M6 13l6 6 6-6',
  up: 'M12 19V5M6 11l6-6 6 6',
  right: 'M9 5l7 7-7 7',
  send: 'M5 12l14-7-4 14-3.5-5.5z',
  copy: 'M9 9h10v10H9zM5 15V5h10',
  done: 'M5 13l4.5 4.5L19 7',
  failed: 'M6 6l12 12M18 6L6 18',
  link: 'M10 14a4 4 0 0 0 5.7 0l3-3a4 4 0 0 0-5.7-5.7l-1 1M14 10a4 4 0 0 0-5.7 0l-3 3a4 4 0 0 0 5.7 5.7l1-1',
  search: 'M11 5a6 6 0 1 1 0 12 6 6 0 0 1 0-12zM20 20l-4.7-4.7',
  settings: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4',
  terminal: 'M4 6l6 6-6 6M12 18h8',
  edit: 'M4 20l1-4L16 5l3 3L8 19zM14 7l3 3',
  file: 'M6 3h8l4 4v14H6zM14 3v4h4',
  globe: 'M12 4a8 8 0 1 1 0 16 8 8 0 0 1 0-16zM4 12h16M12 4c-5 5-5 11 0 16M12 4c5 5 5 11 0 16',
  agents: 'M8 5a3 3 0 1 1 0 6 3 3 0 0 1 0-6zM3 20c0-8 10-8 10 0M16 8a2.5 2.5 0 1 1 0 5 2.5 2.5 0 0 1 0-5zM15 16c4-1 6 1 6 4',
  list: 'M9 6h11M9 12h11M9 18h11M4.5 6h.01M4.5 12h.01M4.5 18h.01',
  tool: 'M14.5 6.5a4 4 0 0 0-5.3 5.1L4 17l3 3 5.4-5.2a4 4 0 0 0 5.1-5.3L15 12l-3-3z',
  think: 'M8 15a5 5 0 1 1 8 0l-1 3H9zM10 21h4',
  image: 'M4 5h16v14H4zM4 16l5-5 4 4 2-2 5 5M15 9h.01',
  checked: 'M5 5h14v14H5zM8 12l3 3 5-6',
  unchecked: 'M5 5h14v14H5z',
  branch: 'M7 4v16M7 14c8 0 10-3 10-8M4.5 4h5M14.5 6h5',
  keys: 'M3 7h18v10H3zM7 11h.01M11 11h.01M15 11h.01M8 14h8',
  alert: 'M12 4l9 16H3zM12 10v4M12 17h.01',
  clip: 'M8 12l6-6a3 3 0 0 1 4 4l-8 8a5 5 0 0 1-7-7l7-7',
  more: 'M6 12h.01M12 12h.01M18 12h.01',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, label }: { readonly name: IconName; readonly label?: string }): JSX.Element {
  const named = label === undefined ? { 'aria-hidden': true as const } : { role: 'img' as const, 'aria-label': label };
  return <svg class="icon" viewBox="0 0 24 24" {...named}><path d={PATHS[name]} /></svg>;
}
