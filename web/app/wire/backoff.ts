/** How long to wait before the next try: twice as long each time, up to half a minute, and never all at once. */
export function backoff(failures: number, random: () => number = Math.random): number {
  const full = Math.min(30_000, 500 * 2 ** Math.min(failures, 10));
  return Math.round(full * (0.75 + random() / 2));
}
