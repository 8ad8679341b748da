/**
 * What the reader looks at, held where it is.
 *
 * Rows are measured when they are drawn, and until then their heights are guessed. The list makes up for what was guessed wrong
 * above the edge of the view. But a fling goes further between two frames than is drawn ahead, and a page that comes is laid in
 * unmeasured: then rows in view are wrong, too, and push what was in view already. So that is remembered before, and put back
 * after, within the same frame.
 */
interface Held {
  readonly row: HTMLElement;
  readonly top: number;
}

/** Less is rounding. */
const MOVED_PX = 0.75;

/** There a kinetic scroll ends when its place is set: the list waits with what it makes up for, and so does this. */
const ENDS_KINETIC = /iP(?:hone|od|ad)/.test(navigator.userAgent) || (navigator.platform === 'MacIntel' && navigator.maxTouchPoints > 0);

export class Anchor {
  private held: Held | undefined;
  private isMoving = false;

  constructor(private readonly scroller: () => HTMLElement | null) {}

  /** The number of the entry that is held. */
  get seq(): number | undefined {
    return this.held && Number(this.held.row.id.replace('entry-', ''));
  }

  /** The list was scrolled: what is in view now is held until it comes to rest. */
  moved(): void {
    this.isMoving = true;
    this.hold();
  }

  /** The list came to rest. */
  rested(): void {
    this.isMoving = false;
    this.held = undefined;
  }

  /** The list is about to change: what is in view is held until the change is drawn and measured. */
  hold(): void {
    this.held = this.inView();
    const { held } = this;
    requestAnimationFrame(() => requestAnimationFrame(() => !this.isMoving && this.held === held && (this.held = undefined)));
  }

  /** Puts what is held back where it was. */
  keep(): void {
    const { held } = this;
    if (!held?.row.isConnected || (this.isMoving && ENDS_KINETIC)) return;
    const by = contentTop(held.row) - held.top;
    if (Math.abs(by) > MOVED_PX) this.scroller()?.scrollBy({ top: by, behavior: 'instant' });
  }

  /** The first row that begins in view, or else the one that fills it. One that is not measured is hidden, and holds nothing. */
  private inView(): Held | undefined {
    const scroller = this.scroller();
    if (!scroller) return undefined;
    const view = scroller.getBoundingClientRect();
    let filling: Held | undefined;
    let first: Held | undefined;
    for (const row of scroller.querySelectorAll<HTMLElement>('article')) {
      if (row.parentElement?.style.visibility === 'hidden') continue;
      const { bottom } = row.getBoundingClientRect();
      const top = contentTop(row);
      if (bottom <= view.top || top >= view.bottom) continue;
      if (top < view.top) filling = { row, top };
      else if (!first || top < first.top) first = { row, top };
    }
    return first ?? filling;
  }
}

/** Where what is said begins: the pause above it is gone when an older entry comes before it. */
const contentTop = (row: HTMLElement): number => (row.lastElementChild ?? row).getBoundingClientRect().top;
