/** Times as people say them. */

const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'always', style: 'narrow' });
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const day = new Intl.DateTimeFormat(undefined, { weekday: 'long', day: 'numeric', month: 'long' });
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Milliseconds of an agent's time stamp, if it is one. */
export function millis(ts: string | undefined): number | undefined {
  const at = ts === undefined ? Number.NaN : Date.parse(ts);
  return Number.isNaN(at) ? undefined : at;
}

export function age(then: number, now: number = Date.now()): string {
  const passed = Math.max(0, now - then);
  if (passed < MINUTE) return 'now';
  if (passed < HOUR) return relative.format(-Math.floor(passed / MINUTE), 'minute');
  if (passed < DAY) return relative.format(-Math.floor(passed / HOUR), 'hour');
  return relative.format(-Math.floor(passed / DAY), 'day');
}

export function span(passed: number): string {
  if (passed < MINUTE) return `${Math.max(1, Math.round(passed / 1000))} s`;
  if (passed < HOUR) return `${Math.round(passed / MINUTE)} min`;
  const hours = Math.floor(passed / HOUR);
  if (passed < DAY) return `${hours} h ${Math.round((passed % HOUR) / MINUTE)} min`;
  const days = Math.round(passed / DAY);
  return days === 1 ? '1 day' : `${days} days`;
}

export const timeOf = (at: number): string => clock.format(at);
export const dayOf = (at: number): string => day.format(at);
export const wholeTime = (at: number): string => whole.format(at);

/** What stands between two entries: a new day, or a pause of ten minutes and more. */
export function pauseBetween(before: number | undefined, after: number | undefined): string | undefined {
  if (after === undefined) return undefined;
  if (before === undefined || dayOf(before) !== dayOf(after)) {
    const pause = before !== undefined && after - before >= HOUR ? ` · after ${span(after - before)}` : '';
    return `${dayOf(after)}${pause}`;
  }
  return after - before >= 10 * MINUTE ? `${span(after - before)} later · ${timeOf(after)}` : undefined;
}
